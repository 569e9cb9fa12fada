import type { RequestStore } from '../../contracts/callback';
import type { QueueTask, TaskAnswer } from '../../contracts/queue';
import type { AgentResult } from '../../contracts/result';
import type { Outgoing, OutgoingRules } from '../../contracts/tools/outgoing';
import type { CheckedFor } from '../../contracts/tools/tool';
import type { JsonObject, JsonValue } from '../../util/json';
import type { ReadyTask } from '../read-task';

/** What the handlers work with. */
export interface TaskPorts {
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
  readonly run: (task: ReadyTask) => Promise<AgentResult>;
  /** Where an address of the task may lead. */
  readonly rules: OutgoingRules;
  readonly signal?: AbortSignal;
  /** Whatever is known of the task's request is forgotten: a manual test in the editor. */
  readonly fresh: boolean;
}

/** Does a task that was read. Rejects when it failed; an unusable answer is an answer with `error`. */
export type DoTask = (context: TaskContext) => Promise<TaskAnswer>;

/** Reads a task of one type: throws what is wrong with it, before anything is done or spent. */
export type TaskHandler = (task: QueueTask) => DoTask;
