import { parseQueueTask, type QueueTask } from '../contracts/queue';
import type { AgentTask } from '../contracts/task';
import { RuntimeError } from '../errors/runtime-error';
import { newId } from '../util/clock';
import { isDeeperThan, isJsonObject, MAX_JSON_DEPTH } from '../util/json';

/** A task of any type, with ids made where it has none. Throws INPUT_INVALID that names the fields. */
export function readQueueTask(input: unknown): QueueTask {
  const { task_id: taskId = newId(), trace_id: traceId = newId(), ...task } = parseQueueTask(input);
  for (const [name, value] of Object.entries({ config: task.config, meta: task.meta })) {
    if (!isDeeperThan(value, MAX_JSON_DEPTH)) continue;
    throw new RuntimeError('INPUT_INVALID', { issues: `${name} is nested deeper than ${MAX_JSON_DEPTH} levels` });
  }
  return { ...task, task_id: taskId, trace_id: traceId };
}

/** Throws INPUT_INVALID for a task that `run` does not do: it gives the result of an agent. */
export function refuseOtherTypes(input: unknown): void {
  const type: unknown = isJsonObject(input) ? input.task_type : undefined;
  const own: AgentTask['task_type'] = 'ai_agent';
  if (type === undefined || type === null || type === own) return;
  throw new RuntimeError('INPUT_INVALID', { issues: `task_type is not valid (only ${own} is run here)` });
}
