import type { TaskAnswer } from '../../contracts/queue';
import type { AgentResult } from '../../contracts/result';
import type { TaskHandler, TaskPorts } from './task-handler';

/** `ai_agent`: the agent with its tools. The answer is its whole result. */
export function aiAgent({ checkModelTask }: TaskPorts): TaskHandler {
  return {
    check: (task) => checkModelTask(task),
    // Without the callback, which is not the run's to write.
    run: async ({ callback, priority, ...task }, { run }) => toAnswer(await run(task)),
  };
}

/** The whole result of a run in the words of a report. */
export function toAnswer(result: AgentResult): TaskAnswer {
  // A run's result is JSON, though its interfaces do not say so.
  return { ...result, tokens_used: result.tokens.total, error: null } as unknown as TaskAnswer;
}
