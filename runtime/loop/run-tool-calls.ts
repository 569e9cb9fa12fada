import type { Message, ToolCallMessage } from '../contracts/message';
import type { ExecutedToolCall } from '../contracts/outcome';
import type { ToolOutput } from '../contracts/tool';
import type { ErrorCode } from '../errors/codes';
import { describeError, type ErrorDetails } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { toolFailure } from '../errors/tool-failure';
import { untilAborted } from '../util/abort';
import { elapsedMs, monotonicMs } from '../util/clock';
import { isDeeperThan, MAX_JSON_DEPTH, type JsonValue } from '../util/json';
import { mapConcurrent } from '../util/map-concurrent';
import { redactJson, type Redact } from '../util/redact';
import type { LoopInput } from './loop-contract';
import type { PreparedToolCall } from './prepare-tool-call';
import type { Repeated } from './repeated-calls';
import type { RunState } from './run-state';
import { toolMessage } from './transcript';

export interface ToolCallResult extends ExecutedToolCall {
  readonly message: Message;
}

/**
 * Executes the calls that may run, at most `maxParallelToolCalls` at a time, and returns one result for each call
 * in the order the model asked. Never rejects: a failure is a result with isError.
 */
export async function runToolCalls(
  input: LoopInput,
  state: Pick<RunState, 'repeated'>,
  step: { readonly number: number; readonly calls: readonly PreparedToolCall[] },
): Promise<readonly ToolCallResult[]> {
  const { settings } = input;
  const limit = settings.toolExecution === 'parallel' ? settings.maxParallelToolCalls : 1;
  const run = async (prepared: PreparedToolCall): Promise<ToolOutput> => {
    if (prepared.kind !== 'run') return execute(input, prepared);
    const { call, tool, value } = prepared;
    const made = await state.repeated.make(tool.definition.name, value, () => execute(input, prepared));
    return made.kind === 'made' ? made.output : repeatedOutput(call, made);
  };
  return mapConcurrent(step.calls, limit, (call) => runOne(input, { number: step.number, run }, call));
}

async function runOne(
  input: LoopInput,
  { number: step, run }: { readonly number: number; readonly run: (call: PreparedToolCall) => Promise<ToolOutput> },
  prepared: PreparedToolCall,
): Promise<ToolCallResult> {
  // A name that the model made up may be anything.
  const tool = (input.redact ?? asItIs)(prepared.call.function.name);
  const toolCallId = prepared.call.id;
  const startedAt = monotonicMs();
  input.emit({ type: 'tool-call', step, tool, toolCallId });
  const { output, message } = toMessage(prepared, await run(prepared));
  const durationMs = elapsedMs(startedAt);
  const { isError, code } = output;
  const decision = prepared.kind === 'refused' ? 'deny' : 'allow';
  input.onToolCallEnd({ step, toolCallId, tool, input: prepared.input, decision, isError, code, durationMs });
  input.emit({ type: 'tool-result', step, tool, toolCallId, isError, durationMs });
  const report = {
    tool,
    arguments: prepared.input,
    ...(isError ? { error: output.value } : { result: output.value }),
    duration_ms: durationMs,
  };
  return { report, isError, code, message };
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
  const fail = (code: ErrorCode, details: ErrorDetails): ToolOutput => cleanFailure(input, toolFailure(code, details));
  if (prepared.kind === 'refused') return fail(prepared.code, prepared.details);
  if (prepared.kind === 'repeated') return repeatedOutput(prepared.call, prepared);
  const tool = prepared.call.function.name;
  const isStopped = (): boolean => input.signal.aborted;
  if (isStopped()) return fail('TOOL_CANCELLED', { tool });
  try {
    const context = {
      redact: input.redact,
      toolCallId: prepared.call.id,
      meta: input.meta,
      signal: input.signal,
      variables: input.variables,
      egress: input.egress,
    };
    // A tool that does not heed the signal must not keep the run past its end.
    return await untilAborted(prepared.tool.execute(prepared.value, context), input.signal);
  } catch (error) {
    if (isStopped()) return fail('TOOL_CANCELLED', { tool });
    return fail('TOOL_FAILED', { tool, reason: errorText(error) });
  }
}

const asItIs: Redact = (text) => text;

/** What a model wrote and what a plugin threw may be quoted in it. */
function cleanFailure({ redact }: LoopInput, failure: ReturnType<typeof toolFailure>): ToolOutput {
  return redact === undefined ? failure : { ...failure, value: redactJson(failure.value, redact) };
}

/** What the same call gave before, and a word that it was not made again. */
async function repeatedOutput(call: ToolCallMessage, { earlier, count }: Omit<Repeated, 'kind'>): Promise<ToolOutput> {
  const { code, message, hint } = describeError('TOOL_REPEATED', { tool: call.function.name, count });
  const { value } = await earlier;
  return { isError: false, code, value: { warning: { code, message, hint }, result: value } };
}
