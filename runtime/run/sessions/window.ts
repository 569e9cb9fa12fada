import {
  CLEARED_TOKENS,
  type SessionMessage,
  type SessionRecord,
  type SessionTurn,
} from '../../contracts/ledger/session';
import type { Message, ToolCallMessage } from '../../contracts/message';

/** Share of a window that a summary may take. */
export const SUMMARY_SHARE = 1 / 4;
/** Share that is left after a summary was made, so that not every turn needs another one. */
const KEPT_SHARE = 1 / 2;
const CLEARED = '[The result was removed, since it is old. Call the tool again if it is needed.]';

interface FittedRecord {
  /** Fits into the window. */
  readonly record: SessionRecord;
  /** Older turns that do not, for which a new summary should stand; undefined where none is needed. */
  readonly leaving?: readonly SessionTurn[];
}

/**
 * Fits the record of a conversation into a window of so many tokens. Old tool results are removed first, those of the last turn only where
 * that is not enough; then the oldest turns leave, each as a whole. A summary that is too long for a window that has become smaller leaves too.
 */
export function fitWindow(given: SessionRecord, limit: number): FittedRecord {
  const isOutgrown = given.summary !== undefined && given.summary.tokens > limit * SUMMARY_SHARE;
  const record = isOutgrown ? { turns: given.turns } : given;
  const turns = withoutOldResults(given.turns);
  const ways = isOutgrown ? [] : [given.turns, turns, turns.map(withoutResults)];
  const fitting = ways.find((one) => sizeOf({ ...record, turns: one }) <= limit);
  if (fitting !== undefined) return { record: { ...record, turns: fitting } };
  const kept = newest(turns, { most: limit * KEPT_SHARE, mostOfLast: limit * (1 - SUMMARY_SHARE) });
  return { record: { ...record, turns: kept }, leaving: given.turns.slice(0, turns.length - kept.length) };
}

/** Fits a record without a new summary: nothing tells of what leaves. */
export function withoutSummary(given: SessionRecord, limit: number): SessionRecord {
  const { summary } = fitWindow(given, limit).record;
  const most = limit - (summary?.tokens ?? 0);
  return { summary, turns: newest(withoutOldResults(given.turns), { most, mostOfLast: most }) };
}

function withoutOldResults(turns: readonly SessionTurn[]): readonly SessionTurn[] {
  return turns.map((turn, index) => (index === turns.length - 1 ? turn : withoutResults(turn)));
}

/** The messages of a record, oldest first. Ids of calls are unique: runs that did not see each other may have made the same. */
export function messagesOf({ turns }: SessionRecord): readonly Message[] {
  const seen = new Set<string>();
  return turns.flatMap(({ turn, messages }) => {
    const renamed = new Map<string, string>();
    for (const { message } of messages) {
      for (const { id } of callsOf(message)) {
        let name = id;
        for (let n = 0; seen.has(name); n++) name = `call_t${turn}_${renamed.size}${n === 0 ? '' : `_${n}`}`;
        seen.add(name);
        renamed.set(id, name);
      }
    }
    return messages.map(({ message }) => withIds(message, renamed));
  });
}

function callsOf(message: Message): readonly ToolCallMessage[] {
  return message.role === 'assistant' ? (message.tool_calls ?? []) : [];
}

function withIds(message: Message, renamed: ReadonlyMap<string, string>): Message {
  const nameOf = (id: string): string => renamed.get(id) ?? id;
  if (message.role === 'tool') return { ...message, tool_call_id: nameOf(message.tool_call_id) };
  const calls = callsOf(message);
  if (message.role !== 'assistant' || calls.length === 0) return message;
  return { ...message, tool_calls: calls.map((call) => ({ ...call, id: nameOf(call.id) })) };
}

function newest(
  turns: readonly SessionTurn[],
  { most, mostOfLast }: { readonly most: number; readonly mostOfLast: number },
): readonly SessionTurn[] {
  const kept: SessionTurn[] = [];
  let left = most;
  for (const turn of [...turns].reverse()) {
    const fitting = kept.length === 0 ? fittingLast(turn, mostOfLast) : turn;
    if (fitting === undefined) break;
    const tokens = tokensOf(fitting);
    if (kept.length > 0 && tokens > left) break;
    left -= tokens;
    kept.unshift(fitting);
  }
  return kept;
}

function fittingLast(turn: SessionTurn, most: number): SessionTurn | undefined {
  return [turn, withoutResults(turn)].find((one) => tokensOf(one) <= most);
}

function sizeOf({ summary, turns }: SessionRecord): number {
  return turns.reduce((sum, turn) => sum + tokensOf(turn), summary?.tokens ?? 0);
}

function tokensOf({ messages }: SessionTurn): number {
  return messages.reduce((sum, { tokens }) => sum + tokens, 0);
}

function withoutResults(turn: SessionTurn): SessionTurn {
  return { ...turn, messages: turn.messages.map(withoutResult) };
}

function withoutResult(entry: SessionMessage): SessionMessage {
  const { message, tokens } = entry;
  if (message.role !== 'tool' || tokens <= CLEARED_TOKENS) return entry;
  return { message: { ...message, content: CLEARED }, tokens: CLEARED_TOKENS };
}
