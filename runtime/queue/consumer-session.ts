import { type JobsOptions, Queue } from 'bullmq';

import type { ConsumerSettings } from '../contracts/consumer';
import type { ConsumerClients, QueueClient, SessionParts } from './consumer-parts';
import type { ClassifyOptions } from './intake/classify-entry';
import { type NewJob, runIngress } from './intake/ingress';
import { createTaskStore, type TaskStore } from './intake/task-store';
import { createDeadLetters } from './jobs/dead-letters';
import { startJobWorker } from './jobs/job-worker';
import type { JobData } from './jobs/pickup';
import type { QueueKeys } from './keys';
import { startReconciling } from './reconcile';

/** Everything of a consumer that depends on its connections. A consumer that stands still gets a new one. */
export interface ConsumerSession {
  readonly clients: ConsumerClients;
  /** How many jobs it has in hand. */
  readonly running: () => number;
  /** How many jobs it has fetched so far. */
  readonly fetched: () => number;
  /** How often it has asked the list for tasks so far, and was answered. */
  readonly asked: () => number;
  /** Takes no more tasks, waits for those in hand, then disconnects. */
  readonly close: () => Promise<void>;
}

/** Jobs that ended well, without their tasks: for so long a repeated push is known to be one. */
const KEEP_COMPLETED = { age: 3600, count: 10_000 };
/** BullMQ's event stream, which nobody here reads. */
const KEPT_EVENTS = 100;

export function sortOptions(settings: ConsumerSettings, store: Pick<ClassifyOptions, 'read'>): ClassifyOptions {
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

export function startSession(clients: ConsumerClients, given: SessionParts): ConsumerSession {
  const { commands, blocking } = clients;
  const { keys, settings, parts, metrics } = given;
  const stopTaking = new AbortController();
  const deadLetters = createDeadLetters(commands, keys);
  const queue = openQueue(commands, keys);
  const worker = startJobWorker(clients, deadLetters, given);
  const { store, asked } = countTakes(createTaskStore(commands, keys));
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
  const stopSweep = startReconciling({ client: commands, queue, keys, dying: deadLetters, log: parts.log });
  return {
    clients,
    running: worker.count,
    fetched: worker.fetched,
    asked,
    close: async () => {
      stopSweep();
      stopTaking.abort();
      blocking.disconnect();
      await Promise.allSettled([taking, worker.close()]);
      await queue.close().catch(() => undefined);
      clients.end();
    },
  };
}

function countTakes(store: TaskStore): { readonly store: TaskStore; readonly asked: () => number } {
  let count = 0;
  return {
    store: {
      ...store,
      take: async (options) => {
        const taken = await store.take(options);
        count++;
        return taken;
      },
    },
    asked: () => count,
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
    jobs.map(({ task, text, entryId, jobId }) => ({
      name: task.task_type,
      data: { ...text, id: entryId },
      opts: { ...options, jobId, ...(task.priority === undefined ? {} : { priority: task.priority }) },
    })),
  );
}
