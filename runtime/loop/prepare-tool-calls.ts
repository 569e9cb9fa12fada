import type { Approval } from '../contracts/ledger/journal';
import type { ToolCallMessage } from '../contracts/message';
import type { CheckedFor, Tool } from '../contracts/tools/tool';
import type { ErrorCode } from '../errors/codes';
import { type ErrorDetails, RuntimeError } from '../errors/runtime-error';
import { canonicalJson } from '../util/json';
import { turn } from '../util/turn';
import { type AdmittedToolCall, admitToolCall, checkArguments, type RunnableCall } from './admit-tool-call';
import type { LoopInput, NextCalls, Ruling } from './loop-contract';
import { mayRepeat } from './repeated-calls';
import { approvalOf, type OpenStep, type RunState } from './run-state';

/**
 * Decides on every call of a step: known tool, valid arguments, a person's decision where one is needed, the limits of
 * the run, and calls that only repeat themselves. Nothing has run yet. `asked` is the first call that waits for a person:
 * then nothing of the step will run. Throws LOOP_DETECTED for a call that was told before that it repeats itself.
 */
export async function prepareToolCalls(
  input: LoopInput,
  state: RunState,
  step: OpenStep,
): Promise<{ readonly calls: readonly AdmittedToolCall[]; readonly asked?: RunnableCall }> {
  const prepared: AdmittedToolCall[] = [];
  for (const index of step.calls.keys()) {
    await turn();
    prepared.push(await prepare(input, step, { index, state }));
  }
  const asked = prepared.filter(isRunnable).find((call) => waitsForApproval(call, state));
  if (asked !== undefined) return { calls: [], asked };
  const calls: AdmittedToolCall[] = [];
  for (const [index, call] of prepared.entries()) {
    await turn();
    if (call.kind !== 'run' && step.sent.includes(index)) count(call, state);
    calls.push(withinRunLimits(call, input, state));
  }
  await turn();
  return { calls };
}

/** Asks for the last word on the calls of a step, and for room for the model call after them. Rejects when the run must end. */
export async function ruleToolCalls(
  input: LoopInput,
  state: RunState,
  step: {
    readonly calls: readonly AdmittedToolCall[];
    readonly written: Required<NextCalls>['step'];
    /** No model call follows. */
    readonly isLast: boolean;
  },
): Promise<readonly AdmittedToolCall[]> {
  const { calls, written, isLast } = step;
  const runnable = calls.filter(isRunnable);
  if (isLast && runnable.length === 0) return calls;
  const sending = calls.flatMap((call, index) => (isRunnable(call) ? [index] : []));
  const rulings = await input.observer.beforeToolCalls({
    next: isLast ? undefined : written.step + 1,
    calls: runnable,
    step: { ...written, sending },
  });
  const ruled: AdmittedToolCall[] = [];
  for (const call of calls) {
    const ruling = rulings.get(call.call.id);
    ruled.push(ruling !== undefined && isRunnable(call) ? await follow(ruling, call, { input, state }) : call);
  }
  return ruled;
}

async function follow(
  ruling: Ruling,
  call: RunnableCall,
  { input, state }: { readonly input: LoopInput; readonly state: RunState },
): Promise<AdmittedToolCall> {
  // It was let through before, and the run that works for it is judged by itself.
  if (call.isTaken === true) return call;
  if (ruling.kind === 'deny') return refuse(call, ruling.code, ruling.details);
  const { tool } = ruling;
  const { counts } = state.calls;
  const used = counts.get(tool.definition.name) ?? 0;
  const limit = tool.policy?.callsPerRun ?? Infinity;
  if (used > limit) {
    counts.set(tool.definition.name, used - 1);
    return refuse(call, 'TOOL_RUN_LIMIT', { limit });
  }
  const parsed = await checkArguments(tool, call.value, checkedFor(input));
  if (!parsed.ok) {
    return refuse(call, parsed.code ?? 'TOOL_INVALID_ARGS', { issues: parsed.issues, reason: parsed.issues });
  }
  const now: RunnableCall = { ...call, tool, input: parsed.value, value: parsed.value };
  if (!waitsForApproval(now, state)) return now;
  return refuse(call, 'TOOL_PERMISSION_DENIED', { reason: "it now needs a person's approval" });
}

/**
 * A call that an earlier run has made keeps its outcome. One that it may have made, and whose outcome is not on record, is
 * made again only where that does no harm.
 */
