import type { ToolCallMessage } from '../contracts/message';
import type { CheckedFor } from '../contracts/tools/tool';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import type { ErrorCode } from '../errors/codes';
import { type ErrorDetails, RuntimeError } from '../errors/runtime-error';
import { canonicalJson } from '../util/json';
import { turn } from '../util/turn';
import { type AdmittedToolCall, admitToolCall } from './admit-tool-call';
import type { LoopInput, LoopSettings, Ruling, Rulings, RunnableCall } from './loop-contract';
import { mayRepeat } from './repeated-calls';
import { approvalOf, type OpenStep, type RunState } from './run-state';

/** A call that a person has to decide on. */
export type AskedCall = Pick<ToolCallRecord, 'id' | 'tool' | 'arguments'>;

/** The calls of one step, each decided on; nothing has run yet. */
interface ToolCallPlan {
  /** The first call that waits for a person. */
  readonly asked?: AskedCall;
  readonly calls: readonly AdmittedToolCall[];
  readonly runnable: readonly RunnableCall[];
  /** Their places in the step. */
  readonly places: readonly number[];
  /** Takes in what was decided in the last moment. */
  readonly apply: (rulings: Rulings) => Promise<void>;
}

/**
 * Decides on every call of a step: known tool, valid arguments, a person's decision where one is needed, the limits of
 * the run, and calls that only repeat themselves. Throws LOOP_DETECTED for one that was told so before.
 */
export async function prepareToolCalls(input: LoopInput, state: RunState, step: OpenStep): Promise<ToolCallPlan> {
  const prepared: AdmittedToolCall[] = [];
  for (const index of step.calls.keys()) {
    await turn();
    prepared.push(await prepare(input, step, index));
  }
  const asked = prepared.find((call) => waitsForApproval(call, state));
  if (asked !== undefined) {
    const { id, function: fn } = asked.call;
    const question = { id, tool: fn.name, arguments: asked.input };
    return { asked: question, calls: [], runnable: [], places: [], apply: ignore };
  }
  const calls: AdmittedToolCall[] = [];
  for (const [index, call] of prepared.entries()) {
    await turn();
    if (call.kind !== 'run' && step.sent.includes(index)) count(call, state);
    calls.push(withinRunLimits(call, input, state));
  }
  await turn();
  return {
    calls,
    runnable: calls.flatMap((call) =>
      call.kind === 'run' ? [{ toolCallId: call.call.id, tool: call.tool, input: call.value }] : [],
    ),
    places: calls.flatMap((call, index) => (call.kind === 'run' ? [index] : [])),
    apply: async (rulings) => {
      for (const [index, call] of calls.entries()) {
        const ruling = rulings.get(call.call.id);
        if (ruling !== undefined && call.kind === 'run') calls[index] = await rule(call, ruling, { input, state });
      }
    },
  };
}

/**
 * A call that an earlier run has made keeps its outcome. One that it may have made, and whose outcome is not on record, is
 * made again only where that does no harm.
 */
async function prepare(input: LoopInput, step: OpenStep, index: number): Promise<AdmittedToolCall> {
  const { toolset, settings, scope } = input;
  const { redact } = scope;
  const call = step.calls[index] as ToolCallMessage;
  const limit = settings.limits.maxToolCallsPerStep;
  const { finishReason } = step;
  const context = { toolset, finishReason, index, limit, redact, checkedFor: checkedFor(input) };
  const prepared = await admitToolCall(call, context);
  const outcome = Object.hasOwn(step.outcomes, call.id) ? step.outcomes[call.id] : undefined;
  if (outcome !== undefined) return { kind: 'known', call, input: prepared.input, record: outcome };
  if (!step.sent.includes(index)) return prepared;
  if (prepared.kind === 'run' && mayRepeat(prepared.tool, prepared.value)) return prepared;
  return refused(prepared, 'TOOL_OUTCOME_UNKNOWN');
}

function checkedFor({ scope: { meta }, stop: { signal } }: LoopInput): CheckedFor {
  return { tenantId: meta.tenant_id, signal };
}

async function ignore(): Promise<void> {
  // Nothing of the step will run.
}

function waitsForApproval(call: AdmittedToolCall, state: RunState): boolean {
  return call.kind === 'run' && call.tool.policy?.needsApproval === true && !isDecided(call, state);
}

/** An approval is for the arguments that were shown. Under rules that make others of them a person is asked again. */
function isDecided({ call, input }: AdmittedToolCall, state: RunState): boolean {
  const approval = approvalOf(call, state);
  if (approval?.decision === undefined) return false;
  return approval.decision === 'deny' || canonicalJson(approval.arguments) === canonicalJson(input);
}

type Runnable = AdmittedToolCall & { readonly kind: 'run' };

function refused(call: AdmittedToolCall, code: ErrorCode, details: ErrorDetails = {}): AdmittedToolCall {
  const tool = call.call.function.name;
  return { kind: 'refused', call: call.call, input: call.input, code, details: { tool, ...details } };
}

function withinRunLimits(call: AdmittedToolCall, { settings }: LoopInput, state: RunState): AdmittedToolCall {
  if (call.kind !== 'run') return call;
  const { name } = call.tool.definition;
  if (approvalOf(call.call, state)?.decision === 'deny') return refused(call, 'TOOL_APPROVAL_DENIED');
  const limit = reachedLimit(call, settings, state);
  if (limit !== undefined) return refused(call, 'TOOL_RUN_LIMIT', { limit });
  const repetition = state.calls.repeated.look(name, call.value);
  if (repetition.kind === 'stop') throw new RuntimeError('LOOP_DETECTED', { tool: name });
  if (repetition.kind === 'repeated') return { ...call, ...repetition };
  count(call, state);
  return call;
}

function count({ call }: AdmittedToolCall, { calls: { counts } }: RunState): void {
  const { name } = call.function;
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** The limit of the run that leaves no room for this call. */
function reachedLimit(
  { tool }: Runnable,
  { limits }: LoopSettings,
  { calls: { counts } }: RunState,
): number | undefined {
  const ofTool = Math.min(tool.policy?.callsPerRun ?? Infinity, limits.maxCallsPerTool ?? Infinity);
  if ((counts.get(tool.definition.name) ?? 0) >= ofTool) return ofTool;
  const { maxToolCalls = Infinity } = limits;
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return total >= maxToolCalls ? maxToolCalls : undefined;
}

async function rule(
  call: Runnable,
  ruling: Ruling,
  { input, state }: { readonly input: LoopInput; readonly state: RunState },
): Promise<AdmittedToolCall> {
  if (ruling.kind === 'deny') return refused(call, ruling.code, ruling.details);
  const { tool } = ruling;
  const used = state.calls.counts.get(tool.definition.name) ?? 0;
  const limit = tool.policy?.callsPerRun ?? Infinity;
  if (used > limit) {
    state.calls.counts.set(tool.definition.name, used - 1);
    return refused(call, 'TOOL_RUN_LIMIT', { limit });
  }
  const parsed = await tool.parseInput(call.value, checkedFor(input));
  if (!parsed.ok) {
    return refused(call, parsed.code ?? 'TOOL_INVALID_ARGS', { issues: parsed.issues, reason: parsed.issues });
  }
  const now: Runnable = { ...call, tool, input: parsed.value, value: parsed.value };
  if (!waitsForApproval(now, state)) return now;
  return refused(call, 'TOOL_PERMISSION_DENIED', { reason: "it now needs a person's approval" });
}
