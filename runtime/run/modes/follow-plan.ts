import type { LoopOutcome } from '../../contracts/outcome';
import type { PlanReport } from '../../contracts/result';
import type { PlannedStep, StepAttempt } from '../../contracts/tools/plan';
import type { Toolset } from '../../contracts/tools/tool';
import type { PlanCall, PlanRun, RunPart } from '../../contracts/tools/tool-run';
import type { ToolOutput } from '../../contracts/tools/tool-shapes';
import { RuntimeError } from '../../errors/runtime-error';
import { toolFailure } from '../../errors/tool-failure';
import type { StepCall } from '../../ledger/account';
import type { RunnableCall } from '../../loop/admit-tool-call';
import type { PreparedStep } from '../../loop/loop-contract';
import { createToolset } from '../../tools/combine-toolsets';
import { MAKE_PLAN, readPlan, readReview, REVIEW_STEP } from '../../toolsets/plan-source';
import type { JsonObject, JsonValue } from '../../util/json';
import type { ClaimedRun } from '../run';
import { type Executors, executorsOf } from './executors';
import {
  attempted,
  isBeside,
  mayPlan,
  openPlan,
  planAfter,
  planned,
  plansLeft,
  type PlanState,
  presentPlan,
  reviewed,
  triesOf,
} from './plan-state';
import { reportPlan } from './report-plan';
import { reviewingModel } from './reviewing-model';
import { messageToAgent, stepMessage } from './step-message';

