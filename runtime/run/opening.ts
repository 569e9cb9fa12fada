import type { Message } from '../contracts/message';
import { openTranscript } from '../loop/transcript';
import type { PlannedRun } from './run';

/** What was said before in the same conversation. */
interface Before {
  readonly history?: readonly Message[];
  /** A summary of what came before the history. */
  readonly summary?: string;
}

/** The transcript that a run begins with. */
export function openingOf({ plan }: Pick<PlannedRun, 'plan'>, before: Before = {}): readonly Message[] {
  const { system_prompt: systemPrompt, message, context } = plan.config;
  return openTranscript({
    systemPrompt,
    ...before,
    message,
    context,
    singleTool: plan.settings.toolExecution === 'single',
    instructions: [...(plan.format === undefined ? [] : [plan.format.instructions]), ...plan.instructions],
  });
}
