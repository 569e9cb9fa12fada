import { assertRunBudget, mostSpent, NOTHING_SPENT, readRunsPerMinute } from '../billing/budget';
import type { Approval } from '../contracts/ledger/journal';
import type { ClaimRequest, OnRecord, RunKey } from '../contracts/ledger/ledger';
import type { Progress } from '../contracts/ledger/progress';
import type { Message } from '../contracts/message';
import type { AgentResult } from '../contracts/result';
import type { Agent } from '../contracts/tenant';
import { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { claimRun, requestDigest, resumeRun } from '../ledger/claim';
import { identityOf } from '../ledger/identity';
import { agentOnRecord, rebuildRun } from '../loop/rebuild-run';
import { newId } from '../util/clock';
import { canonicalJson } from '../util/json';
import { resultOfNothing } from './build-result';
import { emitOf } from './log-run';
import { loadHistory } from './memory';
import { beginsWithCall } from './modes/first-call';
import { blockedPlan } from './modes/plan-on-record';
import { openingOf } from './opening';
import { planToGoOn } from './plan/plan-run';
import { firstReservation } from './reserve';
import type { ClaimedRun, PlannedRun, RunEnvironment } from './run';

/** A run that may begin, or the stored result of one that is over. */
type Claim =
  { readonly kind: 'done'; readonly result: AgentResult } | { readonly kind: 'claimed'; readonly run: ClaimedRun };

/**
 * Claims the task, and room for its first model call. Rejects with TASK_CONFLICT, TASK_RUNNING, TENANT_RATE_LIMITED,
 * APPROVAL_UNKNOWN, MEMORY_UNAVAILABLE, or with BUDGET_EXCEEDED, whose result says that nothing was done.
 */
export async function claimTask(environment: RunEnvironment, run: PlannedRun): Promise<Claim> {
  const { request, host, deadline } = run;
  const runId = newId();
  if (request.config.approval !== undefined) {
    return orRefused(run, runId, () => claimSaved(environment, run, runId));
  }
  const { memory } = host.connected ?? {};
  const history = memory === undefined ? clientHistory(run) : await loadHistory(memory, deadline.signal);
  return orRefused(run, runId, () => claimNew(environment, run, { runId, history }));
}

/** A session has its own history, which is read after the claim. */
function clientHistory({ plan: { session, config } }: PlannedRun): readonly Message[] {
  return session === undefined ? (config.messages ?? []) : [];
}

async function orRefused(run: PlannedRun, runId: string, claim: () => Promise<Claim>): Promise<Claim> {
  const { request, plan, deadline } = run;
  try {
    return await claim();
  } catch (error) {
    if (deadline.cause() === 'cancelled') throw new RuntimeError('RUN_CANCELLED');
    const failure = toRuntimeError(error);
    if (failure.code !== 'BUDGET_EXCEEDED') throw failure;
    const { tier, modelId: model } = plan.selected;
    throw failure.withResult(resultOfNothing({ request, runId, tier: tier.code, model, status: 'budget_exceeded' }));
  }
}

async function claimNew(
  environment: RunEnvironment,
  run: PlannedRun,
  { runId, history }: { readonly runId: string; readonly history: readonly Message[] },
): Promise<Claim> {
  const { ledger, leaseMs } = environment;
  const { request, plan, host, deadline } = run;
  assertRunBudget(plan.budget, () => NOTHING_SPENT);
  run.parent?.account.assertRoom();
  const opening = openingOf(run, { history });
  const key: RunKey = { tenantId: request.meta.tenant_id, taskId: request.task_id, runId };
  const claiming = {
    ...key,
    traceId: request.trace_id,
    ...identityOf(request.meta),
    digest: requestDigest(request),
    fresh: host.fresh === true,
    leaseMs,
    ...firstCall(run, opening),
    agent: plan.config.agent,
    // A child is a part of a run that has begun.
    runsPerMinute: isPart(run.parent) ? undefined : readRunsPerMinute(run.tenant.tenant.settings),
    family: run.parent?.family,
  };
  const claimed = await claimRun(ledger, claiming, deadline.signal);
  if (claimed.kind === 'done') return claimed;
  const { journal = [] } = claimed;
  const resumed = await toGoOn(environment, run, agentOnRecord(journal));
  // An earlier run goes on with the history that it had, if it had one.
  const beginning = beginningOf(resumed);
  const progress = rebuildRun(beginning, journal) ?? beginsWithCall(resumed, opening);
  const opened = opensWithClaim(run) ? Math.max(0, ...journal.map(({ step }) => step)) + 1 : undefined;
  return claimedRun(resumed, {
    key,
    opening,
    opened,
    earlier: withSpent(progress, { ...beginning, opening }, claimed),
  });
}

function isPart(parent: PlannedRun['parent']): boolean {
  return parent !== undefined && parent.isCounted !== true;
}

/** A run that begins with a tool call, or that waits for its session, opens no model call yet and holds no room. */
function opensWithClaim({ parent, plan }: PlannedRun): boolean {
  return parent?.part?.call === undefined && plan.session === undefined;
}

/** A run that waits for its session is refused by limits that are reached, and holds nothing of what is left. */
function roomAtClaim(run: PlannedRun, messages: readonly Message[]): ClaimRequest['reserve'] {
  const reserve = firstReservation(run, messages);
  return reserve === undefined || run.plan.session === undefined
    ? reserve
    : { ...reserve, holdCostUsd: '0', holdTokens: 0 };
}

/** The model call that is opened with the claim, and room for it. */
function firstCall(
  run: PlannedRun,
  opening: readonly Message[],
): Pick<ClaimRequest, 'modelRequested' | 'purpose' | 'reserve'> {
  if (run.parent?.part?.call !== undefined) return {};
  const { planning, selected } = run.plan;
  const reserve = roomAtClaim(run, opening);
  if (!opensWithClaim(run)) return { reserve };
  if (planning?.mode !== 'plan') return { modelRequested: selected.modelId, reserve };
  return { modelRequested: planning.planner?.settings.modelId ?? selected.modelId, purpose: 'plan', reserve };
}

/** Plans again where the agent is not that of the run before. The task is held already, so a refusal ends the run itself. */
async function toGoOn(
  environment: RunEnvironment,
  run: PlannedRun,
  began: Agent | null | undefined,
): Promise<PlannedRun & Pick<ClaimedRun, 'refusal'>> {
  if (began === undefined || isSame(began, run.plan.agent ?? null)) return run;
  try {
    return await planToGoOn(environment, run, began);
  } catch (error) {
    // Nothing comes of it, so the bill stays as it is.
    const plan = { ...run.plan, agent: began ?? undefined, billed: 'nothing' as const };
    return { ...run, plan, refusal: toRuntimeError(error) };
  }
}

const isSame = (one: Agent | null, other: Agent | null): boolean => canonicalJson(one) === canonicalJson(other);

function claimedRun(
  run: PlannedRun & Pick<ClaimedRun, 'refusal'>,
  claimed: Pick<ClaimedRun, 'key' | 'opening' | 'opened' | 'earlier'>,
): Claim {
  if (run.parent !== undefined) run.parent.claim.isHeld = true;
  const variables = new Map(Object.entries(claimed.earlier?.variables ?? run.plan.config.variables ?? {}));
  const refusal = run.refusal ?? blockedPlan(run.plan, claimed.earlier);
  return { kind: 'claimed', run: { ...run, ...claimed, refusal, variables, emit: emitOf(run, claimed.key) } };
}

/** Returns how an earlier run began. Without its opening on record it had no instructions but its prompt. */
function beginningOf(run: PlannedRun): Parameters<typeof rebuildRun>[0] {
  const opening = openingOf({ ...run, plan: { ...run.plan, instructions: [] } });
  return { opening, variables: run.plan.config.variables ?? {} };
}

/** What was spent counts too where there is nothing to go on with, as after a reply that broke off. */
function withSpent(
  progress: Progress | undefined,
  { opening, variables }: Parameters<typeof rebuildRun>[0],
  { spent }: OnRecord,
): Progress | undefined {
  if (spent === undefined) return progress;
  // Only the journal is sure to have what was written a moment ago, and only the ledger has the calls without an entry.
  if (progress !== undefined) return { ...progress, spent: mostSpent(progress.spent, spent) };
  const nothing = { steps: [], iterations: 0, callCounts: {}, approvals: {}, variables };
  return { ...nothing, messages: opening, openingLength: opening.length, spent };
}

/** The run goes on under the task that it belongs to, with the one call decided on that it waited for. */
async function claimSaved({ ledger, leaseMs }: RunEnvironment, run: PlannedRun, runId: string): Promise<Claim> {
  const { request, deadline } = run;
  const { approval } = request.config;
  if (approval === undefined) throw new RuntimeError('INTERNAL_ERROR', { reason: 'there is no approval' });
  const { tenant_id: tenantId } = request.meta;
  const { run_id: waitedRunId, decision } = approval;
  const resuming = {
    ...{ tenantId, waitedRunId, runId, decision, decidedBy: request.decidedBy, leaseMs },
    reserve: roomAtClaim(run, []),
    family: run.parent?.family,
  };
  const claimed = await resumeRun(ledger, resuming, deadline.signal);
  if (claimed.kind === 'done') return claimed;
  const { taskId, traceId = request.trace_id, saved, decidedBy } = claimed;
  const waited = saved.progress;
  // The journal has what was done since the run waited, by whoever went on with it.
  const last = rebuildRun(beginningOf(run), claimed.journal ?? []) ?? waited;
  const earlier = {
    ...withDecision(last, waited, { decision, decidedBy }),
    // What was spent below a run that itself works for another one, nobody has but what was kept.
    spent: mostSpent(mostSpent(last.spent, waited.spent), claimed.spent ?? waited.spent),
  };
  const resumed = { ...run, request: { ...request, task_id: taskId, trace_id: traceId } };
  return claimedRun(resumed, { key: { tenantId, taskId, runId }, opening: [], earlier });
}

/** The decision is on the arguments that were shown when the run waited. A refusal of them holds, whatever comes after it. */
function withDecision(last: Progress, waited: Progress, given: Pick<Approval, 'decision' | 'decidedBy'>): Progress {
  const [undecided] = Object.entries(waited.approvals).find(([, { decision }]) => decision === undefined) ?? [];
  const id = waited.asked ?? undecided;
  const asked = id === undefined ? undefined : waited.approvals[id];
  if (id === undefined || asked === undefined) return last;
  const known = Object.hasOwn(last.approvals, id) ? last.approvals[id] : undefined;
  return { ...last, approvals: { ...waited.approvals, ...last.approvals, [id]: decided(asked, known, given) } };
}

function decided(
  asked: Approval,
  known: Approval | undefined,
  given: Pick<Approval, 'decision' | 'decidedBy'>,
): Approval {
  if (asked.below !== undefined) return { ...asked, below: { ...asked.below, ...given } };
  const wasRefused = known?.decision === 'deny' && canonicalJson(known.arguments) === canonicalJson(asked.arguments);
  return wasRefused ? known : { ...asked, ...given };
}
