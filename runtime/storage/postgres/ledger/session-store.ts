import {
  type SessionMessage,
  type SessionRecord,
  type SessionStore,
  type SessionTurn,
  tokensToRead,
} from '../../../contracts/ledger/session';
import { textOf } from '../../../contracts/message';
import { parseExactly } from '../../../util/exact-integer';
import { holdSession } from '../../sql/sessions/hold-session';
import { addSummary, loadSession, type WindowRow } from '../../sql/sessions/load-session';
import { LIST_TALKING_TENANTS, pruneMessages, pruneSessions } from '../../sql/sessions/prune-sessions';
import { storable } from '../../sql/storable';
import type { Query } from '../../statement';

/** Deletes messages that are older than their tenant wants. Rejects with a DB_ code where the tenants cannot be listed. */
export async function forgetSessions(query: Query, daysOf: (settings: string | null) => number): Promise<void> {
  const tenants = await query<{ id: string; settings: string | null }>(LIST_TALKING_TENANTS);
  for (const { id: tenantId, settings } of tenants) {
    const days = daysIn(settings, daysOf);
    if (days === undefined) continue;
    // What keeps one tenant's rows from being deleted must not keep those of others.
    await query(pruneMessages({ tenantId, days })).catch(() => undefined);
    await query(pruneSessions({ tenantId })).catch(() => undefined);
  }
}

/** Settings that cannot be read say nothing of how long. */
function daysIn(settings: string | null, daysOf: (settings: string | null) => number): number | undefined {
  try {
    return daysOf(settings);
  } catch {
    return undefined;
  }
}

/** Conversations in elo_agent_sessions and elo_agent_session_messages. */
export function createSessionStore(query: Query): SessionStore {
  return {
    hold: async (session, runId) => {
      const [row] = await query<{ is_held: boolean }>(holdSession(storable({ ...session, runId })));
      return row?.is_held === true;
    },
    load: async (session, { windowTokens, days }) => {
      const limits = { windowTokens, days, most: tokensToRead(windowTokens) };
      return toRecord(await query<WindowRow>(loadSession(storable({ ...session, ...limits }))));
    },
    addSummary: async (session, { taskId, runId }, summary) => {
      await query(addSummary(storable({ ...session, taskId, runId, ...summary })));
    },
  };
}

function toRecord(rows: readonly WindowRow[]): SessionRecord {
  const summary = rows.find(({ kind }) => kind === 'summary');
  const turns = new Map<number, SessionMessage[]>();
  for (const row of rows) {
    if (row.kind === 'summary') continue;
    const messages = turns.get(row.turn) ?? [];
    turns.set(row.turn, [...messages, toMessage(row)]);
  }
  return {
    ...(summary && { summary: { text: textOf(contentOf(summary)), tokens: summary.tokens, turn: summary.turn } }),
    turns: [...turns].map(([turn, messages]): SessionTurn => ({ turn, messages })),
  };
}

function toMessage(row: WindowRow): SessionMessage {
  const { role, tool_calls: calls, tool_call_id: callId, tokens } = row;
  const message = {
    role,
    content: contentOf(row),
    ...(calls === null ? {} : { tool_calls: parseExactly(calls) }),
    ...(callId === null ? {} : { tool_call_id: callId }),
  };
  return { message: message as SessionMessage['message'], tokens };
}

function contentOf({ content }: WindowRow): SessionMessage['message']['content'] {
  return content === null ? null : (parseExactly(content) as SessionMessage['message']['content']);
}
