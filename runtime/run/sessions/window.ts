import type { SessionMessage, SessionRecord, SessionSummary, SessionTurn } from '../../contracts/ledger/session';
import type { Message } from '../../contracts/message';

/** Share of a window that a summary may take. */
export const SUMMARY_SHARE = 1 / 4;
/** Share that is left after a summary was made, so that not every turn needs another one. */
const KEPT_SHARE = 1 / 2;
const CLEARED = '[The result was removed, since it is old. Call the tool again if it is needed.]';
const CLEARED_TOKENS = 20;

interface FittedRecord {
  /** Fits into the window. */
  readonly record: SessionRecord;
  /** Older turns that do not: a summary should stand for them. */
  readonly leaving: readonly SessionTurn[];
}

/**
 * Fits the record of a conversation into a window of so many tokens. Old tool results are removed first, all but those of the last turn; where
 * that is not enough, the oldest turns leave, each as a whole.
 */
export function fitWindow(given: SessionRecord, limit: number): FittedRecord {
  const record = { ...given, summary: given.summary && clipSummary(given.summary, limit) };
  if (sizeOf(record) <= limit) return { record, leaving: [] };
  const turns = record.turns.map((turn, index) => (index === record.turns.length - 1 ? turn : withoutResults(turn)));
  if (sizeOf({ ...record, turns }) <= limit) return { record: { ...record, turns }, leaving: [] };
  const kept = newest(turns, { most: limit * KEPT_SHARE, mostOfLast: limit * (1 - SUMMARY_SHARE) });
  return { record: { ...record, turns: kept }, leaving: record.turns.slice(0, turns.length - kept.length) };
}

/** Fits a record without a new summary: nothing tells of what leaves. */
export function withoutSummary(record: SessionRecord, limit: number): SessionRecord {
  const most = limit - (record.summary?.tokens ?? 0);
  const turns = record.turns.map((turn, index) => (index === record.turns.length - 1 ? turn : withoutResults(turn)));
  return { ...record, turns: newest(turns, { most, mostOfLast: most }) };
}

/** The summary cut to its share of the window. */
export function clipSummary(summary: SessionSummary, limit: number): SessionSummary {
  const most = Math.floor(limit * SUMMARY_SHARE);
  if (summary.tokens <= most) return summary;
  const length = Math.floor((summary.text.length * most) / summary.tokens);
  return { ...summary, text: summary.text.slice(0, length).toWellFormed(), tokens: most };
}

/** The messages of a record, oldest first. */
export function messagesOf({ turns }: SessionRecord): readonly Message[] {
  return turns.flatMap(({ messages }) => messages.map(({ message }) => message));
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
