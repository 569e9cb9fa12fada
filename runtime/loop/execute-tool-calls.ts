import type { Message, ToolCallMessage } from '../contracts/message';
import type { Decision } from '../contracts/tools/permission';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import type { ToolOutput } from '../contracts/tools/tool-shapes';
import type { ErrorCode } from '../errors/codes';
import { describeError, type ErrorDetails } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { toolFailure } from '../errors/tool-failure';
import { untilAborted } from '../util/abort';
import { elapsedMs, monotonicMs } from '../util/clock';
import { isDeeperThan, type JsonValue, MAX_JSON_DEPTH } from '../util/json';
import { mapConcurrent } from '../util/map-concurrent';
import { redactJson, redactNothing } from '../util/redaction/redact';
import { turn } from '../util/turn';
import type { AdmittedToolCall, RunnableCall } from './admit-tool-call';
import type { LoopInput, RunBelow } from './loop-contract';
import { mayRepeat, type Repeated } from './repeated-calls';
import { approvalOf, type RunState } from './run-state';
import { outcomeMessage, toolMessage } from './transcript';

/** Results of the calls of a step, each with its message to the model. */
export type EndedToolCalls = readonly { readonly record: ToolCallRecord; readonly message: Message }[];

/** A call that has no outcome yet. */
export interface OpenToolCall {
  readonly id: string;
  readonly input: JsonValue;
  /** Origin of the tool that was called. */
  readonly origin?: string;
  readonly below: RunBelow;
}

/**
 * Executes the calls that may run, at most `maxParallelToolCalls` at a time, and returns one result for each call
 * in the order the model asked; `open` are those that have none yet. Never rejects: a failure is a result with isError.
 */
export async function executeToolCalls(
  input: LoopInput,
  state: Pick<RunState, 'calls' | 'approvals'>,
  { step, calls }: { readonly step: number; readonly calls: readonly AdmittedToolCall[] },
): Promise<{ readonly ended: EndedToolCalls; readonly open: readonly OpenToolCall[] }> {
  const { settings } = input;
  const limit = settings.toolExecution === 'parallel' ? settings.limits.maxParallelToolCalls : 1;
  const run = async (prepared: Undone): Promise<ToolOutput> => {
    if (prepared.kind !== 'run') return notRun(input, prepared);
    const { call, tool, value, isTaken } = prepared;
    // It is no repetition of what its likes have given meanwhile.
    if (isTaken === true || tool.isUncounted === true) return execute(input, state, prepared);
    const { repeated } = state.calls;
    const made = await repeated.make(tool.definition.name, value, () => execute(input, state, prepared));
    return made.kind === 'made' ? made.output : repeatedOutput(call, made);
  };
  let isWaiting = false;
  const end = async (call: AdmittedToolCall): Promise<EndedToolCalls[number] | OpenToolCall | undefined> => {
    await turn();
    if (call.kind === 'known') return { record: call.record, message: outcomeMessage(call.record) };
    // In sequence, nothing overtakes a call that waits.
    if (limit === 1 && isWaiting) return undefined;
    const one = await runOne(input, { step, run, decidedBy: deciderOf(call, state) }, call);
    if ('below' in one) isWaiting = true;
    return one;
  };
  const all = (await mapConcurrent(calls, limit, end)).filter((one) => one !== undefined);
  return { ended: all.filter((one) => 'record' in one), open: all.filter((one) => 'below' in one) };
}

type Undone = Exclude<AdmittedToolCall, { kind: 'known' }>;

interface Doing {
  readonly step: number;
  readonly run: (call: Undone) => Promise<ToolOutput>;
  readonly decidedBy?: string;
}

