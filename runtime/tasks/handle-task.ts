import type { QueueTask, TaskAnswer, TaskReport } from '../contracts/queue';
import type { AgentResult } from '../contracts/result';
import type { RunOptions } from '../contracts/run';
import { toRuntimeError } from '../errors/to-runtime-error';
import type { RulesOf } from './address-rules';
import type { Addressed, Callbacks } from './answers/callbacks';
import { successReport } from './answers/task-report';
import { readQueueTask } from './read-queue-task';
import { readTenantId, type ReadyTask } from './read-task';
import type { FindHandler } from './types/task-types';
import type { DeliverFailure, FailureOptions } from './write-failure';

export interface TaskHandling {
  /**
   * Does one task of any type, as it came from the queue, and writes its callback. A task that was done before is not done
   * again; what its callback still lacks is written. Rejects with a RuntimeError.
   */
  readonly handle: (task: unknown, options?: RunOptions) => Promise<TaskReport>;
  /** Writes the failure of a task to its callback, once, and never after a success; nothing where the callback is not the task's to write. */
  readonly deliverFailure: (task: unknown, error: unknown, options?: FailureOptions) => Promise<void>;
}

interface TaskHandlingParts {
  readonly run: (task: ReadyTask, options: RunOptions) => Promise<AgentResult>;
  readonly findHandler: FindHandler;
  readonly rulesOf: RulesOf;
  readonly callbacks: Callbacks;
  readonly deliverFailure: DeliverFailure;
}

/** One task from the queue, top to bottom: read it, check where its answer goes, do it, deliver. */
export function createTaskHandling(parts: TaskHandlingParts): TaskHandling {
  return {
    handle: async (input, options = {}) => {
      const task = readQueueTask(input);
      const { addressed, answer } = await doTask(parts, task, options).catch((thrown: unknown) => {
        throw toRuntimeError(thrown);
      });
      return parts.callbacks.deliver(addressed, successReport(task, answer), { signal: options.signal });
    },
    deliverFailure: async (input, error, options) =>
      parts.deliverFailure(readQueueTask(input), toRuntimeError(error), options),
  };
}

/** Everything that can be said against a task is said before it is done. */
async function doTask(
  { findHandler, rulesOf, callbacks, run }: TaskHandlingParts,
  task: QueueTask,
  { signal, onEvent, logger, stream, fresh, egress, mcpServers }: RunOptions,
): Promise<{ readonly addressed: Addressed; readonly answer: TaskAnswer }> {
  const perform = findHandler(task.task_type)(task);
  const tenantId = readTenantId(task.meta.tenant_id);
  const { webhooks, requests } = await rulesOf(task, { tenantId, egress });
  const addressed = { task, tenantId, rules: webhooks };
  await callbacks.check(addressed);
  const answer = await perform({
    tenantId,
    run: (agentTask) => run(agentTask, { signal, onEvent, logger, stream, fresh, egress, mcpServers }),
    rules: requests,
    signal,
    fresh: fresh === true,
  });
  return { addressed, answer };
}
