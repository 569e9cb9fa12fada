import {
  type NewTurn,
  type SessionKey,
  type SessionRecord,
  type SessionStore,
  tokensOnceCut,
  tokensToRead,
} from '../contracts/ledger/session';
import { isLost, type SessionRow, type TenantRows } from './memory-rows';

/** Conversations as long as the process lives: nothing in them grows old. */
export function memorySessions(of: (tenantId: string) => TenantRows): SessionStore {
  return {
    hold: ({ tenantId, ...key }, runId) => {
      const { queue } = sessionRow(of(tenantId), key);
      if (!queue.includes(runId)) queue.push(runId);
      const before = queue.slice(0, queue.indexOf(runId));
      return Promise.resolve(!before.some((other) => isAtWork(of(tenantId), other)));
    },
    load: ({ tenantId, ...key }, { windowTokens }) =>
      Promise.resolve(recordOf(sessionRow(of(tenantId), key), tokensToRead(windowTokens))),
    addSummary: ({ tenantId, ...key }, _run, summary) => {
      sessionRow(of(tenantId), key).summary = summary;
      return Promise.resolve();
    },
  };
}

/** Added once, however often it is written. */
export function keepTurn(rows: TenantRows, runId: string, { messages, ...key }: NewTurn): void {
  const { turns } = sessionRow(rows, key);
  if (turns.some((turn) => turn.runId === runId)) return;
  turns.push({ turn: turns.length + 1, messages, runId });
}

function sessionRow({ sessions }: TenantRows, { agent, sessionId }: Omit<SessionKey, 'tenantId'>): SessionRow {
  const key = JSON.stringify([agent, sessionId]);
  const row = sessions.get(key) ?? { queue: [], turns: [] };
  sessions.set(key, row);
  return row;
}

function isAtWork({ tasks }: TenantRows, runId: string): boolean {
  return [...tasks.values()].some((row) => row.runId === runId && row.state === 'running' && !isLost(row));
}

function recordOf({ turns, summary }: SessionRow, tokens: number): SessionRecord {
  const after = turns.filter(({ turn }) => turn > (summary?.turn ?? 0));
  let left = tokens;
  const read = [...after].reverse().filter(({ messages }, age) => {
    left -= messages.reduce((sum, one) => sum + tokensOnceCut(one), 0);
    return left >= 0 || age === 0;
  });
  return { summary, turns: read.reverse().map(({ turn, messages }) => ({ turn, messages })) };
}
