import type { RunKey } from '../../../contracts/ledger/ledger';
import {
  CLEARED_TOKENS,
  CUT_CHARACTERS,
  CUT_TOKENS,
  type SessionKey,
  type SessionSummary,
} from '../../../contracts/ledger/session';
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
 * The last summary and the turns after it, whole ones, the newest first to be taken. Results of tools count little where they do not fit
 * into the window, since the run is then not shown them; so do they, and whatever is larger than a window, come cut.
 */
export const loadSession = named<
  SessionKey & { readonly windowTokens: number; readonly days: number; readonly most: number }
>(`
WITH kept AS (
  SELECT message.* FROM elo_agent_sessions AS session JOIN elo_agent_session_messages AS message ON message.session = session.id
  WHERE ${OF_SESSION} AND message.created_at > now() - :days::int * interval '1 day'
), summary AS (
  SELECT * FROM kept WHERE kind = 'summary' ORDER BY no DESC LIMIT 1
), turns AS (
  SELECT turn, sum(sum(tokens)) OVER newest AS whole,
    sum(sum(least(tokens, CASE role WHEN 'tool' THEN ${CLEARED_TOKENS} ELSE ${CUT_TOKENS} END))) OVER newest AS cleared,
    row_number() OVER newest AS age
  FROM kept WHERE kind = 'message' AND turn > coalesce((SELECT turn FROM summary), 0)
  GROUP BY turn WINDOW newest AS (ORDER BY turn DESC)
), shown AS (
  SELECT kept.kind, kept.no, kept.turn, kept.role, kept.content, kept.tool_calls, kept.tool_call_id, kept.tokens,
    kept.tokens > :windowTokens::int OR kept.role = 'tool' AND turns.whole > :windowTokens::int AS is_cut
  FROM kept JOIN turns USING (turn)
  WHERE kept.kind = 'message' AND (turns.cleared <= :most::bigint OR turns.age = 1)
  UNION ALL
  SELECT kind, no, turn, role, content, tool_calls, tool_call_id, tokens, false FROM summary
)
SELECT kind, turn, role,
  CASE WHEN is_cut AND jsonb_typeof(content) = 'string' THEN to_jsonb(left(content #>> '{}', ${CUT_CHARACTERS})) ELSE content END::text AS content,
  CASE WHEN NOT is_cut THEN tool_calls::text END AS tool_calls, tool_call_id, tokens
FROM shown ORDER BY kind DESC, no`);

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
