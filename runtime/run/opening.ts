import type { Message } from '../contracts/message';
import { openTranscript } from '../loop/transcript';
import type { PlannedRun } from './run';

/** Messages of the same conversation before that of the run. */
interface Before {
  readonly history?: readonly Message[];
  /** A summary of what came before the history. */
  readonly summary?: string;
}

/** The transcript that a run begins with. */
export function openingOf({ plan }: Pick<PlannedRun, 'plan'>, { history, summary }: Before = {}): readonly Message[] {
  const { system_prompt: systemPrompt, message, context } = plan.config;
  return openTranscript({
    systemPrompt,
    history: history && sendableTo(plan, history),
    summary,
    message,
    context,
    singleTool: plan.settings.toolExecution === 'single',
    instructions: [...(plan.format === undefined ? [] : [plan.format.instructions]), ...plan.instructions],
  });
}

/** Providers refuse calls of tools in a request that offers none. */
function sendableTo({ toolset, format }: PlannedRun['plan'], history: readonly Message[]): readonly Message[] {
  if (toolset.definitions.length > 0 || format !== undefined) return history;
  return history.filter((message) => message.role !== 'tool' && !('tool_calls' in message));
}
