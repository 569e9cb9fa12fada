import { DelayedError, UnrecoverableError, WaitingError, type Job } from 'bullmq';

import type { QueueTask, TaskReport } from '../contracts/queue';
import { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { elapsedMs, monotonicMs, sleep } from '../util/clock';
import type { ConsumerParts, Log } from './consumer-contract';
import { deadEntry } from './dead-entry';
import type { DyingJobs, JobRef } from './dying-jobs';
import { growingDelay, isInfrastructure, judgeFailure, slotDelayMs } from './judge-failure';
import type { QueueMetrics, TaskOutcome } from './metrics';
import { parseEntry, readQueueTask, tenantOf } from './read-task';
import type { TenantSlots } from './tenant-slots';

export interface JobData {
  /** What stood on the list. */
  readonly raw: string;
  /** The id that it had there. */
  readonly id: string;
}

export interface ProcessorParts extends ConsumerParts {
  readonly dying: DyingJobs;
  /** Without them tenants have no limit. */
  readonly slots?: TenantSlots;
  readonly metrics: QueueMetrics;
  /** Aborted when tasks under way have to go back to the queue. */
  readonly signal: AbortSignal;
}

interface Parts extends ProcessorParts {
  readonly untilStopped: UntilStopped;
}

/** One take-up of a job. */
interface Turn {
  readonly job: Job<JobData>;
  readonly token: string;
  readonly ref: JobRef;
  readonly task: QueueTask;
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Take-ups before this one that were no tries. */
  readonly deferrals: number;
}

/** A handler that does not end when it is told to is left behind: its task goes back all the same. */
const STOP_MS = 2000;
const AGAIN_MS = 1000;
const ON_DEAD_DELAY = { firstMs: 1000, longestMs: 30_000 };

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
  const turn = await readTurn(parts, job, token);
  if (job.attemptsStarted > 1 && (await parts.dying.isBuried(turn.ref))) {
    throw new UnrecoverableError('the task was given up before');
  }
  if (job.stalledCounter > turn.maxAttempts) {
    return giveUp(parts, turn, new RuntimeError('TASK_CRASHED', { count: job.stalledCounter }));
  }
  if (parts.slots === undefined) return doTask(parts, turn);
  const release = await parts.slots.tryTake(tenantOf(turn.task), `${turn.ref.jobId}:${token}`);
  if (typeof release === 'number') return defer(turn, slotDelayMs(turn.deferrals, release));
  try {
    await doTask(parts, turn);
  } finally {
    await release();
  }
}

async function readTurn(parts: Parts, job: Job<JobData>, token: string): Promise<Turn> {
  const { raw, id } = job.data;
  const ref = { entryId: id, jobId: job.id ?? '' };
  const attempt = job.attemptsMade + 1;
  try {
    return {
      job,
      token,
      ref,
      task: readQueueTask(parseEntry(raw), id),
      attempt,
      maxAttempts: job.opts.attempts ?? 1,
      deferrals: Math.max(0, job.attemptsStarted - attempt),
    };
  } catch (error) {
    // Another version of this package took it for a task.
    const invalid = toRuntimeError(error);
    await parts.dying.bury(ref, deadEntry({ raw, error: invalid, attempts: attempt }));
    throw new UnrecoverableError(invalid.code);
  }
}

async function doTask(parts: Parts, turn: Turn): Promise<void> {
  const { task, attempt, maxAttempts } = turn;
  const startedAt = monotonicMs();
  const tell = (outcome: TaskOutcome, code?: string): void => {
    const durationMs = elapsedMs(startedAt);
    parts.metrics.count(task.task_type, outcome);
    parts.metrics.observeDuration(task.task_type, durationMs);
    parts.log(code === undefined ? 'info' : 'warn', `task ${outcome}`, {
      ...factsOf(turn),
      duration_ms: durationMs,
      code,
    });
  };
  try {
    const work = parts.handle({ task, attempt, maxAttempts, signal: parts.signal });
    const report = await parts.untilStopped(work);
    if (isReport(report)) parts.metrics.addUsage(task.task_type, report);
    tell('done');
  } catch (error) {
    await endFailed(parts, turn, { error: toRuntimeError(error), tell });
  }
}

function isReport(value: unknown): value is TaskReport {
  return typeof value === 'object' && value !== null && 'tokens_used' in value;
}

/** Settles with the work, or rejects a while after the signal is aborted, whatever the work does about that. */
type UntilStopped = <T>(work: Promise<T>) => Promise<T>;

/** One listener and one timer for all tasks: for each of its own they would cost more than all the rest of the queue. */
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
async function endFailed(parts: Parts, turn: Turn, { error, tell }: Failure): Promise<void> {
  if (parts.signal.aborted) {
    tell('returned', error.code);
    return giveBack(turn);
  }
  const { job, attempt, maxAttempts, deferrals } = turn;
  const verdict = judgeFailure({ error, attempt, maxAttempts, deferrals, ageMs: Date.now() - job.timestamp });
  if (verdict.kind === 'defer') {
    tell('deferred', error.code);
    return defer(turn, verdict.delayMs);
  }
  if (verdict.kind === 'retry') {
    tell('retried', error.code);
    throw new FailedTryError(error.code);
  }
  tell('dead', error.code);
  return giveUp(parts, turn, error);
}

async function giveBack({ job, token }: Turn): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}

async function defer({ job, token }: Turn, delayMs: number): Promise<never> {
  await job.moveToDelayed(Date.now() + delayMs, token);
  throw new DelayedError();
}

async function giveUp(parts: Parts, turn: Turn, error: RuntimeError): Promise<never> {
  const { job, ref, task, attempt: attempts } = turn;
  const { raw } = job.data;
  // The callback of a task whose id stands for another request belongs to that one.
  if (error.code !== 'TASK_CONFLICT' && !(await tellOfDeath(parts, turn, error))) return giveBack(turn);
  await parts.dying.bury(ref, deadEntry({ raw, task, error, attempts }));
  throw new UnrecoverableError(error.code);
}

/** False when it could not be told before tasks had to go back. */
async function tellOfDeath(parts: Parts, turn: Turn, error: RuntimeError): Promise<boolean> {
  const dead = { raw: turn.job.data.raw, task: turn.task, error, attempts: turn.attempt };
  for (let times = 0; ; times++) {
    try {
      await parts.onDead(dead);
      return true;
    } catch (thrown) {
      const failure = toRuntimeError(thrown);
      logFailure(parts.log, turn, failure);
      if (!isInfrastructure(failure)) return true;
    }
    await sleep(growingDelay(times, ON_DEAD_DELAY), parts.signal).catch(() => undefined);
    if (parts.signal.aborted) return false;
  }
}

function logFailure(log: Log, turn: Turn, { code }: RuntimeError): void {
  log('error', 'the failure could not be delivered', { ...factsOf(turn), code });
}

const SHOWN_LENGTH = 100;

function factsOf({ task, attempt }: Turn): Record<string, string | number> {
  const shown = (text: string): string => text.slice(0, SHOWN_LENGTH);
  const facts = { task_id: task.task_id, tenant_id: tenantOf(task), task_type: task.task_type };
  return { ...Object.fromEntries(Object.entries(facts).map(([name, text]) => [name, shown(text)])), attempt };
}
