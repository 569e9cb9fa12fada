import { DelayedError, type Job, UnrecoverableError, WaitingError } from 'bullmq';

import type { ConsumerParts } from '../../contracts/consumer';
import { tenantOf } from '../../contracts/queue';
import type { AgentResult } from '../../contracts/result';
import { RuntimeError } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import { elapsedMs, monotonicMs } from '../../util/clock';
import type { QueueMetrics, TaskOutcome, TaskUsage } from '../metrics';
import { giveUp, giveUpAgain, type GiveUpParts } from './give-up';
import { defer, factsOf, giveBack, type JobData, type Pickup, readPickup, type TaskPickup } from './pickup';
import { judgeFailure, slotDelayMs } from './retry-policy';
import type { TenantSlots } from './tenant-slots';

interface ProcessorParts extends ConsumerParts, GiveUpParts {
  /** The tenants' shares; without them they have no limit. */
  readonly slots?: TenantSlots;
  readonly metrics: QueueMetrics;
  /** How long a job is this consumer's without a word. */
  readonly lockMs: number;
}

interface Parts extends ProcessorParts {
  readonly untilStopped: UntilStopped;
}

/** A handler that does not end when it is told to is left behind: its task goes back all the same. */
const STOP_MS = 2000;
const AGAIN_MS = 1000;

/** What BullMQ calls with each job that it has taken up. */
export function createProcessor(given: ProcessorParts): (job: Job<JobData>, token?: string) => Promise<void> {
  const parts: Parts = { ...given, untilStopped: createUntilStopped(given.signal) };
  return async (job, token = '') => {
    try {
      await takeUp(parts, job, token);
    } catch (error) {
      if (isDecided(error)) throw error;
      // Redis failed in between. Thrown as it is, BullMQ would take it for the task's own failure, and forget the task in the end.
      parts.log('warn', 'a task could not be taken up; it comes again', { reason: toRuntimeError(error).message });
      await job.moveToDelayed(Date.now() + AGAIN_MS, token).catch(() => undefined);
      throw new DelayedError();
    }
  };
}

/** BullMQ counts it as a try, and brings the task again. */
class FailedTryError extends Error {}

function isDecided(error: unknown): boolean {
  return [FailedTryError, DelayedError, WaitingError, UnrecoverableError].some((kind) => error instanceof kind);
}

async function takeUp(parts: Parts, job: Job<JobData>, token: string): Promise<void> {
  // It was done, and its consumer was lost before the job had ended.
  if (job.data.raw === '') return;
  const pickup = readPickup(job, token);
  const buried = job.attemptsStarted > 1 ? await parts.dying.buried(pickup.ref) : undefined;
  if (buried !== undefined) return giveUpAgain(parts, pickup, buried);
  if (pickup.invalid !== undefined) return refuse(parts, pickup, pickup.invalid);
  if (job.stalledCounter > pickup.maxAttempts) {
    return giveUp(parts, pickup, new RuntimeError('TASK_CRASHED', { count: job.stalledCounter }));
  }
  if (hasTask(pickup)) await inSlot(parts, pickup);
}

/** An entry that is not a task but says where its failure goes, or that another version of this package accepted as a task. */
function refuse(parts: Parts, pickup: Pickup, error: RuntimeError): Promise<never> {
  parts.metrics.count(undefined, 'rejected');
  parts.log('warn', 'an entry of the list is no task', {
    code: error.code,
    bytes: Buffer.byteLength(pickup.job.data.raw),
  });
  return giveUp(parts, pickup, error);
}

function hasTask(pickup: Pickup): pickup is TaskPickup {
  return pickup.task !== undefined;
}

async function inSlot(parts: Parts, pickup: TaskPickup): Promise<void> {
  if (parts.slots === undefined) return doTask(parts, pickup);
  const release = await parts.slots.tryTake(tenantOf(pickup.task), `${pickup.ref.jobId}:${pickup.token}`);
  if (typeof release === 'number') return defer(pickup, slotDelayMs(pickup.deferrals, release));
  try {
    await doTask(parts, pickup);
  } finally {
    await release();
  }
}

