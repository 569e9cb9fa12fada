import type { UsageMeter } from '../billing/usage-meter';
import { DEFAULTS } from '../config/runtime-config';
import type { Step, ToolCallEntry } from '../contracts/ledger/journal';
import type { BillingLine, Reservation, RunEnd } from '../contracts/ledger/ledger';
import { openAccount, type RunAccount } from '../ledger/account';
import { auditLine } from '../ledger/audit-line';
import { identityOf } from '../ledger/identity';
import { type RunRecord, startRunRecord } from '../ledger/run-record';
import type { LoopObserver } from '../loop/loop-contract';
import { transcriptOf } from '../loop/run-state';
import { LOAD_SKILL } from '../toolsets/skill-source';
import type { JsonValue } from '../util/json';
import type { Planning } from './modes/follow-plan';
import { createNarrowing } from './narrow-tools';
import { firstReservation, nextReservation } from './reserve';
import { followRules } from './rulings';
import type { ClaimedRun, RunEnvironment, RunPlan } from './run';

/** Puts on record what a run does, and answers for the tenant's budget and rules. */
export interface Recorder extends LoopObserver {
  readonly account: RunAccount;
  /** The line that all runs of the task write on; undefined where there is none. */
  readonly bill?: BillingLine;
  readonly settle: (end: RunEnd) => Promise<void>;
}

/**
 * Between a model call and what follows it there is one statement: it writes the usage, reserves room for the next call and
 * takes each tool call off its limits. Must be settled, or its lease goes on.
 */
export function startRecorder(environment: RunEnvironment, run: ClaimedRun, planning?: Planning): Recorder {
  const { plan } = run;
  const changedVariables = changesOf(run);
  const rules = followRules(run);
  const options = recordOptions(environment, run);
  const record = startRunRecord(options);
  const account = openAccount(accountOf(run, record));
  const written = (step: Omit<Step, 'spent'>): Step => ({ ...step, spent: account.spent(), ...agentOf(step, plan) });
  return {
    account,
    bill: options.bill,
    prepareStep: prepareStepOf(run, account, planning),
    settle: (end) => record.settle({ ...end, unsent: account.unsent() }, account.lost()),
    modelCallEnded: (call) => account.chargeStep(call, planning?.now()),
    modelSettledLate: account.chargeLate,
    stepOpened: (step) => record.journal(written(step)),
    beforeToolCalls: async ({ next, calls, step }) => {
      if (next !== undefined) account.assertRoom();
      const write = {
        taking: rules.limitsOf(calls.filter(({ isTaken }) => isTaken !== true)),
        step: step && written(step),
        ...(next === undefined
          ? {}
          : account.openStep(next, reserveNext(run, account.meter, calls.length), planning?.after(calls))),
      };
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

/** What was spent beside the steps may have used up the budget since the step was let through. */
function prepareStepOf(
  { plan: { toolset }, earlier }: ClaimedRun,
  account: RunAccount,
  planning: Planning | undefined,
): Recorder['prepareStep'] {
  const isNarrowed = earlier !== undefined || toolset.find(LOAD_SKILL)?.loadsSkills === true;
  const toolsOf = isNarrowed ? createNarrowing(toolset) : undefined;
  return ({ steps }) => {
    account.assertRoomBeside();
    const narrowed = toolsOf?.(steps);
    const prepared = planning?.prepare(steps, narrowed) ?? (narrowed && { toolset: narrowed });
    return account.reclaimStep()?.then(() => prepared) ?? prepared;
  };
}

/** Returns the agent for the entry of the first step. */
function agentOf({ step }: Pick<Step, 'step'>, { agent }: RunPlan): Pick<Step, 'agent'> {
  return step <= 1 && agent !== undefined ? { agent } : {};
}

function reserveNext(run: ClaimedRun, meter: UsageMeter, toolCalls: number): Reservation | undefined {
  const last = meter.lastUsage();
  if (last !== undefined) return nextReservation(run, last, toolCalls);
  // A run that goes on has made no call yet from which the length of its transcript could be told.
  return firstReservation(run, run.earlier === undefined ? run.opening : transcriptOf(run.earlier), toolCalls);
}

function recordOptions(
  { ledger, outbox, leaseMs }: RunEnvironment,
  run: ClaimedRun,
): Parameters<typeof startRunRecord>[0] {
  const { key, request, parent } = run;
  return {
    ...{ ledger, outbox, leaseMs, key, bill: billOf(run), identity: identityOf(request.meta), family: parent?.family },
    settleRetries: DEFAULTS.settleRetries,
  };
}

function ownLine({ selected: { tier, modelId } }: RunPlan, request: ClaimedRun['request']): BillingLine {
  return { traceId: request.trace_id, tier: tier.code, taskType: request.task_type, modelRequested: modelId };
}

function accountOf(
  { plan, tenant, earlier, opened, deadline, parent }: ClaimedRun,
  record: RunRecord,
): Parameters<typeof openAccount>[0] {
  return {
    ...{ record, opened, budget: plan.budget, prices: tenant.prices, modelId: plan.selected.modelId },
    before: earlier && { step: earlier.iterations, spent: earlier.spent },
    signal: deadline.signal,
    above: parent?.account,
  };
}

function billOf({ plan, request, parent }: ClaimedRun): BillingLine | undefined {
  const line =
    parent === undefined ? ownLine(plan, request) : parent.bill && { ...parent.bill, modelRequested: undefined };
  if (plan.billed === 'nothing' || line === undefined) return undefined;
  return { ...line, onlyWhatCosts: plan.billed === 'what-costs' };
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
