import type { RequestStore } from '../../contracts/callback';
import type { Outgoing, OutgoingRules } from '../../contracts/outgoing';
import type { QueueTask, TaskAnswer } from '../../contracts/queue';
import type { AgentResult } from '../../contracts/result';
import type { CheckedFor } from '../../contracts/tool';
import type { JsonObject, JsonValue } from '../../util/json';

/** A task for a model: task_type, config and meta as the agent reads them, with the ids of the queue's task. */
export type ModelTask = Pick<QueueTask, 'task_id' | 'trace_id' | 'task_type' | 'config' | 'meta'>;

/** What the handlers work with. */
export interface TaskPorts {
  /** Throws INPUT_INVALID or TENANT_ID_INVALID. */
  readonly checkModelTask: (task: ModelTask) => void;
  /** Throws an Error when the schema is none, or too large; the function gives what is wrong with a value. */
  readonly compileSchema: (
    schema: JsonObject,
  ) => (value: JsonValue, checkedFor: CheckedFor) => string | undefined | Promise<string | undefined>;
  readonly outgoing: Outgoing;
  /** Undefined where no Redis is connected: then only requests are sent that may be repeated. */
  readonly requests?: RequestStore;
}

export interface TaskContext {
  readonly tenantId: string;
  /** Runs the task of a model, with the host's options. */
  readonly run: (task: ModelTask) => Promise<AgentResult>;
  /** Where an address of the task may lead. */
  readonly rules: OutgoingRules;
  readonly signal?: AbortSignal;
  /** Whatever is known of the task's request is forgotten: a manual test in the editor. */
  readonly fresh: boolean;
}

/** Does the tasks of one type. */
export interface TaskHandler {
  /** Throws what is wrong with the task, before anything is done or spent. */
  readonly check: (task: QueueTask) => void;
  /** Rejects when the task failed; an answer that is no good is an answer with `error`. */
  readonly run: (task: QueueTask, context: TaskContext) => Promise<TaskAnswer>;
}
