import { createHash } from 'node:crypto';

import { budgetExceeded } from '../billing/budget';
import type {
  Claim,
  ClaimRequest,
  Contradicted,
  LedgerStore,
  Reservation,
  Resumed,
  ResumeRequest,
} from '../contracts/ledger/ledger';
import type { AgentTask } from '../contracts/task';
import { RuntimeError } from '../errors/runtime-error';
import { canonicalJson } from '../util/json';
import { askWhile } from './ask-while';

/** What makes a request the same request: what is asked and for whom, not where the answer goes or how long to wait for it. */
export function requestDigest(task: AgentTask): string {
  const { task_type, meta } = task;
  const { timeout_seconds: _ownDeadline, ...config } = task.config;
  return createHash('sha256').update(canonicalJson({ task_type, config, meta })).digest('hex');
}

/**
 * Decides who runs a task. While it runs elsewhere, or runs under way hold what is left of the budget, the caller waits
 * until the signal aborts, and then gets TASK_RUNNING or BUDGET_EXCEEDED; throws TASK_CONFLICT when the id was used for
 * another request, and TENANT_RATE_LIMITED when the runs of this minute are used up.
 */
export async function claimRun(
  ledger: LedgerStore,
  request: ClaimRequest,
  signal: AbortSignal,
): Promise<Extract<Claim, { kind: 'claimed' | 'done' }>> {
  const { taskId, tenantId, runsPerMinute: runs } = request;
  const claim = await askWhile(() => ledger.claim(request), isToWaitFor, signal);
  if (claim.kind === 'conflict') throw new RuntimeError('TASK_CONFLICT', { taskId });
  if (claim.kind === 'limited') {
    throw new RuntimeError('TENANT_RATE_LIMITED', { tenantId, runs, seconds: claim.seconds });
  }
  return decided(claim, { taskId, reserve: request.reserve });
}

/** Does the same for a run that waits for an approval. Rejects with APPROVAL_UNKNOWN or, after another decision, APPROVAL_CONTRADICTED. */
export async function resumeRun(
  ledger: LedgerStore,
  request: ResumeRequest,
  signal: AbortSignal,
): Promise<Extract<Resumed, { kind: 'claimed' | 'done' }>> {
  const { waitedRunId: runId, reserve } = request;
  const resumed = await askWhile(() => ledger.resume(request), isToWaitFor, signal);
  if (resumed.kind === 'unknown') throw new RuntimeError('APPROVAL_UNKNOWN', { runId });
  if (resumed.kind === 'contradicted') throw contradicted(runId, resumed);
  return decided(resumed, { taskId: runId, reserve });
}

function contradicted(runId: string, { decision, decidedBy, decidedAt }: Contradicted): RuntimeError {
  return new RuntimeError('APPROVAL_CONTRADICTED', {
    runId,
    decided: decision === 'approve' ? 'approved' : 'denied',
    by: decidedBy === undefined ? 'an unnamed user' : `"${decidedBy}"`,
    at: decidedAt.toISOString(),
  });
}

const isToWaitFor = ({ kind }: { readonly kind: string }): boolean => kind === 'running' || kind === 'wait';

type Decided<T> = Exclude<T, { kind: 'running' | 'wait' | 'exceeded' }>;

function decided<T extends { readonly kind: string }>(
  claim: T,
  { taskId, reserve }: { readonly taskId: string; readonly reserve: Reservation | undefined },
): Decided<T> {
  if (claim.kind === 'running') throw new RuntimeError('TASK_RUNNING', { taskId });
  if (claim.kind === 'wait' || claim.kind === 'exceeded') throw budgetExceeded(reserve);
  return claim as Decided<T>;
}
