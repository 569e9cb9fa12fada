import { setMaxListeners } from 'node:events';

import { Queue, UnrecoverableError, Worker, type ConnectionOptions, type Job, type JobsOptions } from 'bullmq';

import { TASK_TYPES } from '../contracts/queue';
import { sleep } from '../util/clock';
import type { Consumer, ConsumerHealth, ConsumerParts } from './consumer-contract';
import { createDyingJobs, type DyingJobs } from './dying-jobs';
import { runIngress, type NewJob } from './ingress';
import { retryDelayMs } from './judge-failure';
import { queueKeys, type QueueKeys } from './keys';
import { createMetrics, type QueueMetrics } from './metrics';
import { createProcessor } from './process-job';
import { countTasks, type QueueCounts } from './queue-counts';
import type { RedisClient } from './redis-script';
import { restAfterErrors } from './rest-after-errors';
import type { SortOptions } from './sort-entry';
import { startSweep } from './sweep';
import { createTaskStore } from './task-store';
import { createTenantSlots } from './tenant-slots';
import type { JobData } from './turn';

/** A client of ioredis, as BullMQ and our scripts use it. */
type QueueClient = RedisClient & ConnectionOptions & { readonly disconnect: () => void };

/** Three connections that wait as long as Redis is away, so that nothing is given up because of it. */
interface ConsumerClients {
  readonly commands: QueueClient;
  /** For nothing but waiting for the next task. */
  readonly blocking: QueueClient;
}

/** ConsumerConfig with its defaults. */
export interface ConsumerSettings {
  readonly list: string;
  readonly failedList: string;
  readonly forwardList?: string;
  readonly taskTypes: readonly string[];
  readonly concurrency: number;
  readonly tenantConcurrency?: number;
  readonly attempts: number;
  readonly leaseMs: number;
  readonly maxTaskBytes: number;
  readonly processMetrics: boolean;
}

const GRACE_MS = 30_000;
/** What closing takes when Redis is away, after the tasks have ended. */
const CLOSE_MS = 5000;
const IDLE_POLL_MS = 100;
const ANSWER_MS = 2000;
/** BullMQ's own is 15 seconds. */
const RECONNECT_MS = 1000;
/** Jobs that ended well, without their tasks: for so long a repeated push is known to be one. */
const KEEP_COMPLETED = { age: 3600, count: 10_000 };
/** BullMQ's event stream, which nobody here reads. */
const KEPT_EVENTS = 100;
const UNLIMITED = 1_000_000_000;

export function sortOptions(settings: ConsumerSettings, store: Pick<SortOptions, 'read'>): SortOptions {
  const { forwardList, taskTypes, maxTaskBytes } = settings;
  return { ...store, maxTaskBytes, isForeign: (type) => forwardList !== undefined && !taskTypes.includes(type) };
}

export function openQueue(commands: QueueClient, keys: QueueKeys): Queue<JobData> {
  const queue = new Queue<JobData>(keys.queue, {
    connection: commands,
    prefix: keys.prefix,
    streams: { events: { maxLen: KEPT_EVENTS } },
    // It was checked when the client was opened; BullMQ's own check writes to the console.
    skipVersionCheck: true,
  });
  // The client itself tells of lost connections.
  queue.on('error', () => undefined);
  return queue;
}

/** Takes tasks and has them done until it is closed. The caller closes the clients. */
export function createConsumer(clients: ConsumerClients, settings: ConsumerSettings, parts: ConsumerParts): Consumer {
  const { commands, blocking } = clients;
  const keys = queueKeys(settings);
  const store = createTaskStore(commands, keys);
  const dying = createDyingJobs(commands, keys);
  const readCounts = (): Promise<QueueCounts> => answerOf(commands, keys);
  const metrics = createMetrics({
    taskTypes: [...new Set([...TASK_TYPES, ...settings.taskTypes])],
    readCounts,
    ofProcess: settings.processMetrics,
  });
  const stopTaking = new AbortController();
  const giveBack = new AbortController();
  setMaxListeners(0, stopTaking.signal, giveBack.signal);

  const queue = openQueue(commands, keys);
  const running = startWorker({ clients, keys, settings, parts, dying, metrics, signal: giveBack.signal });
  const taking = runIngress({
    store,
    blocking,
    keys,
    sort: sortOptions(settings, store),
    add: (jobs) => addJobs(queue, jobs, settings.attempts),
    metrics,
    log: parts.log,
    signal: stopTaking.signal,
  });
  const stopSweep = startSweep({ client: commands, queue, keys, dying, log: parts.log });

  const close = async (graceMs: number): Promise<void> => {
    stopSweep();
    stopTaking.abort();
    blocking.disconnect();
    const grace = setTimeout(() => giveBack.abort(), graceMs);
    const closed = Promise.allSettled([taking, running.close()]).then(() => queue.close());
    const tooLong = new AbortController();
    await Promise.race([closed, sleep(graceMs + CLOSE_MS, tooLong.signal)]).catch(() => undefined);
    tooLong.abort();
    clearTimeout(grace);
    giveBack.abort();
  };
  let closing: Promise<void> | undefined;
  return {
    close: ({ graceMs = GRACE_MS } = {}) => (closing ??= close(graceMs)),
    health: () => readHealth(commands, readCounts, running.count()),
    metrics: metrics.text,
    idle: async () => {
      while (!stopTaking.signal.aborted && !(await isIdle(readCounts))) await sleep(IDLE_POLL_MS);
    },
  };
}

