import { assertRunBudget, mostSpent, NOTHING_SPENT } from '../billing/budget';
import type { LedgerStore, OnRecord, RunKey } from '../contracts/ledger';
import type { Message } from '../contracts/message';
import type { ApprovalDecision, EarlierRun, ResumeState } from '../contracts/outcome';
import type { AgentResult } from '../contracts/result';
import { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { claimRun, requestDigest, resumeRun } from '../ledger/claim';
import { identityOf } from '../ledger/identity';
import { rebuildRun } from '../loop/rebuild-run';
import { openTranscript } from '../loop/transcript';
import type { ReadyTask } from '../tasks/read-task';
import type { Deadline } from '../util/abort';
import { newId } from '../util/clock';
import { canonicalJson } from '../util/json';
import { resultOfNothing } from './build-result';
import type { RunPlan } from './plan-run';
import { firstReservation } from './reserve';

/** A run that may begin, or the stored result of one that is over. */
export type Claimed =
  | { readonly kind: 'done'; readonly result: AgentResult }
  | {
      readonly kind: 'claimed';
      readonly task: ReadyTask;
      readonly key: RunKey;
      readonly messages: readonly Message[];
      /** Set when it goes on with what an earlier run has done: one that waited, failed or was lost. */
      readonly before?: EarlierRun;
    };

interface ClaimContext {
  readonly ledger: LedgerStore;
  readonly task: ReadyTask;
  readonly plan: RunPlan;
  readonly deadline: Deadline;
  readonly fresh: boolean;
  readonly leaseMs: number;
  /** What was said before the task, oldest first. */
  readonly history: readonly Message[];
}

/**
 * Claims the task, and room for its first model call. Rejects with TASK_CONFLICT, TASK_RUNNING, TENANT_RATE_LIMITED,
 * APPROVAL_UNKNOWN, or with BUDGET_EXCEEDED, whose result says that nothing was done.
 */
export async function claimTask(context: ClaimContext): Promise<Claimed> {
  const { task, plan, deadline } = context;
  const runId = newId();
  try {
    return await (task.config.approval === undefined ? claimNew(context, runId) : claimWaiting(context, runId));
  } catch (error) {
    if (deadline.cause() === 'cancelled') throw new RuntimeError('RUN_CANCELLED');
    const failure = toRuntimeError(error);
    if (failure.code === 'BUDGET_EXCEEDED') {
      const { tier, modelId: model } = plan.selected;
      failure.result = resultOfNothing({ task, runId, tier: tier.code, model, status: 'budget_exceeded' });
    }
    throw failure;
  }
}

async function claimNew(context: ClaimContext, runId: string): Promise<Claimed> {
  const { ledger, task, plan, deadline, fresh, leaseMs } = context;
  assertRunBudget(plan.budget, () => NOTHING_SPENT);
  const messages = openingOf(context, context.history);
  const key: RunKey = { tenantId: task.meta.tenant_id, taskId: task.task_id, runId };
  const claim = {
    ...key,
    traceId: task.trace_id,
    ...identityOf(task.meta),
    digest: requestDigest(task),
    fresh,
    leaseMs,
    modelRequested: plan.selected.modelId,
    reserve: firstReservation(plan, messages),
    runsPerMinute: plan.runsPerMinute,
  };
  const claimed = await claimRun(ledger, claim, deadline.signal);
  if (claimed.kind === 'done') return claimed;
  // An earlier run goes on with the history that it had, if it had one.
  const earlier = rebuildRun(openingOf(context), claimed.journal ?? []);
  return { kind: 'claimed', task, key, messages, before: withSpent(earlier, messages, claimed) };
}

function openingOf({ task, plan }: ClaimContext, history: readonly Message[] = []): readonly Message[] {
  const { system_prompt: systemPrompt, message, context } = task.config;
  return openTranscript({
    systemPrompt,
    history,
    message,
    context,
    singleTool: plan.settings.toolExecution === 'single',
    formatInstructions: plan.format?.instructions,
  });
}

/** What was spent counts too where there is nothing to go on with, as after a reply that broke off. */
function withSpent(
  earlier: EarlierRun | undefined,
  opening: readonly Message[],
  { spent }: OnRecord,
): EarlierRun | undefined {
  if (spent === undefined) return earlier;
  // Only the journal is sure to have what was written a moment ago, and only the ledger has the calls without an entry.
  if (earlier !== undefined) return { ...earlier, spent: mostSpent(earlier.spent, spent) };
  const resume = {
    messages: opening,
    opening: opening.length,
    steps: [],
    iterations: 0,
    calls: {},
    approvals: {},
    shown: {},
  };
  return { resume, spent, variables: {} };
}

/**
 * The task of a waiting run, when that is what an approval is for: it goes on with the request that it had, whatever stands
 * beside the approval. Rules and limits of the tenant are those of now.
 */
export async function taskToRun(ledger: LedgerStore, task: ReadyTask): Promise<ReadyTask> {
  const { approval, timeout_seconds } = task.config;
  if (approval === undefined) return task;
  const { tenant_id: tenantId } = task.meta;
  const waiting = await ledger.findWaiting?.({ tenantId, runId: approval.run_id });
  if (waiting === undefined) return task;
  const { config, meta } = waiting.task;
  return { ...task, config: { ...config, timeout_seconds, approval }, meta: { ...meta, tenant_id: tenantId } };
}

/** The run goes on under the task that it belongs to, with the one call decided on that it waited for. */
async function claimWaiting(context: ClaimContext, runId: string): Promise<Claimed> {
  const { ledger, task, plan, deadline, leaseMs } = context;
  const { approval } = task.config;
  if (approval === undefined) throw new RuntimeError('INTERNAL_ERROR', { reason: 'there is no approval' });
  const { tenant_id: tenantId } = task.meta;
  const { run_id: waitedRunId, decision } = approval;
  const reserve = firstReservation(plan, []);
  const request = { tenantId, waitedRunId, runId, leaseMs, reserve };
  const claimed = await resumeRun(ledger, request, deadline.signal);
  if (claimed.kind === 'done') return claimed;
  const { taskId, traceId = task.trace_id, waiting, spent = waiting.spent } = claimed;
  // The journal has what was done since the run waited, by whoever went on with it.
  const last = rebuildRun(openingOf(context), claimed.journal ?? []) ?? waiting;
  return {
    kind: 'claimed',
    task: { ...task, task_id: taskId, trace_id: traceId },
    key: { tenantId, taskId, runId },
    messages: [],
    before: {
      ...last,
      spent: mostSpent(last.spent, spent),
      resume: withDecision(last.resume, waiting.resume, decision),
    },
  };
}

/** The decision is on the arguments that were shown when the run waited. A refusal of them holds, whatever comes after it. */
function withDecision(last: ResumeState, waited: ResumeState, given: ApprovalDecision): ResumeState {
  const { toolCallId } = waited;
  if (toolCallId === undefined) return last;
  const { approvals, shown } = last;
  const wasRefused =
    Object.hasOwn(approvals, toolCallId) &&
    approvals[toolCallId] === 'deny' &&
    canonicalJson(shown[toolCallId]) === canonicalJson(waited.shown[toolCallId]);
  const decision = wasRefused ? 'deny' : given;
  return { ...last, approvals: { ...approvals, [toolCallId]: decision }, shown: { ...shown, ...waited.shown } };
}
