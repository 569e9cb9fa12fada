import type { OutputFormat, ParsedOutput } from '../contracts/connected';
import type { AssistantMessage, Message } from '../contracts/message';
import type { ToolChoice } from '../contracts/model';
import type { CheckedFor, ToolDefinition, Toolset } from '../contracts/tools/tool';
import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { untilAborted } from '../util/abort';
import { clipText } from '../util/text/clip-text';

const MAX_ISSUES_BYTES = 1000;

/** The tools that a model is shown: those of the run, and the one that takes the answer. */
export function offeredTools({ definitions }: Toolset, format: OutputFormat | undefined): readonly ToolDefinition[] {
  if (format === undefined) return definitions;
  return [...definitions.filter(({ name }) => name !== format.tool.name), format.tool];
}

/** A model that must not call tools may still give its answer through the one that takes it. */
export function toolsOfCall(
  tools: readonly ToolDefinition[],
  toolChoice: ToolChoice,
  format: OutputFormat | undefined,
): { readonly tools: readonly ToolDefinition[]; readonly toolChoice: ToolChoice } {
  return toolChoice === 'none' && format !== undefined
    ? { tools: [format.tool], toolChoice: 'auto' }
    : { tools, toolChoice };
}

/** A reply whose call is the answer, as a message with that answer: what else it asked for is not done any more. */
export function takeAnswer(
  message: AssistantMessage,
  format: OutputFormat | undefined,
): { readonly message: AssistantMessage; readonly given?: string } {
  const call = message.tool_calls?.find(({ function: { name } }) => name === format?.tool.name);
  if (call === undefined) return { message };
  const given = call.function.arguments;
  return { message: { role: 'assistant', content: given }, given };
}

/** Rejects only when the signal aborts. */
export async function readAnswer(
  format: OutputFormat,
  answer: Parameters<OutputFormat['parse']>[0],
  checkedFor: CheckedFor & { readonly signal: AbortSignal },
): Promise<ParsedOutput> {
  const { signal } = checkedFor;
  try {
    const parsed = await untilAborted(format.parse(answer, checkedFor), signal);
    return parsed.ok ? parsed : refused(parsed.issues);
  } catch (error) {
    if (signal.aborted) throw error;
    return refused(errorText(error));
  }
}

function refused(issues: string): ParsedOutput {
  return { ok: false, issues: clipText(issues, MAX_ISSUES_BYTES).text };
}

/** Asks once more for an answer that was not of the required form. */
export function repairRequest(issues = 'it cannot be read'): Message {
  return {
    role: 'user',
    content: `Your answer does not have the required format: ${issues}\n\nGive the whole answer again, in the required format.`,
  };
}

export function outputInvalid(issues = 'there is no answer'): RuntimeError {
  return new RuntimeError('OUTPUT_INVALID', { issues });
}
