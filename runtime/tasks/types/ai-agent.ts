import type { TaskAnswer } from '../../contracts/queue';
import type { AgentResult } from '../../contracts/result';
import { readAgentTask } from '../read-task';
import type { TaskHandler } from './task-handler';

/** `ai_agent`: the agent with its tools. The answer is its whole result. */
// Without the callback, which is not the run's to write.
export const aiAgent: TaskHandler = ({ callback, priority, ...task }) => {
  const ready = readAgentTask(task);
  return async ({ run }) => toAnswer(await run(ready));
};

/** The whole result of a run in the words of a report. */
export function toAnswer(result: AgentResult): TaskAnswer {
  // A run's result is JSON, though its interfaces do not say so.
  return { ...result, tokens_used: result.tokens.total, error: null } as unknown as TaskAnswer;
}
