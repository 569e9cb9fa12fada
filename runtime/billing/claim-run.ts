import { createHash } from 'node:crypto';

import type { Claim, ClaimRequest, LedgerStore } from '../contracts/ledger';
import type { AgentTask } from '../contracts/task';
import { RuntimeError } from '../errors/runtime-error';
import { sleep } from '../util/clock';
import { canonicalJson } from '../util/json';

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1000;

/** What makes a request the same request: what is asked and for whom, not where the answer goes or how long to wait for it. */
export function requestDigest(task: AgentTask): string {
  const { task_type, meta } = task;
  const { timeout_seconds: _ownDeadline, ...config } = task.config;
  return createHash('sha256').update(canonicalJson({ task_type, config, meta })).digest('hex');
}

/**
 * Decides who runs a task. While it runs elsewhere the caller waits until the signal aborts, and then gets TASK_RUNNING;
 * throws TASK_CONFLICT when the id was used for another request.
 */
export async function claimRun(
  ledger: LedgerStore,
  request: ClaimRequest,
  signal: AbortSignal,
): Promise<Extract<Claim, { kind: 'claimed' | 'done' }>> {
  const { taskId } = request;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    const claim = await ledger.claim(request);
    if (claim.kind === 'claimed' || claim.kind === 'done') return claim;
    if (claim.kind === 'conflict') throw new RuntimeError('TASK_CONFLICT', { taskId });
    await sleep(waitMs, signal).catch(() => {
      throw new RuntimeError('TASK_RUNNING', { taskId });
    });
  }
}