async function prepare(
  input: LoopInput,
  step: OpenStep,
  { index, state }: { readonly index: number; readonly state: RunState },
): Promise<AdmittedToolCall> {
  const { redact } = input.scope;
  const call = step.calls[index] as ToolCallMessage;
  const limit = input.settings.limits.maxToolCallsPerStep;
  const { finishReason } = step;
  const variables = step.variables ?? input.scope.variables;
  const { toolset } = state.asks;
  // A call that a run begins with was filled by the run that asked for it.
  const isFilled = step.step === 0;
  const context = { toolset, finishReason, index, limit, redact, variables, isFilled, checkedFor: checkedFor(input) };
  const prepared = await admitToolCall(call, context);
  const outcome = Object.hasOwn(step.outcomes, call.id) ? step.outcomes[call.id] : undefined;
  if (outcome !== undefined) return { kind: 'known', call, input: prepared.input, record: outcome };
  const taken = goneOnWith(prepared, state);
  if (taken !== undefined) return taken;
  if (!step.sent.includes(index)) return prepared;
  if (isRunnable(prepared) && mayRepeat(prepared.tool, prepared.value)) return prepared;
  return refuse(prepared, 'TOOL_OUTCOME_UNKNOWN');
}

/**
 * The call where another run works for it, and knows what it has done. Where its tool cannot be called any more, nothing of it is.
 * Throws APPROVAL_CALL_BLOCKED if that is what a person has allowed.
 */
function goneOnWith(call: AdmittedToolCall, state: RunState): AdmittedToolCall | undefined {
  const approval = approvalOf(call.call, state);
  if (approval?.below === undefined) return undefined;
  if (isRunnable(call) && isOf(call.tool, approval)) return { ...call, isTaken: true };
  const { decision } = approval.below;
  const reason = blockedBy(call);
  if (decision === 'approve')
    throw new RuntimeError('APPROVAL_CALL_BLOCKED', { tool: call.call.function.name, reason });
  return decision === 'deny'
    ? refuse(call, 'TOOL_APPROVAL_DENIED')
    : refuse(call, 'TOOL_PERMISSION_DENIED', { reason });
}

function blockedBy(call: AdmittedToolCall): string {
  if (call.kind !== 'refused') return 'another tool has its name now';
  const { code, details } = call;
  return code === 'TOOL_NOT_FOUND'
    ? 'the run has no such tool any more'
    : `it is refused now (${String(details.issues ?? code)})`;
}

function checkedFor({ scope: { meta }, stop: { signal } }: LoopInput): CheckedFor & { readonly signal: AbortSignal } {
  return { tenantId: meta.tenant_id, signal };
}

function isRunnable(call: AdmittedToolCall): call is RunnableCall {
  return call.kind === 'run';
}

/** One that is gone on with was let through before. */
function waitsForApproval(call: RunnableCall, state: RunState): boolean {
  return call.isTaken !== true && call.tool.policy?.needsApproval === true && !isDecided(call, state);
}

/** An approval is for the tool and the arguments that were shown. Under rules that make others of them a person is asked again. */
function isDecided({ call, input, tool }: RunnableCall, state: RunState): boolean {
  const approval = approvalOf(call, state);
  if (approval?.decision === undefined) return false;
  if (approval.decision === 'deny') return true;
  return isOf(tool, approval) && canonicalJson(approval.arguments) === canonicalJson(input);
}

function isOf(tool: Tool, { origin }: Approval): boolean {
  return origin === undefined || origin === tool.origin;
}

function refuse(
  { call, input, warnings }: AdmittedToolCall,
  code: ErrorCode,
  details: ErrorDetails = {},
): AdmittedToolCall {
  return { kind: 'refused', call, input, warnings, code, details: { tool: call.function.name, ...details } };
}

function withinRunLimits(call: AdmittedToolCall, input: LoopInput, state: RunState): AdmittedToolCall {
  if (!isRunnable(call)) return call;
  const { name } = call.tool.definition;
  if (approvalOf(call.call, state)?.decision === 'deny') return refuse(call, 'TOOL_APPROVAL_DENIED');
  if (call.isTaken === true) {
    count(call, state);
    return call;
  }
  const limit = reachedLimit(call, input, state);
  if (limit !== undefined) return refuse(call, 'TOOL_RUN_LIMIT', { limit });
  if (call.tool.isUncounted === true) {
    count(call, state);
    return call;
  }
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
  { tool }: RunnableCall,
  { settings: { limits }, toolset }: LoopInput,
  { calls: { counts } }: RunState,
): number | undefined {
  const { maxToolCalls = Infinity, maxCallsPerTool = Infinity } = tool.isUncounted === true ? {} : limits;
  const ofTool = Math.min(tool.policy?.callsPerRun ?? Infinity, maxCallsPerTool);
  if ((counts.get(tool.definition.name) ?? 0) >= ofTool) return ofTool;
  const total = [...counts].reduce((sum, [name, of]) => sum + (toolset.find(name)?.isUncounted === true ? 0 : of), 0);
  return total >= maxToolCalls ? maxToolCalls : undefined;
}
