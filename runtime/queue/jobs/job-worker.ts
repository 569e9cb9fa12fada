import { type Job, UnrecoverableError, Worker } from 'bullmq';

import { monotonicMs, sleep } from '../../util/clock';
import type { ConsumerClients, SessionParts } from '../consumer-parts';
import type { DeadLetters } from './dead-letters';
import type { JobData } from './pickup';
import { createProcessor } from './process-job';
import { restAfterErrors } from './rest-after-errors';
import { retryDelayMs } from './retry-policy';
import { createTenantSlots } from './tenant-slots';

export interface JobWorker {
  /** How many jobs it has in hand. */
  readonly count: () => number;
  /** How many it has fetched so far. */
  readonly fetched: () => number;
  /** Fetches no more; ends when those in hand have, and BullMQ has them on record. */
  readonly close: () => Promise<void>;
}

/** BullMQ's own is 15 seconds. */
const RECONNECT_MS = 1000;
const UNLIMITED = 1_000_000_000;
/** A worker without a job has ended by then, or stands still. */
const IDLE_MS = 5000;
const POLL_MS = 50;

/** After an error BullMQ's look for lost jobs rests for five seconds, which closing does not end. The time between two looks is rest enough. */
class ClosableWorker<T> extends Worker<T> {
  protected override checkConnectionError<R>(look: () => Promise<R>): Promise<R | undefined> {
    return super.checkConnectionError(look, 0);
  }
}

/** BullMQ's worker: leases, retries, recovery of lost jobs. */
export function startJobWorker(clients: ConsumerClients, dying: DeadLetters, given: SessionParts): JobWorker {
  const { keys, settings, parts, metrics, limit, signal } = given;
  const lockMs = Math.round(settings.leaseMs / 2);
  const slots =
    settings.tenantConcurrency === undefined
      ? undefined
      : createTenantSlots(clients.commands, keys, { limit: settings.tenantConcurrency, ttlMs: lockMs });
  const process = createProcessor({ ...parts, dying, slots, metrics, lockMs, signal });
  let count = 0;
  let fetched = 0;
  const counted = async (job: Job<JobData>, token?: string): Promise<void> => {
    fetched++;
    count++;
    try {
      await limit(() => process(job, token));
    } finally {
      count--;
    }
  };
  const worker = new ClosableWorker<JobData>(keys.queue, counted, {
    connection: clients.commands,
    prefix: keys.prefix,
    skipVersionCheck: true,
    concurrency: settings.concurrency,
    lockDuration: lockMs,
    stalledInterval: lockMs / 2,
    // How often is too often is decided with the job in hand, or it would leave no trace.
    maxStalledCount: UNLIMITED,
    runRetryDelay: RECONNECT_MS,
    settings: { backoffStrategy: retryDelayMs },
  });
  const stopResting = restAfterErrors(worker, parts.log);
  worker.on('stalled', () => parts.log('warn', 'a task of a lost consumer comes again'));
  const published = publishDead(worker, dying);
  return {
    count: () => count,
    fetched: () => fetched,
    close: async () => {
      stopResting();
      await closeWorker(worker, () => count);
      await published();
      slots?.close();
    },
  };
}

/** What dies goes to the dead-letter list once its job has ended. Returns what waits for the ones on their way. */
function publishDead(worker: Worker<JobData>, dying: Pick<DeadLetters, 'publish'>): () => Promise<unknown> {
  const ending = new Set<Promise<void>>();
  worker.on('failed', (job, error) => {
    if (job === undefined || !(error instanceof UnrecoverableError)) return;
    const published = dying
      .publish({ entryId: job.data.id, jobId: job.id ?? '' })
      // The next sweep publishes it.
      .catch(() => undefined)
      .finally(() => ending.delete(published));
    ending.add(published);
  });
  return () => Promise.all(ending);
}

/**
 * BullMQ's own `close` does not wait for the jobs when it cannot get at its blocking connection: it stops renewing their leases
 * and does not put their end on record, so they would be done again. It may also wait for that connection without end.
 */
async function closeWorker(worker: Worker<JobData>, count: () => number): Promise<void> {
  await worker.pause(true);
  // It may be waiting for the next job, which it would still take.
  void worker
    .getBackend()
    .disconnectBlocking(false)
    .catch(() => undefined);
  let lastSeenBusy = monotonicMs();
  while (worker.isRunning() && monotonicMs() - lastSeenBusy < IDLE_MS) {
    await sleep(POLL_MS);
    if (count() > 0) lastSeenBusy = monotonicMs();
  }
  await worker.close(true);
}
