import type { StepRecord } from '../../contracts/ledger/journal';
import type { PlannedStep, Review, StepAttempt, Verdict } from '../../contracts/tools/plan';
import type { ToolCallRecord } from '../../contracts/tools/tool-call';
import { MAKE_PLAN, readPlan, readReview, REVIEW_STEP } from '../../toolsets/plan-source';
import { isJsonObject, type JsonValue } from '../../util/json';

/** Plans that a run may make in all. */
const MOST_PLANS = 4;

/** A plan, and what its steps have come to. */
export interface Plan {
  readonly steps: readonly PlannedStep[];
  /** Tries of each step so far, at most two. */
  readonly tries: readonly (readonly StepAttempt[])[];
}

/** How far a run is with its plans. */
export interface PlanState {
  /** All plans that were made, the present one last. */
  readonly plans: readonly Plan[];
  /**
   * What comes next: `work` without a plan, a `plan` to be made, a step to be done, its `review`, or the `answer`. `aborted` and `spent`
   * end the run.
   */
  readonly phase: 'work' | 'plan' | 'step' | 'review' | 'answer' | 'aborted' | 'spent';
  /** The place of the present step in the present plan. */
  readonly at: number;
  /** Reports whether the last review could not be read. */
  readonly isUnread: boolean;
  /** Feedback of the last review. */
  readonly feedback?: string;
  /** Model calls so far that have made or reviewed plans. */
  readonly beside: number;
}

/** The state of a run of which nothing is on record. */
export function openPlan(mode: 'plan' | 'auto'): PlanState {
  return { plans: [], phase: mode === 'plan' ? 'plan' : 'work', at: 0, isUnread: false, beside: 0 };
}

/** The state after the steps that are on record. */
export function planAfter(mode: 'plan' | 'auto', steps: readonly StepRecord[]): PlanState {
  return steps.reduce((state, { toolCalls }) => afterCalls(countCall(state, toolCalls), toolCalls), openPlan(mode));
}

/** The state after these calls too. */
export function afterCalls(state: PlanState, calls: readonly ToolCallRecord[]): PlanState {
  return calls.reduce(afterCall, state);
}

/** A silent planner has made no plan: its call counts as work, of which there is only so much. */
function countCall(state: PlanState, calls: readonly ToolCallRecord[]): PlanState {
  return isBeside(state) && calls.length > 0 ? { ...state, beside: state.beside + 1 } : state;
}

/** Reports whether the next model call makes or reviews a plan. */
export function isBeside({ phase }: PlanState): boolean {
  return phase === 'plan' || phase === 'review';
}

function afterCall(state: PlanState, { tool, arguments: input, outcome }: ToolCallRecord): PlanState {
  if (outcome === undefined) return state;
  const { code, value } = outcome;
  const isReview = tool === REVIEW_STEP && state.phase === 'review';
  if (isReview && code === 'TOOL_REVIEW_UNREADABLE') return reviewed(state, {});
  // What was refused has not moved the plan on.
  if (code !== undefined) return state;
  if (isReview) return withResult(reviewed(state, readReview(input)), value);
  return tool === MAKE_PLAN && mayPlan(state) ? withResult(planned(state, readPlan(input)), value) : state;
}

/** Both tools return what the step that follows them has come to. */
function withResult(state: PlanState, value: JsonValue): PlanState {
  if (state.phase !== 'step' || !isJsonObject(value)) return state;
  const { status, result = null } = value;
  return attempted(state, { status: status === 'ok' ? 'ok' : 'error', result });
}

/** Reports whether a plan can be made now. */
export function mayPlan({ phase }: PlanState): boolean {
  return phase === 'work' || phase === 'plan';
}

/** The state after a plan was made. One without steps says that the answer can be given. */
export function planned({ plans, ...state }: PlanState, steps: readonly PlannedStep[]): PlanState {
  const phase = steps.length === 0 ? 'answer' : 'step';
  return { ...state, plans: [...plans, { steps, tries: steps.map(() => []) }], phase, at: 0, feedback: undefined };
}

/** The state after a step was done. */
export function attempted(state: PlanState, attempt: StepAttempt): PlanState {
  return { ...withTries(state, [...triesOf(state), attempt]), phase: 'review', isUnread: false };
}

/**
 * The state after a step was judged. Of a verdict that cannot be read another one is asked for; after a second one the step counts as
 * what its result says. A second RETRY of a step counts as REPLAN.
 */
export function reviewed(state: PlanState, { verdict: given, feedback }: Review): PlanState {
  if (given === undefined && !state.isUnread) return { ...state, isUnread: true };
  const tries = triesOf(state);
  const verdict = given ?? (tries.at(-1)?.status === 'ok' ? 'SUCCESS' : 'REPLAN');
  const last = tries.slice(-1).map((one) => ({ ...one, verdict, feedback }));
  const judged = { ...withTries(state, [...tries.slice(0, -1), ...last]), isUnread: false, feedback };
  return follow(judged, verdict);
}

function follow(judged: PlanState, verdict: Verdict): PlanState {
  if (verdict === 'ABORT') return { ...judged, phase: 'aborted' };
  if (verdict === 'RETRY' && triesOf(judged).length === 1) return { ...judged, phase: 'step' };
  if (verdict !== 'SUCCESS') return { ...judged, phase: plansLeft(judged) > 0 ? 'plan' : 'spent' };
  const at = judged.at + 1;
  return { ...judged, at, phase: at < presentPlan(judged).steps.length ? 'step' : 'answer', feedback: undefined };
}

/** How many plans may follow. */
export function plansLeft({ plans }: PlanState): number {
  return MOST_PLANS - plans.length;
}

/** The plan that is followed now. */
export function presentPlan({ plans }: Pick<PlanState, 'plans'>): Plan {
  return plans.at(-1) ?? { steps: [], tries: [] };
}

/** Tries of the present step so far. */
export function triesOf(state: Pick<PlanState, 'plans' | 'at'>): readonly StepAttempt[] {
  return presentPlan(state).tries[state.at] ?? [];
}

function withTries(state: PlanState, now: readonly StepAttempt[]): PlanState {
  const plan = presentPlan(state);
  const tries = plan.tries.map((one, index) => (index === state.at ? now : one));
  return { ...state, plans: [...state.plans.slice(0, -1), { ...plan, tries }] };
}
