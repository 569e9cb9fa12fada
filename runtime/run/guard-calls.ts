import { addSpent, assertRunBudget } from '../billing/budget';
import type { UsageMeter } from '../billing/usage-meter';
import type { Recorded, Reservation } from '../contracts/ledger';
import type { EarlierRun, Spent } from '../contracts/outcome';
import type { Toolset } from '../contracts/tool';
import { isRuntimeError } from '../errors/runtime-error';
import type { RunRecord } from '../ledger/run-record';
import type { LoopInput, Ruling, Rulings, RunnableCall } from '../loop/loop-contract';
import { limitReached, limitsOfCall } from '../permissions/call-limits';
import type { RunPlan } from './plan-run';
import { firstReservation, nextReservation } from './reserve';

interface GuardOptions {
  readonly plan: RunPlan;
  readonly record: RunRecord;
  readonly meter: UsageMeter;
  readonly signal: AbortSignal;
  /** Set for a run that goes on with what another has done. */
  readonly before?: EarlierRun;
  /** The tools under the tenant's rules of this moment. */
  readonly chooseAgain: () => Promise<Toolset>;
}

/**
 * What happens between a model call and what follows it, in one statement: its usage is written, room for the next one
 * reserved, and each tool call taken off its limits. Rules that have changed since the run began hold from here on.
 */
export function guardCalls(options: GuardOptions): LoopInput['beforeNext'] {
  const { plan, record, meter, signal, before, chooseAgain } = options;
  let toolset = plan.toolset;
  let version = plan.snapshot.policyVersion;
  return async ({ callNo, calls, step: opened }) => {
    const spent = spentSoFar(meter, before);
    if (callNo !== undefined) assertRunBudget(plan.budget, () => spent);
    const reserve = callNo === undefined ? undefined : reserveNext(options, calls.length);
    // Limits that were narrowed since the run began are counted too.
    const taking = calls.map(({ toolCallId, tool }) =>
      limitsOfCall({ toolCallId, tool: toolset.find(tool.definition.name) ?? tool }, plan.snapshot),
    );
    const step = opened && { ...opened, spent };
    const recorded = await record.next({ callNo, taking, reserve, step }, signal);
    // Nothing was to be sent.
    if (recorded === undefined) return new Map();
    if (version !== undefined && recorded.policyVersion !== undefined && recorded.policyVersion !== version) {
      const chosen = await chooseAgain().catch(onlyUnreachable);
      if (chosen === undefined) return denyAll(calls);
      toolset = chosen;
      version = recorded.policyVersion;
    }
    return rulingsFor(calls, recorded, toolset === plan.toolset ? undefined : toolset);
  };
}

/** By all runs of the task that this one goes on from, and by itself. */
export function spentSoFar(meter: UsageMeter, before: EarlierRun | undefined): Spent {
  const { costUsd, usage } = meter.totals();
  const own = { costUsd, tokens: usage.promptTokens + usage.completionTokens };
  return before === undefined ? own : addSpent(before.spent, own);
}

/** A run that goes on has made no call yet from which the length of its transcript could be told. */
function reserveNext({ plan, meter, before }: GuardOptions, toolCalls: number): Reservation | undefined {
  const last = meter.lastUsage();
  return last === undefined
    ? firstReservation(plan, before?.resume.messages ?? [], toolCalls)
    : nextReservation(plan, last, toolCalls);
}

/** What the tenant must mend ends the run; what may pass only keeps these calls from being made. */
function onlyUnreachable(error: unknown): undefined {
  if (isRuntimeError(error) && error.category === 'tenant') throw error;
  return undefined;
}

function denyAll(calls: readonly RunnableCall[]): Rulings {
  return new Map(
    calls.map(({ toolCallId, tool }): [string, Ruling] => [
      toolCallId,
      { kind: 'deny', code: 'TOOL_NOT_AUTHORIZED', details: { tool: tool.definition.name } },
    ]),
  );
}

function rulingsFor(calls: readonly RunnableCall[], { refused = [] }: Recorded, changed: Toolset | undefined): Rulings {
  const rulings = new Map<string, Ruling>();
  for (const { toolCallId, tool } of calls) {
    const { name } = tool.definition;
    const refusal = refused.find((call) => call.toolCallId === toolCallId);
    const now = changed?.find(name);
    if (changed !== undefined && now === undefined) rulings.set(toolCallId, revoked(name));
    else if (refusal !== undefined) rulings.set(toolCallId, { kind: 'deny', ...limitReached(name, refusal.reason) });
    else if (now !== undefined) rulings.set(toolCallId, { kind: 'changed', tool: now });
  }
  return rulings;
}

function revoked(tool: string): Ruling {
  return { kind: 'deny', code: 'TOOL_PERMISSION_DENIED', details: { tool, reason: 'it was taken away a moment ago' } };
}
