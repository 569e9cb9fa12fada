import type { Message, ToolCallMessage } from '../contracts/message';
import type { FinishReason } from '../contracts/model';
import type { ExecutedToolCall } from '../contracts/outcome';
import type { ToolOutput } from '../contracts/tool';
import { errorText } from '../errors/to-runtime-error';
import { toolFailure } from '../errors/tool-failure';
import { untilAborted } from '../util/abort';
import { elapsedMs, monotonicMs } from '../util/clock';
import { isDeeperThan, MAX_JSON_DEPTH, type JsonValue } from '../util/json';
import { mapConcurrent } from '../util/map-concurrent';
import type { LoopInput } from './loop-contract';
import { prepareToolCall, type PreparedToolCall } from './prepare-tool-call';
import { toolMessage } from './transcript';

export interface ToolCallResult extends ExecutedToolCall {
  readonly message: Message;
}

/**
 * Prepares the calls in order, executes those that may run, at most `maxParallelToolCalls` at a time, and returns
 * one result for each call in the order the model asked. Never rejects: a failure is a result with isError.
 */
export async function runToolCalls(
  input: LoopInput,
  step: { readonly number: number; readonly calls: readonly ToolCallMessage[]; readonly finishReason: FinishReason },
): Promise<readonly ToolCallResult[]> {
  const { settings, toolset } = input;
  const prepared = step.calls.map((call, index) =>
    prepareToolCall(call, { toolset, finishReason: step.finishReason, index, limit: settings.maxToolCallsPerStep }),
  );
  const limit = settings.toolExecution === 'parallel' ? settings.maxParallelToolCalls : 1;
  return mapConcurrent(prepared, limit, (call) => runOne(input, step.number, call));
}

async function runOne(input: LoopInput, step: number, prepared: PreparedToolCall): Promise<ToolCallResult> {
  const tool = prepared.call.function.name;
  const toolCallId = prepared.call.id;
  const startedAt = monotonicMs();
  input.emit({ type: 'tool-call', step, tool, toolCallId });
  const { output, message } = toMessage(prepared, await execute(input, prepared));
  const durationMs = elapsedMs(startedAt);
  input.emit({ type: 'tool-result', step, tool, toolCallId, isError: output.isError, durationMs });
  const report = {
    tool,
    arguments: prepared.input,
    ...(output.isError ? { error: output.value } : { result: output.value }),
    duration_ms: durationMs,
  };
  return { report, isError: output.isError, code: output.code, message };
}

/** A plugin's output may be no JSON at all; the model is told so. */
function toMessage({ call }: PreparedToolCall, output: ToolOutput): { output: ToolOutput; message: Message } {
  const { id, function: fn } = call;
  try {
    const content: JsonValue = output.isError ? { error: output.value } : output.value;
    if (isDeeperThan(content, MAX_JSON_DEPTH)) throw new Error('its output is nested too deeply');
    return { output, message: toolMessage(id, content) };
  } catch (error) {
    const failure = toolFailure('TOOL_FAILED', { tool: fn.name, reason: errorText(error) });
    return { output: failure, message: toolMessage(id, { error: failure.value }) };
  }
}

async function execute(input: LoopInput, prepared: PreparedToolCall): Promise<ToolOutput> {
  if (prepared.kind === 'refused') return toolFailure(prepared.code, prepared.details);
  const tool = prepared.call.function.name;
  const isStopped = (): boolean => input.signal.aborted;
  if (isStopped()) return toolFailure('TOOL_CANCELLED', { tool });
  try {
    const context = {
      toolCallId: prepared.call.id,
      meta: input.meta,
      signal: input.signal,
      variables: input.variables,
      egress: input.egress,
    };
    // A tool that does not heed the signal must not keep the run past its end.
    return await untilAborted(prepared.tool.execute(prepared.value, context), input.signal);
  } catch (error) {
    if (isStopped()) return toolFailure('TOOL_CANCELLED', { tool });
    return toolFailure('TOOL_FAILED', { tool, reason: errorText(error) });
  }
}
