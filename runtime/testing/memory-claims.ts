import type { Claim, ClaimRequest, Resumed, ResumeRequest } from '../contracts/ledger/ledger';
import { entriesOf, isLost, onRecord, openCall, roomFor, type TaskRow, type TenantRows } from './memory-rows';

export function claim(rows: TenantRows, request: ClaimRequest): Claim {
  const row = rows.tasks.get(request.taskId);
  if (row !== undefined && !request.fresh) {
    if (row.digest !== request.digest) return { kind: 'conflict' };
    if (!mayGoOn(row)) return answerOf(row);
  }
  const room = roomFor(rows, request, request.reserve);
  if (room !== 'ok') return { kind: room };
  const seconds = takeRun(rows, request.runsPerMinute);
  if (seconds > 0) return { kind: 'limited', seconds };
  const claimed = claimedRow(request, row);
  rows.tasks.set(request.taskId, claimed);
  const last = entriesOf(claimed).reduce((most, { step }) => Math.max(most, step), 0);
  const { modelRequested } = request;
  if (modelRequested !== undefined) openCall(rows, request, { callNo: 1, step: last + 1, modelRequested });
  const before = row === undefined || request.fresh ? { journal: [] } : onRecord(rows, claimed);
  return { kind: 'claimed', attempt: claimed.attempt, ...before };
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
    ...{ taskId, runId, traceId, digest, state: 'running', hold: reserve, leaseUntil: Date.now() + leaseMs },
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
  const row = findDecided(rows, waitedRunId);
  if (row === undefined) return { kind: 'unknown' };
  const { saved, taskId, traceId } = row;
  const before = row.resumedRunId === waitedRunId ? row.decided : undefined;
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
  row.hold = reserve;
  row.attempt++;
  row.leaseUntil = Date.now() + leaseMs;
  return { kind: 'claimed', taskId, traceId, saved, decidedBy: row.decided.decidedBy, ...onRecord(rows, row) };
}

function findDecided(rows: TenantRows, waitedRunId: string): TaskRow | undefined {
  return (
    findSaved(rows, waitedRunId) ?? [...rows.tasks.values()].find(({ resumedRunId }) => resumedRunId === waitedRunId)
  );
}

/** The task whose run waits, or was gone on with by one that has not ended well. */
export function findSaved({ tasks }: TenantRows, waitedRunId: string): TaskRow | undefined {
  return [...tasks.values()].find(({ saved, runId, resumedRunId, state }) => {
    const waits = runId === waitedRunId && state === 'waiting';
    const isGoneOnWith = resumedRunId === waitedRunId && (state === 'running' || state === 'failed');
    return saved !== undefined && (waits || isGoneOnWith);
  });
}
