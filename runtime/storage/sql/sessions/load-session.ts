import type { RunKey } from '../../../contracts/ledger/ledger';
import type { SessionKey, SessionSummary } from '../../../contracts/ledger/session';
import { named } from '../named';

/** A message as a window needs it; JSON comes as text. */
export interface WindowRow {
  readonly kind: 'message' | 'summary';
  readonly turn: number;
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls: string | null;
  readonly tool_call_id: string | null;
  readonly tokens: number;
}

const OF_SESSION =
  'session.tenant_id = :tenantId::uuid AND session.agent = :agent::text AND session.session_id = :sessionId::text';

/**
 * The last summary and the turns after it, whole ones, the newest of which together have no more than so many tokens; always the last one.
 */
export const loadSession = named<SessionKey & { readonly tokens: number; readonly days: number }>(`
WITH kept AS (
  SELECT message.* FROM elo_agent_sessions AS session JOIN elo_agent_session_messages AS message ON message.session = session.id
  WHERE ${OF_SESSION} AND message.created_at > now() - :days::int * interval '1 day'
), summary AS (
  SELECT * FROM kept WHERE kind = 'summary' ORDER BY no DESC LIMIT 1
), turns AS (
  SELECT turn, sum(sum(tokens)) OVER (ORDER BY turn DESC) AS so_far, row_number() OVER (ORDER BY turn DESC) AS age
  FROM kept WHERE kind = 'message' AND turn > coalesce((SELECT turn FROM summary), 0) GROUP BY turn
)
SELECT one.kind, one.turn, one.role, one.content::text AS content, one.tool_calls::text AS tool_calls, one.tool_call_id, one.tokens
FROM (
  SELECT * FROM summary
  UNION ALL
  SELECT kept.* FROM kept JOIN turns USING (turn) WHERE kept.kind = 'message' AND (turns.so_far <= :tokens::bigint OR turns.age = 1)
) AS one
ORDER BY one.kind DESC, one.no`);

/** Adds a summary at the end of the record. */
export const addSummary = named<SessionKey & Pick<RunKey, 'taskId' | 'runId'> & SessionSummary>(`
WITH session AS (
  UPDATE elo_agent_sessions AS session SET messages = messages + 1 WHERE ${OF_SESSION}
  RETURNING session.id, session.messages
)
INSERT INTO elo_agent_session_messages (session, no, tenant_id, turn, kind, task_id, run_id, role, content, tokens)
SELECT session.id, session.messages, :tenantId::uuid, :turn::int, 'summary', :taskId::text, :runId::uuid, 'user',
  to_jsonb(:text::text), :tokens::int
FROM session`);
