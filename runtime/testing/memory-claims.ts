import type { Claim, ClaimRequest, Resumed, ResumeRequest } from '../contracts/ledger/ledger';
import { entriesOf, holdOf, isLost, onRecord, openCall, roomFor, type TaskRow, type TenantRows } from './memory-rows';

export function claim(rows: TenantRows, request: ClaimRequest): Claim {
  const row = rows.tasks.get(request.taskId);
  if (row !== undefined && isOther(row, request)) return { kind: 'conflict' };
  if (row !== undefined && !request.fresh && !mayGoOn(row)) return answerOf(row);
  const room = roomFor(rows, request, request.reserve);
  if (room !== 'ok') return { kind: room };
  const seconds = takeRun(rows, request.runsPerMinute);
  if (seconds > 0) return { kind: 'limited', seconds };
  const claimed = claimedRow(request, row);
  rows.tasks.set(request.taskId, claimed);
  openFirstCall(rows, request, claimed);
  const before = row === undefined || request.fresh ? { journal: [] } : onRecord(rows, claimed);
  return { kind: 'claimed', attempt: claimed.attempt, ...before };
}

function openFirstCall(rows: TenantRows, request: ClaimRequest, claimed: TaskRow): void {
  const { modelRequested } = request;
  const step = entriesOf(claimed).reduce((most, entry) => Math.max(most, entry.step), 0) + 1;
  if (modelRequested !== undefined) openCall(rows, request, { callNo: step, step, modelRequested });
}

/** A task from outside and one that works for another are never the same. */
function isOther({ rootTaskId, digest }: TaskRow, { family, fresh, digest: asked }: ClaimRequest): boolean {
  return rootTaskId !== family?.rootTaskId || (!fresh && digest !== asked);
}

function mayGoOn(row: TaskRow): boolean {
  return row.state === 'failed' || isLost(row);
}

function takeRun({ windows }: TenantRows, limit: number | undefined): number {
  return limit === undefined ? 0 : Math.ceil(windows.take('#runs', 60_000, limit) / 1000);
}

function claimedRow(request: ClaimRequest, row?: TaskRow): TaskRow {
  const { taskId, runId, traceId, digest, leaseMs, reserve, fresh, family } = request;
  const before = fresh ? undefined : row;
  return {
    ...{ taskId, runId, traceId, digest, state: 'running', hold: holdOf(reserve), leaseUntil: Date.now() + leaseMs },
    rootTaskId: family?.rootTaskId,
    attempt: (row?.attempt ?? 0) + 1,
    saved: before?.saved,
    resumedRunId: before?.resumedRunId,
    decided: before?.decided,
    journal: before?.journal ?? new Map<string, string>(),
  };
}

/** A run that waits for a person answers as one that is done: with its result. */
function answerOf({ state, result }: TaskRow): Extract<Claim, { kind: 'done' | 'running' }> {
  const isOver = state === 'done' || state === 'waiting';
  return isOver && result !== undefined ? { kind: 'done', result } : { kind: 'running' };
}

export function resume(rows: TenantRows, request: ResumeRequest): Resumed {
  const { waitedRunId, runId, decision, decidedBy, leaseMs, reserve } = request;
  const row = findDecided(rows, { runId: waitedRunId, rootTaskId: request.family?.rootTaskId });
  if (row === undefined) return { kind: 'unknown' };
  const { saved, taskId, traceId } = row;
  const before = decidedBefore(row, waitedRunId);
  if (before !== undefined && before.decision !== decision) return { kind: 'contradicted', ...before };
  const isWaiting = row.runId === waitedRunId ? row.state === 'waiting' : mayGoOn(row);
  if (saved === undefined || !isWaiting) return answerOf(row);
  const room = roomFor(rows, request, reserve);
  if (room !== 'ok') return { kind: room };
  row.runId = runId;
  row.resumedRunId = waitedRunId;
  row.decided = before ?? { decision, decidedBy, decidedAt: new Date() };
  row.state = 'running';
  row.result = undefined;
  row.hold = holdOf(reserve);
  row.attempt++;
  row.leaseUntil = Date.now() + leaseMs;
  return { kind: 'claimed', taskId, traceId, saved, decidedBy: row.decided.decidedBy, ...onRecord(rows, row) };
}

function decidedBefore({ resumedRunId, decided }: TaskRow, waitedRunId: string): TaskRow['decided'] {
  return resumedRunId === waitedRunId ? decided : undefined;
}

interface Waited {
  readonly runId: string;
  readonly rootTaskId?: string;
}

function findDecided(rows: TenantRows, waited: Waited): TaskRow | undefined {
  return findSaved(rows, waited) ?? underRoot(rows, waited).find(({ resumedRunId }) => resumedRunId === waited.runId);
}

function underRoot({ tasks }: TenantRows, { rootTaskId }: Waited): readonly TaskRow[] {
  return [...tasks.values()].filter((row) => row.rootTaskId === rootTaskId);
}

/** The task whose run waits, or was gone on with by one that has not ended well. */
export function findSaved(rows: TenantRows, waited: Waited): TaskRow | undefined {
  return underRoot(rows, waited).find(({ saved, runId, resumedRunId, state }) => {
    const waits = runId === waited.runId && state === 'waiting';
    const isGoneOnWith = resumedRunId === waited.runId && (state === 'running' || state === 'failed');
    return saved !== undefined && (waits || isGoneOnWith);
  });
}
