import type { SessionKey } from '../../../contracts/ledger/session';
import type { JsonValue } from '../../../util/json';
import { named } from '../named';

/** A session in the list. */
export interface SessionEntry {
  readonly session_id: string;
  /** Empty for runs without an agent. */
  readonly agent: string;
  /** Since it began, also turns that are forgotten. */
  readonly turns: number;
  readonly total_tokens: string;
  readonly cost_usd: string;
  readonly created_at: Date;
  /** When its last turn was added. */
  readonly updated_at: Date;
}

/** A message as it was said. */
interface SaidMessage {
  readonly role: string;
  /** A text, or a list of parts. */
  readonly content: JsonValue;
  readonly tool_calls: JsonValue;
  readonly tool_call_id: string | null;
}

/** A message on record. */
export interface SessionMessageEntry extends SaidMessage {
  /** The place in the session. */
  readonly no: number;
  /** The number of its turn; for a summary the last turn that it stands for. */
  readonly turn: number;
  /** `message` or `summary`. */
  readonly kind: string;
  /** The part of a window that it takes. */
  readonly tokens: number;
  readonly task_id: string;
  readonly run_id: string;
  /** Tokens and US dollars of its run, at the answer of a turn. */
  readonly run_tokens: string | null;
  readonly cost_usd: string | null;
  readonly created_at: Date;
}

const ENTRY = `session.session_id, session.agent, session.turns, session.tokens::text AS total_tokens, session.cost_usd::text AS cost_usd,
  session.created_at, session.updated_at`;

const MESSAGE = `message.no, message.turn, message.kind, message.role, message.content, message.tool_calls, message.tool_call_id,
  message.tokens, message.task_id, message.run_id::text AS run_id, message.run_tokens::text AS run_tokens,
  message.cost_usd::text AS cost_usd, message.created_at`;

/** Newest first, without those that nothing was kept of yet. `afterTime` (seconds, as decimal text) and `afterId` are those of the last one seen. */
export const listSessions = named<{
  readonly tenantId: string;
  readonly agent?: string;
  readonly afterTime?: string;
  readonly afterId?: string;
  readonly rows: number;
}>(`
SELECT ${ENTRY}, extract(epoch FROM session.updated_at)::text AS updated_epoch, session.id::text AS id FROM elo_agent_sessions AS session
WHERE session.tenant_id = :tenantId::uuid AND session.turns > 0 AND (:agent::text IS NULL OR session.agent = :agent)
  AND (:afterId::bigint IS NULL OR (session.updated_at, session.id) < (to_timestamp(:afterTime::double precision), :afterId::bigint))
ORDER BY session.updated_at DESC, session.id DESC LIMIT :rows`);

export const getSession = named<SessionKey>(`
SELECT ${ENTRY}, session.id::text AS id FROM elo_agent_sessions AS session
WHERE session.tenant_id = :tenantId::uuid AND session.agent = :agent AND session.session_id = :sessionId AND session.turns > 0`);

export const listMessages = named<{
  readonly tenantId: string;
  readonly id: string;
  readonly afterNo?: string;
  readonly rows: number;
}>(`
SELECT ${MESSAGE} FROM elo_agent_session_messages AS message
WHERE message.session = :id::bigint AND message.tenant_id = :tenantId::uuid AND message.no > coalesce(:afterNo::int, 0)
ORDER BY message.no LIMIT :rows`);

/** Session by session, each from its beginning. `afterSession` and `afterNo` are those of the last one seen. */
export const exportMessages = named<{
  readonly tenantId: string;
  readonly sessionId?: string;
  readonly agent?: string;
  readonly afterSession?: string;
  readonly afterNo?: number;
  readonly rows: number;
}>(`
SELECT session.id::text AS id, session.session_id, session.agent, ${MESSAGE}
FROM elo_agent_sessions AS session JOIN elo_agent_session_messages AS message ON message.session = session.id
WHERE session.tenant_id = :tenantId::uuid AND (:sessionId::text IS NULL OR session.session_id = :sessionId)
  AND (:agent::text IS NULL OR session.agent = :agent)
  AND (:afterSession::bigint IS NULL OR (session.id, message.no) > (:afterSession::bigint, :afterNo::int))
ORDER BY session.id, message.no LIMIT :rows`);

export const deleteSession = named<SessionKey>(`
DELETE FROM elo_agent_sessions AS session
WHERE session.tenant_id = :tenantId::uuid AND session.agent = :agent AND session.session_id = :sessionId
RETURNING session.id`);
