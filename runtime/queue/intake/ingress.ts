import type { Log } from '../../contracts/event';
import type { QueueTask } from '../../contracts/queue';
import type { RuntimeError } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import { sleep } from '../../util/clock';
import { checkLists } from '../check-redis';
import type { QueueKeys } from '../keys';
import type { QueueMetrics } from '../metrics';
import type { RedisClient } from '../redis-script';
import { classifyEntry, type ClassifyOptions } from './classify-entry';
import { type EntryText, jobIdOf } from './read-task';
import type { TakenEntry, TaskStore } from './task-store';

export interface NewJob {
  readonly task: QueueTask;
  readonly text: EntryText;
  readonly entryId: string;
  readonly jobId: string;
}

interface IngressParts {
  readonly store: TaskStore;
  /** A connection that only waits in Redis for the next task. */
  readonly blocking: RedisClient;
  readonly keys: QueueKeys;
  readonly sort: ClassifyOptions;
  /** Puts jobs into the queue; those that are there already are left as they are. */
  readonly add: (jobs: readonly NewJob[]) => Promise<void>;
  readonly metrics: Pick<QueueMetrics, 'count'>;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const BATCH = 100;
/** A consumer that has not settled a task for so long counts as lost. */
const HOLD_MS = 30_000;
/** How often a consumer looks for tasks of lost ones while no new ones come. */
const WAIT_SECONDS = 5;
/** How often it looks while the queue is paused or full. */
const CLOSED_MS = 250;
const RETRY_MS = 1000;

/** Moves tasks from the list to the queue until the signal is aborted. Never rejects. */
export async function runIngress(parts: IngressParts): Promise<void> {
  const { store, sort, log, signal } = parts;
  let settled: readonly string[] = [];
  const takeNext = async (): Promise<void> => {
    const { state, entries } = await store.take({ settled, count: BATCH, holdMs: HOLD_MS, ...sort });
    settled = [];
    if (entries.length > 0) settled = await settleBatch(parts, entries);
    else if (state === 'open') await waitForTask(parts);
    else await sleep(CLOSED_MS, signal);
  };
  const recover = async (error: unknown): Promise<void> => {
    if (signal.aborted) return;
    const { message: reason } = await inWords(parts, toRuntimeError(error));
    log('warn', 'taking tasks failed; trying again', { reason });
    await sleep(RETRY_MS, signal).catch(() => undefined);
  };
  while (!signal.aborted) await takeNext().catch(recover);
  if (settled.length > 0) await store.take({ settled, count: 0, holdMs: HOLD_MS, ...sort }).catch(() => undefined);
}

/** Redis does not say which key holds something else than a list. */
async function inWords({ blocking, keys }: IngressParts, error: RuntimeError): Promise<RuntimeError> {
  if (!error.message.includes('WRONGTYPE')) return error;
  return checkLists(blocking, keys).then(() => error, toRuntimeError);
}

/** The ids that are in the queue now; the others have gone elsewhere for good. */
async function settleBatch(parts: IngressParts, entries: readonly TakenEntry[]): Promise<readonly string[]> {
  const jobs: NewJob[] = [];
  // One after the other: those that are too large are read whole.
  for (const entry of entries) {
    const job = await sortOut(parts, entry).catch((error: unknown) => {
      // It is taken again when its time is over; those behind it need not wait for that.
      parts.log('warn', 'an entry of the list could not be sorted', { reason: toRuntimeError(error).message });
      return undefined;
    });
    if (job !== undefined) jobs.push(job);
  }
  if (jobs.length === 0) return [];
  await addUntilDone(parts, jobs);
  return jobs.map(({ entryId }) => entryId);
}

async function sortOut(parts: IngressParts, entry: TakenEntry): Promise<NewJob | undefined> {
  const { store, metrics, log } = parts;
  const sorted = await classifyEntry(entry, parts.sort);
  if (sorted.kind === 'task') {
    return { task: sorted.task, text: sorted.text, entryId: entry.id, jobId: jobIdOf(sorted.task) };
  }
  if (sorted.kind === 'foreign') {
    await store.forward(entry.id);
    metrics.count(undefined, 'forwarded');
  } else if (sorted.answerable !== undefined) {
    // It dies as a job: telling of it takes its time, and must not be lost with this process.
    return { ...sorted.answerable, entryId: entry.id, jobId: `refused-${entry.id}` };
  } else {
    await store.reject(entry.id, sorted.entry);
    metrics.count(undefined, 'rejected');
    log('warn', 'an entry of the list is no task', { code: sorted.error.code, bytes: entry.size });
  }
  return undefined;
}

/** Other consumers take the tasks over when this takes too long, and add the same jobs. */
async function addUntilDone({ add, log, signal }: IngressParts, jobs: readonly NewJob[]): Promise<void> {
  for (;;) {
    try {
      await add(jobs);
      return;
    } catch (error) {
      log('warn', 'adding jobs failed; trying again', { reason: toRuntimeError(error).message });
      await sleep(RETRY_MS, signal);
    }
  }
}

/** Returns when there may be a task. It is moved within Redis, so it is safe when nobody hears of it. */
async function waitForTask({ blocking, keys }: IngressParts): Promise<void> {
  await blocking.callBuffer('BLMOVE', [keys.list, keys.ingress, 'RIGHT', 'LEFT', WAIT_SECONDS]);
}
