/**
 * The days that a tenant's conversations are kept: a whole number in its settings, which may also be JSON text within JSON. Anything else
 * counts as the default, as a run reads it.
 */
const DAYS = String.raw`least(coalesce(
  substring(tenant.settings::text FROM 'session_days[\\"]+\s*:\s*[\\"]*([1-9]\d{0,8})(?![\d.eE])')::int, 30
), 36500) * interval '1 day'`;

export const PRUNE_MESSAGES = `
DELETE FROM elo_agent_session_messages AS message USING elo_v_agent_tenants AS tenant
WHERE tenant.id = message.tenant_id AND message.created_at < now() - ${DAYS}`;

/** Not those of today, which a run may be about to write to. */
export const PRUNE_SESSIONS = `
DELETE FROM elo_agent_sessions AS session
WHERE session.updated_at < now() - interval '1 day'
  AND NOT EXISTS (SELECT FROM elo_agent_session_messages AS message WHERE message.session = session.id)`;
