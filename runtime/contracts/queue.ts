import * as z from 'zod/v4';

import { describeIssues } from '../errors/describe-issues';
import { RuntimeError } from '../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue, without } from '../util/json';
import { MAX_TASK_ID_LENGTH, MAX_TRACE_ID_LENGTH } from './task';
import type { TaskConfigInput } from './task-config.generated';
import { idText } from './task-options';
import { orEmptyList } from './task-options';

/** The kinds of task that this package does itself. */
export const TASK_TYPES = ['ai_agent', 'llm_extraction', 'llm_generation', 'http_request', 'webhook_call'] as const;
export type TaskType = (typeof TASK_TYPES)[number];

/**
 * A task for `run`, `stream`, `handle` and `enqueue`. They take any other value too, and say what is wrong with it.
 * @example { config: { agent_tier: 'pro', message: 'Which orders does Ada have?' }, meta: { tenant_id: tenantId } }
 */
export interface TaskInput {
  /** Names the run: the same one again replays what was done. Default: a new one. */
  readonly task_id?: string;
  /** Default: a new one. */
  readonly trace_id?: string;
  readonly config: TaskConfigInput;
  /** Trusted facts, which the model neither sees nor sets. */
  readonly meta: {
    readonly tenant_id: string;
    readonly client_id?: string;
    readonly dialog_id?: string;
    readonly user_id?: string;
    readonly session_id?: string;
  };
  /** Where `handle` and the queue write the answer. */
  readonly callback?: Callback;
}

/** A task of any type, as far as the queue has to understand it; `config` is the business of the type's handler. */
export interface QueueTask {
  readonly task_id: string;
  readonly trace_id: string;
  readonly task_type: string;
  readonly config: JsonObject;
  /** `tenant_id` and, from earlier producers, `code`, `level`, `domain_code`, `vertical_code`, `total_tasks`. */
  readonly meta: JsonObject;
  readonly callback?: Callback;
  /** 1 is the most urgent. Without one, tasks run in the order of their arrival, before those that have one. */
  readonly priority?: number;
}

/** Where the answer goes. Keys begin with an allowed prefix, and the webhook's host is an allowed one. */
export interface Callback {
  readonly result_key?: string;
  readonly counter_key?: string;
  readonly status_key?: string;
  readonly notify_webhook?: string;
}

/** What became of a task that was done: the part of its report that depends on its type. */
export interface TaskAnswer {
  readonly result: JsonValue;
  readonly model_used: string | null;
  readonly tokens_used: number;
  readonly duration_ms: number;
  /** Null unless the answer is unusable. */
  readonly error: string | null;
  readonly [more: string]: JsonValue | undefined;
}

/**
 * What is pushed to `result_key`: the words of the producers' own workers, and beside them, for tasks that a model did,
 * the whole AgentResult.
 */
export interface TaskReport extends TaskAnswer {
  readonly task_id: string;
  readonly trace_id: string;
  readonly code?: JsonValue;
  readonly level?: JsonValue;
  readonly domain_code?: JsonValue;
  readonly vertical_code?: JsonValue;
  /** Null when the task failed. */
  readonly result: JsonValue;
  /** Null when the task succeeded. */
  readonly error: string | null;
  readonly error_code?: string;
}

/** The least urgent that the queue can tell apart. */
const MAX_PRIORITY = 2 ** 21 - 1;

/** Empty counts as left out, as an expression that found nothing gives it. */
const optionalText = z
  .string()
  .nullish()
  .transform((text) => text || undefined);

const optionalId = (length: number): z.ZodType<string | undefined> =>
  idText
    .nullish()
    .transform((id) => id || undefined)
    .refine((id = '') => id.length <= length, `must not be longer than ${length} characters`);

/** Passed on as it is, whatever its keys are called. */
const optionalObject: z.ZodType<JsonObject> = orEmptyList(
  z.custom<JsonObject | null | undefined>(
    (value) => value === undefined || value === null || isJsonObject(value),
    'must be an object',
  ),
).transform((value) => value ?? {});

/** Keys that are not known are kept, so one that is called like this would become the prototype of the task. */
function withoutPrototypeKey(value: unknown): unknown {
  if (!isJsonObject(value) || !Object.hasOwn(value, '__proto__')) return value;
  return without(value, '__proto__');
}

const queueTaskFields = z.looseObject({
  task_id: optionalId(MAX_TASK_ID_LENGTH),
  trace_id: optionalId(MAX_TRACE_ID_LENGTH),
  task_type: z
    .string()
    .max(100)
    .nullish()
    .transform((type) => type || 'ai_agent'),
  config: optionalObject,
  meta: optionalObject,
  callback: orEmptyList(
    z
      .object({
        result_key: optionalText,
        counter_key: optionalText,
        status_key: optionalText,
        notify_webhook: optionalText,
      })
      .nullish(),
  ).transform((callback) => callback ?? undefined),
  priority: z
    .int()
    .min(0)
    .max(MAX_PRIORITY)
    .nullish()
    // 0 is how other queues write that there is none.
    .transform((priority) => priority || undefined),
});

/**
 * A task as producers push it. Says nothing on `config` and `meta` but that they are objects; what else it holds is for
 * others, and is kept.
 */
export const queueTaskSchema = z.preprocess(withoutPrototypeKey, queueTaskFields);

/** A task whose ids may be missing. */
type GivenTask = Omit<QueueTask, 'task_id' | 'trace_id'> & Partial<Pick<QueueTask, 'task_id' | 'trace_id'>>;

/** Throws INPUT_INVALID that names the fields. */
export function parseQueueTask(input: unknown): GivenTask {
  const parsed = queueTaskSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new RuntimeError('INPUT_INVALID', { issues: describeIssues(parsed.error, 'the task') });
}

/**
 * What tasks of one tenant are told from those of others by, also when it is no tenant's id; empty when there is none.
 */
export function tenantOf({ meta }: Pick<QueueTask, 'meta'>): string {
  return typeof meta.tenant_id === 'string' ? meta.tenant_id.trim().toLowerCase() : '';
}

/** One try of a task that a consumer has taken off the queue. */
export interface QueueDelivery {
  readonly task: QueueTask;
  /** Counts from 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** The code that the try before it failed with; undefined for the first one. */
  readonly lastError?: string;
  /** Aborted when the consumer has to end now: the task goes back to the queue. */
  readonly signal: AbortSignal;
}

/** Does one task. A rejection whose error is retryable brings the task again; any other one is final. */
export type HandleTask = (delivery: QueueDelivery) => Promise<void>;

/** A task that will not be tried again. `raw` is what stood on the list. */
export interface DeadTask {
  readonly raw: string;
  readonly task?: QueueTask;
  readonly error: RuntimeError;
  readonly attempts: number;
}
