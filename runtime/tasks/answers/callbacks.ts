import { createHash } from 'node:crypto';

import type { CallbackStore, CallbackWrite } from '../../contracts/callback';
import type { QueueTask, TaskReport } from '../../contracts/queue';
import type { Outgoing, OutgoingRules } from '../../contracts/tools/outgoing';
import { RuntimeError } from '../../errors/runtime-error';
import type { JsonObject } from '../../util/json';
import { checkKeys, hasCallback, type KeyRules, MAX_TOTAL_TASKS, totalTasks } from './check-callback';
import { withWarning } from './task-report';
import { sendWebhook } from './webhook';

interface CallbacksOptions {
  /** Undefined where no Redis is connected. */
  readonly store?: CallbackStore;
  readonly outgoing: Outgoing;
  readonly keys: KeyRules;
  /** Signs webhooks; undefined: they go unsigned, and the report says so. */
  readonly signingKey?: string | Buffer;
}

/** A task whose answer has an address. */
export interface Addressed {
  readonly task: QueueTask;
  readonly tenantId: string;
  /** Where its webhook may go; undefined: it is not sent. */
  readonly rules?: OutgoingRules;
}

interface DeliverOptions {
  readonly signal?: AbortSignal;
  /** What is reported; a success is written after a failure too. Default false. */
  readonly isFailure?: boolean;
}

export interface Callbacks {
  /**
   * Whether the answer could be delivered, before anything is done for it. Rejects with CALLBACK_KEY_FORBIDDEN,
   * CALLBACK_HOST_FORBIDDEN, REDIS_MISSING or INPUT_INVALID.
   */
  readonly check: (addressed: Addressed) => Promise<void>;
  /**
   * Writes the report where the task says, once however often it is delivered (a success after a failure too), then sends the webhook when it is due. Gives the
   * report as it was written. Rejects with CALLBACK_FAILED when all is written and only the webhook is left to be
   * sent; else with a code of check, CALLBACK_KEY_UNUSABLE or REDIS_UNAVAILABLE, and nothing is written.
   */
  readonly deliver: (addressed: Addressed, report: TaskReport, options?: DeliverOptions) => Promise<TaskReport>;
}

export function createCallbacks(options: CallbacksOptions): Callbacks {
  return {
    check: (addressed) => check(options, addressed),
    deliver: async (addressed, report, { signal, isFailure = false } = {}) => {
      if (!hasCallback(addressed.task)) return report;
      const { store } = options;
      checkKeys(addressed.task.callback ?? {}, options.keys);
      if (store === undefined) throw redisMissing();
      const isUnsigned = addressed.task.callback?.notify_webhook !== undefined && options.signingKey === undefined;
      const written = isUnsigned ? withWarning(report, 'WEBHOOK_UNSIGNED') : report;
      await deliver({ ...options, store }, { ...addressed, report: written, signal, isFailure });
      return written;
    },
  };
}

async function check({ store, outgoing, keys }: CallbacksOptions, { task, rules }: Addressed): Promise<void> {
  const { callback } = task;
  if (callback === undefined || !hasCallback(task)) return;
  checkKeys(callback, keys);
  if (totalTasks(task) === undefined) {
    throw new RuntimeError('INPUT_INVALID', { issues: `meta.total_tasks must be from 1 to ${MAX_TOTAL_TASKS}` });
  }
  if (store === undefined) throw redisMissing();
  const { notify_webhook: url } = callback;
  const reason = url === undefined || rules === undefined ? undefined : await outgoing.judge(url, rules);
  if (reason !== undefined) throw new RuntimeError('CALLBACK_HOST_FORBIDDEN', { reason });
}

function redisMissing(): RuntimeError {
  return new RuntimeError('REDIS_MISSING', { what: 'The callback of the task' });
}

interface Delivery extends Addressed {
  readonly report: TaskReport;
  readonly isFailure: boolean;
  readonly signal?: AbortSignal;
}

async function deliver(parts: CallbacksOptions & { readonly store: CallbackStore }, delivery: Delivery): Promise<void> {
  const { task, tenantId, rules, report, signal, isFailure } = delivery;
  const { result_key: resultKey, notify_webhook: url } = task.callback ?? {};
  const ids = [tenantId, task.task_id, ...interimOf(report)];
  const isInterim = ids.length > 2;
  const { counterKey, statusKey, given } = countedKeys(task, isInterim);
  const total = given ?? 1;
  const answer = { resultKey, counterKey, statusKey, payload: JSON.stringify(report), total, isFailure };
  const { counter, isRetried } = await parts.store.write({ marker: markerOf(ids), ...answer });
  const isDue = counterKey === undefined || (given !== undefined && counter >= total);
  if (url === undefined || rules === undefined || !isDue) return;
  // Receivers take what they have seen before for done, and of the failure they may have been told.
  const told = isRetried ? [...ids, 'retried'] : ids;
  const body = webhookBody(delivery, { isInterim, counter, total });
  const idempotencyKey = told.map(headerText).join('/');
  await sendWebhook(parts, { marker: markerOf(told), url, body, idempotencyKey, rules, signal });
}

function countedKeys(
  task: QueueTask,
  isInterim: boolean,
): Pick<CallbackWrite, 'counterKey' | 'statusKey'> & { readonly given?: number } {
  const { counter_key: counterKey, status_key } = task.callback ?? {};
  const given = totalTasks(task);
  // A task that waits for a person is not one of those that are done.
  if (isInterim) return { given };
  // A group of nobody knows how many is never complete.
  return { given, counterKey, statusKey: given === undefined ? undefined : status_key };
}

function markerOf(ids: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(ids)).digest('hex');
}

function webhookBody(
  { task }: Delivery,
  { isInterim, counter, total }: { readonly isInterim: boolean; readonly counter: number; readonly total: number },
): JsonObject {
  const { task_id, trace_id, callback } = task;
  return {
    status: isInterim ? 'awaiting_input' : 'complete',
    trace_id,
    counter: isInterim ? 0 : counter,
    total_tasks: total,
    task_id,
    result_key: callback?.result_key ?? null,
  };
}

/** A run that waits for an approval is told of once, and leaves the task's own delivery to its end. */
function interimOf({ status, run_id }: TaskReport): readonly string[] {
  return status === 'awaiting_input' && typeof run_id === 'string' ? [run_id] : [];
}

/** Ids may hold what no header can. */
function headerText(id: string): string {
  return /^[\x21-\x7e]+$/.test(id) ? id : encodeURIComponent(id);
}
