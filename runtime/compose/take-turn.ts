import type { AgentResult } from '../contracts/result';
import type { RunOptions } from '../contracts/run';
import { RuntimeError } from '../errors/runtime-error';
import { isJsonObject, type JsonObject } from '../util/json';

/** Result of one step of a task, or of the whole task once it has ended. */
export interface TurnResult extends AgentResult {
  /** True when the model called tools, whose results it has not seen yet: another turn of the same task continues. */
  readonly requires_followup: boolean;
}

type Run = (task: unknown, options: RunOptions) => Promise<AgentResult>;

/**
 * Runs one step of a task; never `fresh`, which would begin the task again. Rejects like a run, and with INPUT_INVALID for a task
 * without an id, which nothing could continue.
 */
export async function takeTurn(run: Run, task: unknown, options?: RunOptions): Promise<TurnResult> {
  if (isJsonObject(task) && (task.task_id ?? undefined) === undefined && !isApproval(task)) {
    throw new RuntimeError('INPUT_INVALID', { issues: 'task_id is missing: the next turn continues the task by it' });
  }
  const result = await run(task, { ...options, fresh: false, pauses: true });
  return { ...result, requires_followup: result.requires_followup === true };
}

/** A decision names the run that it continues. */
function isApproval({ config }: JsonObject): boolean {
  return isJsonObject(config) && isJsonObject(config.approval);
}
