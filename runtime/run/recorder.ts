import { addSpent, assertRunBudget } from '../billing/budget';
import { estimateUsage } from '../billing/estimate-usage';
import { createUsageMeter, type EndedCall, type UsageMeter } from '../billing/usage-meter';
import { DEFAULTS } from '../config/runtime-config';
import type { Spent, Step, ToolCallEntry } from '../contracts/ledger/journal';
import type { BillingLine, OpenCall, Reservation, RunEnd } from '../contracts/ledger/ledger';
import type { ModelCallRecord, Usage } from '../contracts/ledger/usage';
import { auditLine } from '../ledger/audit-line';
import { identityOf } from '../ledger/identity';
import { startRunRecord } from '../ledger/run-record';
import type { LoopObserver, SettledModelCall } from '../loop/loop-contract';
import { transcriptOf } from '../loop/run-state';
import { LOAD_SKILL } from '../toolsets/skill-source';
import type { JsonValue } from '../util/json';
import { createNarrowing } from './narrow-tools';
import { firstReservation, nextReservation } from './reserve';
import { followRules } from './rulings';
import type { ClaimedRun, RunEnvironment, RunPlan } from './run';

/** Puts on record what a run does, and answers for the tenant's budget and rules. */
export interface Recorder extends LoopObserver {
  readonly meter: UsageMeter;
  readonly settle: (end: RunEnd) => Promise<void>;
}

/**
 * Between a model call and what follows it there is one statement: it writes the usage, reserves room for the next call and
 * takes each tool call off its limits. Must be settled, or its lease goes on.
 */
export function startRecorder(environment: RunEnvironment, run: ClaimedRun): Recorder {
  const { plan } = run;
  const options = recordOptions(environment, run);
  const changedVariables = changesOf(run);
  const { meter, lost, ...modelCalls } = followModelCalls(run);
  const spent = (): Spent => spentSoFar(meter, run);
  const written = (step: Omit<Step, 'spent'>): Step => ({ ...step, spent: spent(), ...agentOf(step, plan) });
  const roomFor = (calls: number): Reservation | undefined => reserveNext(run, meter, calls);
  const rules = followRules(run);
  const record = startRunRecord(options);
  return {
    meter,
    prepareStep: prepareStepOf(run),
    settle: (end) => record.settle(end, lost()),
    modelCallEnded: async (call) => {
      const { ended, usage } = await modelCalls.ended(call);
      if (ended !== undefined) record.keep(ended);
      return usage;
    },
    modelSettledLate: async (call) => {
      const ended = await modelCalls.late(call);
      if (ended !== undefined) await record.addLate(ended);
    },
    stepOpened: (step) => record.journal(written(step)),
    beforeToolCalls: async ({ next, calls, step }) => {
      if (next !== undefined) assertRunBudget(plan.budget, spent);
      const reserve = next === undefined ? undefined : roomFor(calls.length);
      const taking = rules.limitsOf(calls);
      const write = { next, taking, reserve, step: step && written(step) };
      const recorded = await record.next(write, run.deadline.signal);
      // Where it could not be written nothing was to be sent.
      return recorded === undefined ? new Map() : rules.judge(calls, recorded);
    },
    toolCallEnded: (call) => {
      const { id, outcome, wasSent, isRepeatable } = call;
      record.audit(auditLine(call, run.redact));
      if (outcome === undefined) return;
      if (!wasSent) record.withdraw(id);
      // What became of one that was cancelled on its way nobody knows, and the next run is told so.
      else if (outcome.code !== 'TOOL_CANCELLED') {
        record.journal({ ...call, ...changedVariables() }, !isRepeatable);
      }
    },
  };
}

/** Undefined for a run that neither ends here nor can load a skill. */
function prepareStepOf({ plan: { toolset }, earlier, refusal }: ClaimedRun): Recorder['prepareStep'] {
  if (refusal !== undefined) return () => Promise.reject(refusal);
  if (earlier === undefined && toolset.find(LOAD_SKILL)?.loadsSkills !== true) return undefined;
  const toolsOf = createNarrowing(toolset);
  return ({ steps }) => ({ toolset: toolsOf(steps) });
}

/** Returns the agent for the entry of the first step. */
function agentOf({ step }: Pick<Step, 'step'>, { agent }: RunPlan): Pick<Step, 'agent'> {
  return step === 1 && agent !== undefined ? { agent } : {};
}

