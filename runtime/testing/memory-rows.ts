import { NOTHING_SPENT } from '../billing/budget';
import { sumDecimals } from '../billing/cost';
import type { JournalEntry, Spent } from '../contracts/ledger/journal';
import type {
  Contradicted,
  Family,
  OnRecord,
  OpenCall,
  Reservation,
  RunKey,
  RunProgress,
} from '../contracts/ledger/ledger';
import type { SavedRun } from '../contracts/ledger/progress';
import type { SessionSummary, SessionTurn } from '../contracts/ledger/session';
import type { ModelCallPlace, ModelCallRecord } from '../contracts/ledger/usage';
import type { AgentResult } from '../contracts/result';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import { parseExactly } from '../util/exact-integer';
import { createWindows, reserve, type Room, type Windows } from './memory-limits';

/** A task, and the run that holds it. */
export interface TaskRow {
  readonly taskId: string;
  readonly digest: string;
  readonly traceId?: string;
  readonly rootTaskId?: string;
  runId: string;
  state: 'running' | 'done' | 'failed' | 'waiting';
  attempt: number;
  leaseUntil: number;
  hold?: Spent;
  result?: AgentResult;
  saved?: SavedRun;
  resumedRunId?: string;
  decided?: Omit<Contradicted, 'kind'>;
  /** JSON text by step and tool call. */
  readonly journal: Map<string, string>;
}

interface CallRow extends RunKey, ModelCallPlace {
  readonly isBilled: boolean;
  /** Undefined while the call is open. */
  readonly call?: ModelCallRecord;
  /** Usage that the bill did not take: it counts while the call is open. */
  readonly unbilled?: ModelCallRecord;
}

/** A conversation, and the runs that came for it, in their order. */
export interface SessionRow {
  readonly queue: string[];
  readonly turns: (SessionTurn & { readonly runId: string })[];
  summary?: SessionSummary;
}

export interface TenantRows {
  readonly tasks: Map<string, TaskRow>;
  readonly calls: Map<string, CallRow>;
  readonly audit: Map<string, ToolCallRecord>;
  readonly windows: Windows;
  readonly sessions: Map<string, SessionRow>;
}

export function emptyRows(): TenantRows {
  return { tasks: new Map(), calls: new Map(), audit: new Map(), windows: createWindows(), sessions: new Map() };
}

export function holdOf(reserve: Reservation | undefined): Spent | undefined {
  return reserve && { costUsd: reserve.holdCostUsd, tokens: reserve.holdTokens };
}

export function isLost({ state, leaseUntil }: TaskRow): boolean {
  return state === 'running' && leaseUntil < Date.now();
}

/** Whether the month has room for another model call of this run. */
export function roomFor(
  { calls, tasks }: TenantRows,
  { runId, family }: { readonly runId: string; readonly family?: Family },
  limits: Reservation | undefined,
): Room {
  const own = new Set([runId, ...(family?.above ?? [])]);
  const billed = [...calls.values()].filter((row) => row.isBilled);
  const others = [...tasks.values()].filter((row) => !own.has(row.runId) && row.state === 'running' && !isLost(row));
  const held = others.flatMap(({ hold }) => hold ?? []);
  return reserve(limits, sumOf([...closedOf(billed), ...unbilledOf(calls.values())]), held);
}

export function openCall(
  { calls }: TenantRows,
  { tenantId, taskId, runId }: RunKey,
  { callNo, step, purpose }: OpenCall,
): void {
  const key = `${runId} ${callNo ?? step}`;
  if (!calls.has(key)) calls.set(key, { tenantId, taskId, runId, callNo, step, purpose, isBilled: false });
}

/** Counted once, however often it is written. */
export function closeCall({ calls }: TenantRows, progress: RunProgress, call: ModelCallRecord): void {
  const { tenantId, taskId, runId } = progress;
  const { callNo, step, purpose } = call;
  const key = `${runId} ${callNo ?? step}`;
  if (calls.get(key)?.call !== undefined) return;
  calls.set(key, { tenantId, taskId, runId, callNo, step, purpose, isBilled: isBilled(progress), call });
}

export function countUnbilled({ calls }: TenantRows, progress: RunProgress, call: ModelCallRecord): void {
  const { tenantId, taskId, runId } = progress;
  const { callNo, step, purpose } = call;
  const key = `${runId} ${callNo ?? step}`;
  if (!isBilled(progress) || calls.get(key)?.call !== undefined) return;
  calls.set(key, { tenantId, taskId, runId, callNo, step, purpose, isBilled: false, unbilled: call });
}

/** Returns true where the calls go on the bill: those of a free tier only if they cost something. */
function isBilled({ bill, closed }: RunProgress): boolean {
  const costs = closed.some(({ costUsd, providerCostUsd = 0 }) => Number(costUsd) > 0 || Number(providerCostUsd) > 0);
  return bill !== undefined && (bill.onlyWhatCosts !== true || costs);
}

export function closedOf(calls: Iterable<CallRow>): readonly ModelCallRecord[] {
  return [...calls].flatMap(({ call }) => call ?? []);
}

function unbilledOf(calls: Iterable<CallRow>): readonly ModelCallRecord[] {
  return [...calls].flatMap(({ call, unbilled }) => (call === undefined ? (unbilled ?? []) : []));
}

/** What the run after this one goes on with. */
export function onRecord({ calls, tasks }: TenantRows, row: TaskRow): OnRecord {
  const isOwn = (taskId: string): boolean => taskId === row.taskId || tasks.get(taskId)?.rootTaskId === row.taskId;
  const own = [...calls.values()].filter(({ taskId }) => isOwn(taskId));
  const spent = sumOf([...closedOf(own), ...unbilledOf(own)]);
  const isNothing = spent.tokens === 0 && Number(spent.costUsd) === 0;
  return { journal: entriesOf(row), spent: isNothing ? undefined : spent };
}

export function entriesOf(row: TaskRow | undefined): readonly JournalEntry[] {
  // Sorted by id, as the database returns them.
  const sorted = [...(row?.journal ?? [])].sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([, text]) => parseExactly(text) as JournalEntry);
}

/** The calls that are about to be sent count as sent where there is room. */
export function keepEntry({ journal }: TaskRow, entry: JournalEntry, hasRoom: boolean): void {
  if ('id' in entry) {
    journal.set(`${entry.step} ${entry.id}`, JSON.stringify(entry));
    return;
  }
  const { sending = [], sent, ...step } = entry;
  journal.set(`${entry.step} `, JSON.stringify({ ...step, sent: hasRoom ? [...sent, ...sending] : sent }));
}

export function sumOf(calls: readonly ModelCallRecord[]): Spent {
  return calls.reduce(
    (sum, { costUsd, usage }) => ({
      costUsd: sumDecimals([sum.costUsd, costUsd]),
      tokens: sum.tokens + usage.promptTokens + usage.completionTokens,
    }),
    NOTHING_SPENT,
  );
}