/** What a run in the mode `plan` or `auto` does beside its loop. */
export interface Planning extends PlanRun {
  /** Overrides for the next model call, by what is on record. Throws PLAN_ABORTED or PLANS_USED_UP. */
  readonly prepare: (so: Parameters<typeof planAfter>[1], narrowed: Toolset | undefined) => PreparedStep;
  /** The model call that `prepare` was asked for last. */
  readonly now: () => StepCall;
  /** The model call that follows these calls; undefined where none does. */
  readonly after: (calls: readonly RunnableCall[]) => StepCall | undefined;
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
  let state = openPlan(mode);
  const doStep = async (call: PlanCall): Promise<ToolOutput> => {
    const attempt = await perform(run, { state, executors, call });
    state = attempted(state, attempt);
    return toModel({ ...placeOf(state), ...attempt, next: `Review this result with ${REVIEW_STEP}.` });
  };
  const follow = (call: PlanCall): Promise<ToolOutput> =>
    state.phase === 'step' ? doStep(call) : Promise.resolve(toModel(told(state)));
  return {
    prepare: (steps, narrowed = toolset) => {
      state = planAfter(mode, steps);
      refuseToGoOn(state);
      const { phase, beside } = state;
      const limit = run.plan.settings.limits.maxIterations;
      // A plan in the last model call of the work would leave none for the answer.
      const mayMake = steps.length + 1 < limit;
      const maxIterations = limit + beside + (isBeside(state) ? 1 : 0);
      return { toolset: offers(phase, { narrowed, mayMake }), ...asks(phase), maxIterations };
    },
    now: () => callOf(state.phase, planning),
    after: (calls) => {
      const { phase } = calls.reduce(expected, state);
      return phase === 'aborted' || phase === 'spent'
        ? undefined
        : callOf(phase === 'step' ? 'review' : phase, planning);
    },
    begin: (steps, call) => {
      const issues = mayPlan(state) ? executors.issuesOf(steps) : 'a plan is being followed already';
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

type Settings = NonNullable<ClaimedRun['plan']['planning']>;
type Phase = PlanState['phase'];

/** Throws if the run has come to the end of its plans. */
function refuseToGoOn({ phase, plans, at, feedback = 'it gave no reason' }: PlanState): void {
  if (phase === 'aborted') throw new RuntimeError('PLAN_ABORTED', { step: at + 1, reason: feedback });
  if (phase === 'spent') throw new RuntimeError('PLANS_USED_UP', { plans: plans.length, reason: feedback });
}

/** The state that a call will lead to. */
function expected(state: PlanState, { tool, input }: RunnableCall): PlanState {
  const { name } = tool.definition;
  if (name === MAKE_PLAN && mayPlan(state)) return planned(state, readPlan(input));
  return name === REVIEW_STEP && state.phase === 'review' ? reviewed(state, readReview(input)) : state;
}

function callOf(phase: Phase, { planner, supervisor }: Settings): StepCall {
  if (phase === 'plan') return { purpose: 'plan', modelId: planner?.settings.modelId };
  return phase === 'review' ? { purpose: 'supervise', modelId: supervisor?.settings.modelId } : {};
}

/** Who is asked in a phase, and how. Tools are not required by force: some models refuse that, and text is read as well. */
function asksOf(
  { plan }: ClaimedRun,
  { planner, supervisor }: Settings,
): (phase: Phase) => Pick<PreparedStep, 'model' | 'settings'> {
  const one = { toolChoice: 'auto', toolExecution: 'single' } as const;
  const plans = { model: planner?.model, settings: { ...planner?.settings, ...one } };
  const reviews = {
    model: reviewingModel(supervisor?.model ?? plan.model),
    settings: { ...supervisor?.settings, ...one },
  };
  return (phase) => {
    if (phase === 'plan') return plans;
    if (phase === 'review') return reviews;
    return phase === 'answer' ? { settings: { toolChoice: 'none' } } : {};
  };
}

/** The tools that the model is offered in a phase: the same object each time. */
function offersOf(
  toolset: Toolset,
  { mode, executors }: { readonly mode: Settings['mode']; readonly executors: Executors },
): (phase: Phase, so: { readonly narrowed: Toolset; readonly mayMake: boolean }) => Toolset {
  const only = (name: string, more = ''): Toolset => {
    const tool = toolset.find(name);
    if (tool === undefined) throw new RuntimeError('INTERNAL_ERROR', { reason: `there is no ${name}` });
    const { definition } = tool;
    return createToolset([{ ...tool, definition: { ...definition, description: `${definition.description}${more}` } }]);
  };
  const plans = only(MAKE_PLAN, executors.listed());
  const reviews = only(REVIEW_STEP);
  const known = new WeakMap<Toolset, Toolset>();
  const work = (of: Toolset): Toolset => {
    const working = known.get(of) ?? without(of, [REVIEW_STEP]);
    known.set(of, working);
    return working;
  };
  return (phase, { narrowed, mayMake }) => {
    if (phase === 'review') return reviews;
    if (phase === 'work' && !mayMake) return without(narrowed, [MAKE_PLAN, REVIEW_STEP]);
    // The tools that the transcript began with, so that a provider's cache of it still fits.
    return phase === 'work' || (phase === 'answer' && mode === 'auto') ? work(narrowed) : plans;
  };
}

function without(toolset: Toolset, left: readonly string[]): Toolset {
  const names = toolset.definitions.map(({ name }) => name).filter((name) => !left.includes(name));
  return createToolset(names.flatMap((name) => toolset.find(name) ?? []));
}

/** Does the present step. Never rejects: a step that fails is for the supervisor to judge. */
async function perform(
  run: ClaimedRun,
  { state, executors, call }: { readonly state: PlanState; readonly executors: Executors; readonly call: PlanCall },
): Promise<StepAttempt> {
  const step = presentPlan(state).steps[state.at] as PlannedStep;
  const { run: family, toolCallId, signal } = call;
  // The task that does it is told apart by what the model wrote.
  const place = [state.plans.length, state.at + 1, triesOf(state).length + 1, step];
  const task = { agent: run.plan.config.agent, message: `${MAKE_PLAN} ${JSON.stringify(place)}` };
  const part = partFor(run, { state, step, executors });
  const output = await family.startChild(task, { toolCallId, signal, part });
  return { status: output.isError ? 'error' : 'ok', result: output.value };
}

function placeOf({ plans, at }: PlanState): JsonObject {
  const { steps } = presentPlan({ plans });
  return { plan: plans.length, step: at + 1, of: steps.length, task: steps[at]?.task ?? '' };
}

function partFor(
  { plan: { config, planning } }: ClaimedRun,
  { state, step, executors }: { readonly state: PlanState; readonly step: PlannedStep; readonly executors: Executors },
): RunPart {
  const { executor, name = '', arguments: given = {}, task } = step;
  const tools = executors.tools.flatMap(({ origin }) => origin ?? []);
  const part = { message: stepMessage(state, config), tools, tier: planning?.stepTier };
  const origin = executors.toolOf(step)?.origin;
  if (origin === undefined) return part;
  const begin = (input: JsonObject): NonNullable<RunPart['call']> => ({ origin, arguments: input });
  if (executor === 'skill') return { ...part, call: begin({ name, arguments: task }) };
  const input = executor === 'agent' ? { message: messageToAgent(state) } : given;
  return { message: task, tools: [origin], call: begin(input), maxTurns: 0 };
}

/** The output of a tool, without what is not known. */
function toModel(value: Readonly<Record<string, JsonValue | undefined>>): ToolOutput {
  const known = Object.entries(value).filter(([, one]) => one !== undefined);
  return { isError: false, value: Object.fromEntries(known) as JsonObject };
}

/** What follows where no step does. */
function told(state: PlanState): Readonly<Record<string, JsonValue | undefined>> {
  const { phase, feedback } = state;
  if (phase === 'answer') return { done: true, next: 'The plan is done. Answer the request now.' };
  if (phase !== 'plan') return { stopped: true, feedback };
  const next = `Make another plan with ${MAKE_PLAN}, for what is left to do.`;
  return { feedback, plans_made: state.plans.length, plans_left: plansLeft(state), next };
}