interface ModelCalls extends Pick<Recorder, 'meter'> {
  /** Returns what is known of the use of a call: undefined where that is nothing. */
  readonly ended: (call: SettledModelCall) => Promise<{ ended?: ModelCallRecord; usage?: Usage }>;
  readonly late: (call: SettledModelCall) => Promise<ModelCallRecord | undefined>;
  /** Returns the call that ended the run, if nobody knows what it has used. */
  readonly lost: () => OpenCall | undefined;
}

function followModelCalls({ plan, tenant }: ClaimedRun): ModelCalls {
  const { modelId } = plan.selected;
  const meterOf = { modelId, prices: tenant.prices };
  const meter = createUsageMeter(meterOf);
  let lost: OpenCall | undefined;
  return {
    meter,
    lost: () => lost,
    ended: async (call) => {
      const known = await withEstimates(call);
      const { errorCode, step, attempts } = known;
      const ended = meter.add(known);
      const unansweredRequests = attempts.sent - attempts.answered;
      if (ended === undefined) lost = { step, modelRequested: modelId, unansweredRequests, errorCode };
      return { ended, usage: known.reply?.usage };
    },
    late: async (call) =>
      lost?.step === call.step
        ? createUsageMeter(meterOf).add({ ...(await withEstimates(call)), errorCode: lost.errorCode })
        : undefined,
  };
}

/** Estimates the usage of replies that report none. Copies the attempts: a model that ignores the signal may still change them. */
async function withEstimates({ step, request, reply, error }: SettledModelCall): Promise<EndedCall> {
  const { sent, answered, wasted = [] } = request.attempts;
  const attempts = { sent, answered, wasted: [...wasted] };
  const [known] = reply === undefined ? [] : await estimateUsage([reply], request);
  attempts.wasted = [...(await estimateUsage(attempts.wasted, request))];
  return { step, attempts, reply: known, errorCode: error?.code };
}

function reserveNext(run: ClaimedRun, meter: UsageMeter, toolCalls: number): Reservation | undefined {
  const last = meter.lastUsage();
  if (last !== undefined) return nextReservation(run, last, toolCalls);
  // A run that goes on has made no call yet from which the length of its transcript could be told.
  return firstReservation(run, run.earlier === undefined ? [] : transcriptOf(run.earlier), toolCalls);
}

function recordOptions(
  { ledger, outbox, leaseMs }: RunEnvironment,
  run: ClaimedRun,
): Parameters<typeof startRunRecord>[0] {
  const { key, plan, request } = run;
  return {
    ...{ ledger, outbox, leaseMs, key, bill: billOf(run), identity: identityOf(request.meta) },
    modelRequested: plan.selected.modelId,
    settleRetries: DEFAULTS.settleRetries,
  };
}

function billOf({ plan, request }: ClaimedRun): BillingLine | undefined {
  if (plan.billed === 'nothing') return undefined;
  const { tier, modelId } = plan.selected;
  const line = { traceId: request.trace_id, tier: tier.code, taskType: request.task_type, modelRequested: modelId };
  return plan.billed === 'what-costs' ? { ...line, onlyWhatCosts: true } : line;
}

/** What was spent by all runs of the task that this one goes on from, and by itself. */
function spentSoFar(meter: UsageMeter, { earlier }: ClaimedRun): Spent {
  const { costUsd, usage } = meter.totals();
  const own = { costUsd, tokens: usage.promptTokens + usage.completionTokens };
  return earlier === undefined ? own : addSpent(earlier.spent, own);
}

/** Returns the changes since the last time. A tool may also modify a value in place. */
function changesOf({ variables, earlier }: ClaimedRun): () => Pick<ToolCallEntry, 'variables' | 'removed' | 'change'> {
  const known = new Map<string, string>();
  let change = earlier?.changes ?? 0;
  const changed = (): readonly (readonly [string, JsonValue])[] =>
    [...variables].filter(([name, value]) => {
      const text = JSON.stringify(value);
      const isNew = known.get(name) !== text;
      known.set(name, text);
      return isNew;
    });
  changed();
  return () => {
    const entries = changed();
    const removed = [...known.keys()].filter((name) => !variables.has(name));
    for (const name of removed) known.delete(name);
    if (entries.length + removed.length === 0) return {};
    return {
      variables: Object.fromEntries(entries),
      removed: removed.length === 0 ? undefined : removed,
      change: change++,
    };
  };
}
