import { DEFAULTS } from '../../config/runtime-config';
import type { Toolset } from '../../contracts/tools/tool';
import { PLAN_TOOLS } from '../../toolsets/plan-source';
import type { OtherModel, RunPlan } from '../run';
import { chooseModel, type ModelRequirements } from './choose-model';
import { resolveLimits } from './resolve-limits';

/**
 * How a run makes plans, if it can, and all models that its calls may be billed under. Throws what `chooseModel` throws for each of its
 * tiers.
 */
export function choosePlanning(
  required: ModelRequirements,
  { modelIds, toolset }: Pick<RunPlan, 'modelIds' | 'toolset'>,
): Pick<RunPlan, 'planning' | 'modelIds'> {
  const { config, connected } = required;
  const { mode = 'direct', step_tier: stepTier } = config;
  if (mode === 'direct' || lackingTools(toolset).length > 0) return { modelIds };
  // A connected model answers for all of them.
  if (connected.model !== undefined) return { planning: { mode }, modelIds };
  const planner = modelOfTier(required, config.planner_tier);
  const supervisor = modelOfTier(required, config.supervisor_tier);
  // Whatever is wrong with the tier is known before anything is spent on a plan.
  modelOfTier(required, stepTier);
  const others = [planner, supervisor].flatMap((one) => one?.modelIds ?? []);
  return {
    planning: { mode, planner, supervisor, stepTier },
    modelIds: [...new Set([...modelIds, ...others])],
  };
}

/** The tools for plans that a run does not have. */
export function lackingTools(toolset: Toolset): readonly string[] {
  return PLAN_TOOLS.filter((name) => toolset.find(name) === undefined);
}

function modelOfTier(required: ModelRequirements, tier: string | undefined): OtherModel | undefined {
  if (tier === undefined) return undefined;
  const { config, snapshot } = required;
  // What the task says of temperature and length is for its own model.
  const settings = {
    ...config,
    agent_tier: tier,
    model_override: undefined,
    temperature: undefined,
    max_tokens: undefined,
  };
  const { selected, model, modelIds } = chooseModel({ ...required, config: settings });
  const { limits } = resolveLimits({
    config: settings,
    settings: snapshot.tenant.settings,
    tier: selected.tier,
    defaults: DEFAULTS,
  });
  const { temperature, maxTokens, modelSilenceMs } = limits;
  return { model, modelIds, settings: { modelId: selected.modelId, temperature, maxTokens, modelSilenceMs } };
}