async function runOne(
  input: LoopInput,
  { step, run, decidedBy }: Doing,
  prepared: Undone,
): Promise<EndedToolCalls[number] | OpenToolCall> {
  // A name that the model made up may be anything.
  const tool = (input.scope.redact ?? redactNothing)(prepared.call.function.name);
  const { id } = prepared.call;
  const startedAt = monotonicMs();
  const wasSent = !input.stop.signal.aborted;
  input.emit({ type: 'tool-call', step, tool, toolCallId: id });
  const given = await run(prepared);
  const called = prepared.kind === 'run' ? prepared.tool : undefined;
  const { open: below, runs } = input.observer.below?.(id, called) ?? {};
  if (below !== undefined) return { id, input: prepared.input, origin: called?.origin, below };
  const { output, message } = toMessage(prepared, given);
  const record: ToolCallRecord = {
    step,
    id,
    tool,
    arguments: prepared.input,
    decision: decisionOn(prepared),
    ...(decidedBy === undefined ? {} : { decidedBy }),
    isRepeatable: prepared.kind !== 'run' || mayRepeat(prepared.tool, prepared.value),
    wasSent,
    durationMs: elapsedMs(startedAt),
    ...(runs && { runs }),
    outcome: withWarnings(output, prepared),
  };
  input.observer.toolCallEnded(record);
  const { durationMs } = record;
  const { isError, code } = output;
  input.emit({ type: 'tool-result', step, tool, toolCallId: id, isError, code, durationMs });
  return { record, message };
}

function withWarnings(output: ToolOutput, { warnings = [] }: Undone): ToolOutput {
  return warnings.length === 0 ? output : { ...output, warnings: [...(output.warnings ?? []), ...warnings] };
}

/** Returns who decided on the call; undefined if current rules refused it despite an approval. */
function deciderOf(prepared: Undone, state: Pick<RunState, 'approvals'>): string | undefined {
  const approval = approvalOf(prepared.call, state);
  if (prepared.kind !== 'refused') return approval?.decidedBy;
  return prepared.code === 'TOOL_APPROVAL_DENIED' ? (approval?.decidedBy ?? approval?.below?.decidedBy) : undefined;
}

/** What was decided; a call whose outcome is unknown was allowed by an earlier run. */
function decisionOn(prepared: Undone): Decision {
  return prepared.kind === 'refused' && prepared.code !== 'TOOL_OUTCOME_UNKNOWN' ? 'deny' : 'allow';
}

/** A plugin's output may be no JSON at all; the model is told so. */
function toMessage({ call }: Undone, output: ToolOutput): { output: ToolOutput; message: Message } {
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

async function notRun(input: LoopInput, prepared: Exclude<Undone, RunnableCall>): Promise<ToolOutput> {
  if (prepared.kind === 'repeated') return repeatedOutput(prepared.call, prepared);
  return cleanFailure(input, toolFailure(prepared.code, prepared.details));
}

async function execute(
  input: LoopInput,
  { calls: { repeated } }: Pick<RunState, 'calls'>,
  prepared: RunnableCall,
): Promise<ToolOutput> {
  const fail = (code: ErrorCode, details: ErrorDetails): ToolOutput => cleanFailure(input, toolFailure(code, details));
  const tool = prepared.call.function.name;
  const isStopped = (): boolean => input.stop.signal.aborted;
  if (isStopped()) return fail('TOOL_CANCELLED', { tool });
  try {
    const context = { ...input.scope, toolCallId: prepared.call.id, signal: input.stop.signal };
    // A tool that does not heed the signal must not keep the run past its end.
    const output = await untilAborted(prepared.tool.execute(prepared.value, context), input.stop.signal);
    // It has given no answer that another one could repeat.
    if (input.observer.below?.(prepared.call.id, prepared.tool).open !== undefined)
      repeated.forget(tool, prepared.value);
    return output;
  } catch (error) {
    if (isStopped()) return fail('TOOL_CANCELLED', { tool });
    return fail('TOOL_FAILED', { tool, reason: errorText(error) });
  }
}

/** What a model wrote and what a plugin threw may be quoted in it. */
function cleanFailure({ scope: { redact } }: LoopInput, failure: ReturnType<typeof toolFailure>): ToolOutput {
  return redact === undefined ? failure : { ...failure, value: redactJson(failure.value, redact) };
}

/** What the same call gave before, and a word that it was not made again. */
async function repeatedOutput(call: ToolCallMessage, { earlier, count }: Omit<Repeated, 'kind'>): Promise<ToolOutput> {
  const { code, message, hint } = describeError('TOOL_REPEATED', { tool: call.function.name, count });
  const { value } = await earlier;
  return { isError: false, code, value: { warning: { code, message, hint }, result: value } };
}