async function addJobs(queue: Queue<JobData>, jobs: readonly NewJob[], attempts: number): Promise<void> {
  const options: JobsOptions = {
    attempts,
    backoff: { type: 'growing' },
    removeOnComplete: KEEP_COMPLETED,
    removeOnFail: true,
    // Traces may quote a task.
    stackTraceLimit: 0,
  };
  await queue.addBulk(
    jobs.map(({ task, raw, entryId, jobId }) => ({
      name: task.task_type,
      data: { raw, id: entryId },
      opts: { ...options, jobId, ...(task.priority === undefined ? {} : { priority: task.priority }) },
    })),
  );
}

interface WorkerParts {
  readonly clients: ConsumerClients;
  readonly keys: QueueKeys;
  readonly settings: ConsumerSettings;
  readonly parts: ConsumerParts;
  readonly dying: DyingJobs;
  readonly metrics: QueueMetrics;
  readonly signal: AbortSignal;
}

interface Running {
  /** How many tasks are being done. */
  readonly count: () => number;
  /** Ends when they have. */
  readonly close: () => Promise<void>;
}

/** BullMQ's worker: leases, retries, recovery of lost jobs. */
function startWorker({ clients, keys, settings, parts, dying, metrics, signal }: WorkerParts): Running {
  const lockMs = Math.round(settings.leaseMs / 2);
  const slots =
    settings.tenantConcurrency === undefined
      ? undefined
      : createTenantSlots(clients.commands, keys, { limit: settings.tenantConcurrency, ttlMs: lockMs });
  const process = createProcessor({ ...parts, dying, slots, metrics, lockMs, signal });
  const ending = new Set<Promise<void>>();
  let count = 0;
  const counted = async (job: Job<JobData>, token?: string): Promise<void> => {
    count++;
    try {
      await process(job, token);
    } finally {
      count--;
    }
  };
  const worker = new Worker<JobData>(keys.queue, counted, {
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
  restAfterErrors(worker, parts.log);
  worker.on('stalled', () => parts.log('warn', 'a task of a lost consumer comes again'));
  worker.on('failed', (job, error) => {
    if (job === undefined || !(error instanceof UnrecoverableError)) return;
    const published = dying
      .publish({ entryId: job.data.id, jobId: job.id ?? '' })
      // The next sweep publishes it.
      .catch(() => undefined)
      .finally(() => ending.delete(published));
    ending.add(published);
  });
  return {
    count: () => count,
    close: async () => {
      await worker.close();
      await Promise.all(ending);
      slots?.close();
    },
  };
}

/** Within two seconds: a command waits for as long as Redis is away. */
async function answerOf(client: QueueClient, keys: QueueKeys): Promise<QueueCounts> {
  const tooLong = new AbortController();
  const answer = countTasks(client, keys);
  answer.catch(() => undefined);
  try {
    return await Promise.race([
      answer,
      sleep(ANSWER_MS, tooLong.signal).then(() => Promise.reject(new Error('Redis does not answer'))),
    ]);
  } finally {
    tooLong.abort();
  }
}

async function isIdle(readCounts: () => Promise<QueueCounts>): Promise<boolean> {
  const counts = await readCounts().catch(() => undefined);
  return counts !== undefined && counts.pending + counts.waiting + counts.active + counts.delayed === 0;
}

async function readHealth(
  { status }: QueueClient,
  readCounts: () => Promise<QueueCounts>,
  running: number,
): Promise<ConsumerHealth> {
  const counts = status === 'ready' ? await readCounts().catch(() => undefined) : undefined;
  const unknown = { paused: false, pending: -1, waiting: -1, active: -1, delayed: -1, dead: -1 };
  return {
    ok: counts !== undefined,
    redis: counts === undefined ? 'lost' : 'ready',
    ...(counts ?? unknown),
    running,
  };
}
