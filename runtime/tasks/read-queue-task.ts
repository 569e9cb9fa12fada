import { parseQueueTask, type QueueTask } from '../contracts/queue';
import type { AgentTask } from '../contracts/task';
import { RuntimeError } from '../errors/runtime-error';
import { newId } from '../util/clock';
import { isJsonObject } from '../util/json';
import { refuseExcess } from './read-task';

/** A task of any type, with ids made where it has none. Throws INPUT_INVALID that names the fields. */
export function readQueueTask(input: unknown): QueueTask {
  refuseExcess(input);
  const { task_id: taskId = newId(), trace_id: traceId = newId(), ...task } = parseQueueTask(input);
  return { ...task, task_id: taskId, trace_id: traceId };
}

/** Throws INPUT_INVALID for a task that `run` does not do: it gives the result of an agent. */
export function refuseOtherTypes(input: unknown): void {
  const type: unknown = isJsonObject(input) ? input.task_type : undefined;
  const own: AgentTask['task_type'] = 'ai_agent';
  if (type === undefined || type === null || type === own) return;
  throw new RuntimeError('INPUT_INVALID', { issues: `task_type is not valid (only ${own} is run here)` });
}
