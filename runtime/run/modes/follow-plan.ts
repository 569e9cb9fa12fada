import type { LoopOutcome } from '../../contracts/outcome';
import type { PlanReport } from '../../contracts/result';
import type { Toolset } from '../../contracts/tools/tool';
import type { PlanCall, PlanRun } from '../../contracts/tools/tool-run';
import type { ToolOutput } from '../../contracts/tools/tool-shapes';
import { RuntimeError } from '../../errors/runtime-error';
import { toolFailure } from '../../errors/tool-failure';
import type { StepCall } from '../../ledger/account';
import type { RunnableCall } from '../../loop/admit-tool-call';
import type { PreparedStep } from '../../loop/loop-contract';
import { MAKE_PLAN, readPlan, readReview, REVIEW_STEP } from '../../toolsets/plan-source';
import type { JsonObject, JsonValue } from '../../util/json';
import type { ClaimedRun } from '../run';
import { doStep, placeOf } from './do-step';
import { executorsOf } from './executors';
import { asksOf, callOf, limitOf, offersOf } from './phases';
import { resumedStep } from './plan-on-record';
import {
  afterCalls,
  attempted,
  mayPlan,
  openPlan,
  planAfter,
  planned,
  plansLeft,
  type PlanState,
  reviewed,
} from './plan-state';
import { reportPlan } from './report-plan';

/** Control of a run in the mode `plan` or `auto`, beside its loop. */
export interface Planning extends PlanRun {
  /** Overrides for the next model call, by what is on record. Throws PLAN_ABORTED or PLANS_USED_UP. */
  readonly prepare: (so: Parameters<typeof planAfter>[1], narrowed: Toolset | undefined) => PreparedStep;
  /** The model call that `prepare` was asked for last. */
  readonly now: () => StepCall;
  /** The model call that is expected to follow these calls. */
  readonly after: (calls: readonly RunnableCall[]) => StepCall;
  readonly report: (outcome: LoopOutcome) => PlanReport | undefined;
}

/** Returns undefined for a run without plans. */
export function followPlan(run: ClaimedRun): Planning | undefined {
  const { planning, toolset } = run.plan;
  if (planning === undefined) return undefined;
  const { mode } = planning;
  const executors = executorsOf(toolset);
  const offers = offersOf(toolset, { mode, executors });
  const asks = asksOf(run, planning);
  const resumed = resumedStep(run);
  let state = openPlan(mode);
  /** The state that the present step began in: its calls may have moved the plan on. */
  let asked = state;
  const issuesOf: PlanIssues = (steps, { toolCallId }) => {
    if (!mayPlan(state)) return 'a plan is being followed already';
    // A plan that was begun is followed, whatever the rules say of its later steps now.
    return resumed.isSent(toolCallId) ? undefined : executors.issuesOf(steps);
  };
  const follow = async (call: PlanCall): Promise<ToolOutput> => {
    if (state.phase !== 'step') return toModel(told(state));
    const attempt = await doStep(run, { state, executors, call });
    state = attempted(state, attempt);
    return toModel({ ...placeOf(state), ...attempt, next: `Review this result with ${REVIEW_STEP}.` });
  };
  return {
    prepare: (steps, narrowed = toolset) => {
      asked = planAfter(mode, steps);
      state = afterCalls(asked, resumed.endedAfter(steps));
      const { phase } = asked;
      const { maxIterations: limit } = run.plan.settings.limits;
      refuseToGoOn(asked, { limit, made: steps.length });
      // A plan in the last model call of the work would leave none for the answer, and one under a skill would leave its tools.
      const mayMake = steps.length + 1 < limit && narrowed === toolset;
      return {
        toolset: offers(phase, { narrowed, mayMake }),
        ...asks(phase),
        maxIterations: limitOf(asked, { limit, made: steps.length }),
      };
    },
    now: () => callOf(asked, planning),
    after: (calls) => callOf(calls.reduce(expected, state), planning),
    begin: (steps, call) => {
      const issues = issuesOf(steps, call);
      if (issues !== undefined) return Promise.resolve(toolFailure('TOOL_PLAN_INVALID', { tool: MAKE_PLAN, issues }));
      state = planned(state, steps);
      return follow(call);
    },
    review: (review, call) => {
      const isDue = state.phase === 'review';
      if (isDue) state = reviewed(state, review);
      return isDue && !state.isUnread ? follow(call) : Promise.resolve(refuseReview(isDue));
    },
    report: (outcome) => reportPlan(state, outcome),
  };
}

function refuseReview(isDue: boolean): ToolOutput {
  if (isDue) return toolFailure('TOOL_REVIEW_UNREADABLE', { tool: REVIEW_STEP });
  return toolFailure('TOOL_PLAN_INVALID', { tool: REVIEW_STEP, issues: 'there is no result to review' });
}

type PlanIssues = (...asked: Parameters<PlanRun['begin']>) => string | undefined;

/** Throws if the run has come to the end of its plans, or its planner is silent for too long. */
function refuseToGoOn(
  { phase, plans, at, beside, feedback = 'it gave no reason' }: PlanState,
  { limit, made }: { readonly limit: number; readonly made: number },
): void {
  if (phase === 'aborted') throw new RuntimeError('PLAN_ABORTED', { step: at + 1, reason: feedback });
  if (phase === 'plan' && made - beside > limit)
    throw new RuntimeError('MAX_ITERATIONS_REACHED', { maxIterations: limit });
  if (phase === 'spent') throw new RuntimeError('PLANS_USED_UP', { plans: plans.length, reason: feedback });
}

/** The state that a call will lead to. */
function expected(state: PlanState, { tool, input }: RunnableCall): PlanState {
  const { name } = tool.definition;
  if (name === MAKE_PLAN && mayPlan(state)) return planned(state, readPlan(input));
  return name === REVIEW_STEP && state.phase === 'review' ? reviewed(state, readReview(input)) : state;
}

/** The output of a tool, without what is not known. */
function toModel(value: Readonly<Record<string, JsonValue | undefined>>): ToolOutput {
  const known = Object.entries(value).filter(([, one]) => one !== undefined);
  return { isError: false, value: Object.fromEntries(known) as JsonObject };
}

/** Tells the model what follows if no step does. */
function told(state: PlanState): Readonly<Record<string, JsonValue | undefined>> {
  const { phase, feedback } = state;
  if (phase === 'answer') return { done: true, next: 'The plan is done. Answer the request now.' };
  if (phase !== 'plan') return { stopped: true, feedback };
  const next = `Make another plan with ${MAKE_PLAN}, for what is left to do.`;
  return { feedback, plans_made: state.plans.length, plans_left: plansLeft(state), next };
}
