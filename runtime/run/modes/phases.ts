import type { Toolset } from '../../contracts/tools/tool';
import { RuntimeError } from '../../errors/runtime-error';
import type { StepCall } from '../../ledger/account';
import type { PreparedStep } from '../../loop/loop-contract';
import { createToolset } from '../../tools/combine-toolsets';
import { MAKE_PLAN, REVIEW_STEP } from '../../toolsets/plan-source';
import type { ClaimedRun, PlanningSettings } from '../run';
import type { Executors } from './executors';
import { isBeside, type PlanState } from './plan-state';
import { reviewingModel } from './reviewing-model';

type Phase = PlanState['phase'];

/** The model call of a state; a step is followed by its review. */
export function callOf({ phase }: PlanState, { planner, supervisor }: PlanningSettings): StepCall {
  if (phase === 'plan') return { purpose: 'plan', modelId: planner?.settings.modelId };
  return phase === 'review' || phase === 'step' ? { purpose: 'supervise', modelId: supervisor?.settings.modelId } : {};
}

/** Who is asked in a phase, and how. Tools are not required by force: some models refuse that, and text is read as well. */
export function asksOf(
  { plan }: ClaimedRun,
  { planner, supervisor }: PlanningSettings,
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
export function offersOf(
  toolset: Toolset,
  { mode, executors }: { readonly mode: PlanningSettings['mode']; readonly executors: Executors },
): (phase: Phase, so: { readonly narrowed: Toolset; readonly mayMake: boolean }) => Toolset {
  const only = (name: string, more = ''): Toolset => {
    const tool = toolset.find(name);
    if (tool === undefined) throw new RuntimeError('INTERNAL_ERROR', { reason: `there is no ${name}` });
    const { definition } = tool;
    return createToolset([{ ...tool, definition: { ...definition, description: `${definition.description}${more}` } }]);
  };
  const plans = only(MAKE_PLAN, executors.listed());
  const reviews = only(REVIEW_STEP);
  const work = without([REVIEW_STEP]);
  const workAlone = without([MAKE_PLAN, REVIEW_STEP]);
  return (phase, { narrowed, mayMake }) => {
    if (phase === 'review') return reviews;
    if (phase === 'work') return mayMake ? work(narrowed) : workAlone(narrowed);
    // The tools that the transcript began with, so that a provider's cache of it still fits.
    return phase === 'answer' && mode === 'auto' ? work(narrowed) : plans;
  };
}

/** Leaves tools out of a toolset. */
function without(left: readonly string[]): (toolset: Toolset) => Toolset {
  const known = new WeakMap<Toolset, Toolset>();
  return (toolset) => {
    const names = toolset.definitions.map(({ name }) => name).filter((name) => !left.includes(name));
    const others = known.get(toolset) ?? createToolset(names.flatMap((name) => toolset.find(name) ?? []));
    known.set(toolset, others);
    return others;
  };
}

/** Limit of model calls of which one more is for the answer, whatever it took to come to it. */
export function limitOf(state: PlanState, { limit, made }: { readonly limit: number; readonly made: number }): number {
  // What makes or reviews a plan is followed by another call at least.
  if (isBeside(state)) return made + 2;
  const all = limit + state.beside;
  return state.phase === 'answer' ? Math.max(all, made + 1) : all;
}