async function doTask(parts: Parts, pickup: TaskPickup): Promise<void> {
  const { job, task, attempt, maxAttempts } = pickup;
  const startedAt = monotonicMs();
  const tell = (outcome: TaskOutcome, code?: string): void => {
    const durationMs = elapsedMs(startedAt);
    parts.metrics.count(task.task_type, outcome);
    parts.metrics.observeDuration(task.task_type, durationMs);
    parts.log(code === undefined ? 'info' : 'warn', `task ${outcome}`, {
      ...factsOf(pickup),
      duration_ms: durationMs,
      code,
    });
  };
  try {
    const lastError = attempt > 1 ? job.failedReason : undefined;
    const work = parts.handle({ task, attempt, maxAttempts, lastError, signal: parts.signal });
    const report = await parts.untilStopped(work);
    if (hasUsage(report)) parts.metrics.addUsage(task.task_type, report);
    tell('done');
  } catch (thrown) {
    const error = toRuntimeError(thrown);
    parts.metrics.addUsage(task.task_type, usageOf(error));
    return endFailed(parts, pickup, { error, tell });
  }
  // The job is kept for a while, to know a repeated push by. Sent before its end, on the same connection.
  void job.updateData({ raw: '', id: pickup.ref.entryId }).catch(() => undefined);
}

function hasUsage(report: unknown): report is TaskUsage {
  return typeof report === 'object' && report !== null && 'tokens_used' in report;
}

/** Usage of a failed try: nothing if its run never began. */
function usageOf({ result }: RuntimeError): TaskUsage {
  const { tokens, cost_usd } = (result ?? {}) as Partial<AgentResult>;
  return { tokens_used: tokens?.total ?? 0, cost_usd };
}

/** Settles with the work, or rejects a while after the signal is aborted, whatever the work does about that. */
type UntilStopped = <T>(work: Promise<T>) => Promise<T>;

/**
 * One listener and one timer for all tasks: for each of its own they would cost more than all the rest of the queue.
 */
function createUntilStopped(signal: AbortSignal): UntilStopped {
  const waiting = new Set<(error: RuntimeError) => void>();
  const stop = (): void => waiting.forEach((reject) => reject(new RuntimeError('RUN_CANCELLED')));
  signal.addEventListener('abort', () => setTimeout(stop, STOP_MS).unref(), { once: true });
  return (work) =>
    new Promise((resolve, reject) => {
      waiting.add(reject);
      work.finally(() => waiting.delete(reject)).then(resolve, reject);
    });
}

interface Failure {
  readonly error: RuntimeError;
  readonly tell: (outcome: TaskOutcome, code?: string) => void;
}

/** Always rejects with what makes BullMQ do what was decided. */
async function endFailed(parts: Parts, pickup: Pickup, { error, tell }: Failure): Promise<never> {
  if (parts.signal.aborted) {
    tell('returned', error.code);
    return giveBack(pickup);
  }
  const { job, token, attempt, maxAttempts, deferrals } = pickup;
  // A consumer that counted as lost has no say any more: another one has the job, and may well do it.
  if ((await job.extendLock(token, parts.lockMs)) !== 1) {
    tell('returned', error.code);
    throw new DelayedError();
  }
  const verdict = judgeFailure({ error, attempt, maxAttempts, deferrals, ageMs: Date.now() - job.timestamp });
  if (verdict.kind === 'defer') {
    tell('deferred', error.code);
    return defer(pickup, verdict.delayMs);
  }
  if (verdict.kind === 'retry') {
    tell('retried', error.code);
    throw new FailedTryError(error.code);
  }
  tell('dead', error.code);
  return giveUp(parts, pickup, error);
}
