import type { JournalEntry, Spent } from '../contracts/ledger/journal';
import type { LedgerStore, Recorded, RunEnd, RunProgress } from '../contracts/ledger/ledger';
import type { SavedRun } from '../contracts/ledger/progress';
import { isStepCall, type ModelCallPlace, type ModelCallRecord } from '../contracts/ledger/usage';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import { parseExactly } from '../util/exact-integer';
import { claim, findSaved, resume } from './memory-claims';
import { takeCall } from './memory-limits';
import {
  closeCall,
  closedOf,
  countUnbilled,
  emptyRows,
  entriesOf,
  holdOf,
  keepEntry,
  openCall,
  roomFor,
  sumOf,
  type TaskRow,
  type TenantRows,
} from './memory-rows';
import { keepTurn, memorySessions } from './memory-sessions';

/** A ledger that forgets everything with the process. */
export interface MemoryLedger extends LedgerStore {
  /** The model calls of a tenant that ended, in the order in which they were first written. */
  readonly calls: (tenantId: string) => readonly ModelCallRecord[];
  /** What the tenant's model calls have cost: US dollars as exact decimal text, and tokens. */
  readonly spent: (tenantId: string) => Spent;
  /** The audit of the tenant's tool calls. */
  readonly audit: (tenantId: string) => readonly ToolCallRecord[];
  /** How far a task is that is not done. */
  readonly journal: (tenantId: string, taskId: string) => readonly JournalEntry[];
}

/**
 * The ledger's port in memory, for tests of whoever builds on the library: the same answers as Postgres gives, held by the
 * same contract tests.
 *
 * @example
 * const ledger = createMemoryLedger();
 * const runtime = createRuntime({ plugins: { ledger, tenants: createMemoryTenants([{ id }]), model } });
 */
export function createMemoryLedger(): MemoryLedger {
  const tenants = new Map<string, TenantRows>();
  const of = (tenantId: string): TenantRows => {
    const rows = tenants.get(tenantId) ?? emptyRows();
    tenants.set(tenantId, rows);
    return rows;
  };
  const calls = (tenantId: string): readonly ModelCallRecord[] => closedOf(of(tenantId).calls.values());
  return {
    claim: (request) => Promise.resolve(claim(of(request.tenantId), request)),
    findSaved: (run) => Promise.resolve(findSaved(of(run.tenantId), run)?.saved),
    resume: (request) => Promise.resolve(resume(of(request.tenantId), request)),
    record: (progress) => Promise.resolve(record(of(progress.tenantId), progress)),
    recordUnbilled: (progress) => {
      recordUnbilled(of(progress.tenantId), progress);
      return Promise.resolve();
    },
    knows: ({ tenantId, runId }) => {
      const rows = of(tenantId);
      const known = [...rows.tasks.values(), ...rows.calls.values()];
      return Promise.resolve(known.some((row) => row.runId === runId));
    },
    identify: () => Promise.resolve('memory'),
    sessions: memorySessions(of),
    calls,
    spent: (tenantId) => sumOf(calls(tenantId)),
    audit: (tenantId) => [...of(tenantId).audit.values()],
    journal: (tenantId, taskId) => entriesOf(of(tenantId).tasks.get(taskId)),
  };
}

function record(rows: TenantRows, progress: RunProgress): Recorded {
  const { taskId, runId, reserve: limits, hold } = progress;
  keepCalls(rows, progress);
  const room = roomFor(rows, progress, limits);
  const answer = { budget: limits && room, refused: [] };
  const row = rows.tasks.get(taskId);
  if (row?.runId !== runId) return { isOurs: false, ...answer };
  if (limits !== undefined && room === 'ok') row.hold = holdOf(limits);
  else if (limits !== undefined || hold !== undefined) row.hold = hold;
  write(row, progress, room === 'ok');
  if (progress.end !== undefined) finish(rows, row, progress.end);
  return { isOurs: true, ...answer, refused: room === 'ok' ? refusedOf(rows, progress) : [] };
}

function recordUnbilled(rows: TenantRows, progress: RunProgress): void {
  const { taskId, runId, closed, end } = progress;
  for (const call of closed) countUnbilled(rows, progress, call);
  const row = rows.tasks.get(taskId);
  if (end !== undefined && row?.runId === runId && row.state === 'running') finish(rows, row, end);
}

function keepCalls(rows: TenantRows, progress: RunProgress): void {
  const { runId, closed, opening, audit = [] } = progress;
  for (const call of closed) closeCall(rows, progress, call);
  if (opening !== undefined) openCall(rows, progress, opening);
  for (const line of audit) {
    const key = `${runId} ${line.id}`;
    if (!rows.audit.has(key)) rows.audit.set(key, line);
  }
}

function refusedOf({ windows }: TenantRows, { taking = [] }: RunProgress): NonNullable<Recorded['refused']> {
  return taking.flatMap((call) => {
    const reason = takeCall(windows, call);
    return reason === undefined ? [] : [{ toolCallId: call.toolCallId, reason }];
  });
}

/** A write that comes after the end leaves what is kept as it is. */
function write(row: TaskRow, { leaseMs, journal = [], end }: RunProgress, hasRoom: boolean): void {
  if (end === undefined && row.state !== 'running') return;
  if (end === undefined) row.leaseUntil = Date.now() + leaseMs;
  for (const entry of journal) keepEntry(row, entry, hasRoom);
}

function finish(rows: TenantRows, row: TaskRow, end: RunEnd): void {
  const { state, result, saved, turn } = end;
  if (turn !== undefined) keepTurn(rows, row.runId, turn);
  row.state = state;
  row.result = result;
  row.hold = undefined;
  // Until it is done or waits again, the approval that it goes on with may come again.
  if (state !== 'failed') row.saved = saved && (parseExactly(JSON.stringify(saved)) as SavedRun);
  if (state === 'done') row.journal.clear();
  for (const [key, { runId, call, ...place }] of rows.calls) {
    if (runId === row.runId && call === undefined && isUnsent(place, end)) rows.calls.delete(key);
  }
}

function isUnsent(call: ModelCallPlace, { lastStep, unsent = [] }: RunEnd): boolean {
  const { callNo, step } = call;
  return (isStepCall(call) && step > lastStep) || unsent.includes(callNo ?? step);
}
