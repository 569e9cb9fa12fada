import { statement } from '../../statement';
import { named } from '../named';

/** Tenants with conversations, with their settings as JSON text. */
export const LIST_TALKING_TENANTS = statement(`
SELECT tenant.id::text AS id, tenant.settings::text AS settings FROM elo_v_agent_tenants AS tenant
WHERE EXISTS (SELECT FROM elo_agent_sessions AS session WHERE session.tenant_id = tenant.id)`);

export const pruneMessages = named<{ readonly tenantId: string; readonly days: number }>(`
DELETE FROM elo_agent_session_messages
WHERE tenant_id = :tenantId::uuid AND created_at < now() - :days::int * interval '1 day'`);

/** Sessions without a message, but those that a run has. */
export const pruneSessions = named<{ readonly tenantId: string }>(`
DELETE FROM elo_agent_sessions AS session
WHERE session.tenant_id = :tenantId::uuid AND session.updated_at < now() - interval '1 day'
  AND NOT EXISTS (SELECT FROM elo_agent_session_messages AS message WHERE message.session = session.id)
  AND NOT EXISTS (
    SELECT FROM elo_agent_runs AS run
    WHERE run.tenant_id = session.tenant_id AND run.run_id = ANY (session.queue) AND run.state = 'running'
  )`);
