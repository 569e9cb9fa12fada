import type { TaskLists } from '../contracts/callback';
import { type QueueTask, TASK_TYPES, type TaskReport } from '../contracts/queue';
import type { Outgoing } from '../contracts/tools/outgoing';
import { RuntimeError } from '../errors/runtime-error';
import type { JsonObject } from '../util/json';
import { checkKeys, type KeyRules } from './answers/check-callback';
import { findResult, type ResultQuery } from './answers/find-result';
import { readQueueTask } from './read-queue-task';
import { readTenantId } from './read-task';
import type { FindHandler } from './types/task-types';

export interface Enqueued {
  readonly task_id: string;
  readonly trace_id: string;
  /** Where its report will be. */
  readonly result_key: string;
}

/** The producer's side of the queue. Rejects with REDIS_MISSING where no Redis is connected. */
export interface TaskQueue {
  /**
   * Checks what can be checked without the tenant, gives the task ids and a result key where it has none, and pushes it to the
   * list. Rejects with what is wrong with it, or REDIS_UNAVAILABLE. What a type that is not ours holds is not checked.
   */
  readonly enqueue: (task: unknown) => Promise<Enqueued>;
  /** See answers/find-result.ts. */
  readonly getResult: (query: ResultQuery) => Promise<TaskReport>;
}

interface TaskQueueParts {
  readonly lists?: TaskLists;
  readonly keys: KeyRules;
  /** Where consumers take tasks from. */
  readonly list: string;
  readonly findHandler: FindHandler;
  readonly outgoing: Outgoing;
}

export function createTaskQueue(parts: TaskQueueParts): TaskQueue {
  const { lists, keys, list } = parts;
  return {
    enqueue: async (input) => {
      const given = readQueueTask(input);
      const resultKey = given.callback?.result_key ?? `${keys.prefixes[0] ?? ''}${given.trace_id}`;
      const task: QueueTask = { ...given, callback: { ...given.callback, result_key: resultKey } };
      await check(parts, task);
      if (lists === undefined) throw new RuntimeError('REDIS_MISSING', { what: 'A queue of tasks' });
      const { task_id, trace_id, task_type, callback } = task;
      // What it holds beside our words is for others, and goes along.
      const entry = { ...(input as JsonObject), task_id, trace_id, task_type, callback };
      await lists.push(list, JSON.stringify(entry));
      return { task_id, trace_id, result_key: resultKey };
    },
    getResult: async (query) => {
      if (lists === undefined) throw new RuntimeError('REDIS_MISSING', { what: 'A queue of tasks' });
      return findResult({ lists, keys }, query);
    },
  };
}

async function check({ findHandler, keys, outgoing }: TaskQueueParts, task: QueueTask): Promise<void> {
  const { task_type, meta, callback = {} } = task;
  if ((TASK_TYPES as readonly string[]).includes(task_type)) {
    findHandler(task_type)(task);
    readTenantId(meta.tenant_id);
  }
  checkKeys(callback, keys);
  const { notify_webhook: url } = callback;
  // Which hosts are allowed is known where the task will be done.
  const anyHost = { allowsHost: () => true, isRestricted: false };
  const reason = url === undefined ? undefined : await outgoing.judge(url, anyHost);
  if (reason !== undefined) throw new RuntimeError('CALLBACK_HOST_FORBIDDEN', { reason });
}
