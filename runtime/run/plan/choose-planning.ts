import { DEFAULTS } from '../../config/runtime-config';
import { describeError } from '../../errors/runtime-error';
import { selectModel } from '../../models/select-model';
import { MAKE_PLAN, REVIEW_STEP } from '../../toolsets/plan-source';
import type { OtherModel, RunPlan } from '../run';
import { chooseModel, type ModelRequirements } from './choose-model';
import { resolveLimits } from './resolve-limits';

/**
 * How a run makes plans, and all models that its calls may be billed under. A run whose rules take the tools for it away does its work
 * without. Throws what `chooseModel` throws for each of its tiers.
 */
export function choosePlanning(
  required: ModelRequirements,
  { modelIds, toolset }: Pick<RunPlan, 'modelIds' | 'toolset'>,
): Pick<RunPlan, 'planning' | 'modelIds' | 'warnings'> {
  const { config, connected } = required;
  const { mode = 'direct', step_tier: stepTier } = config;
  if (mode === 'direct') return { modelIds, warnings: [] };
  const lacking = [MAKE_PLAN, REVIEW_STEP].filter((name) => toolset.find(name) === undefined);
  if (lacking.length > 0)
    return { modelIds, warnings: [describeError('PLAN_UNAVAILABLE', { tools: lacking.join(' and no ') })] };
  // A connected model answers for all of them.
  if (connected.model !== undefined) return { planning: { mode }, modelIds, warnings: [] };
  const planner = modelOfTier(required, config.planner_tier);
  const supervisor = modelOfTier(required, config.supervisor_tier);
  if (stepTier !== undefined) refuseTier(required, stepTier);
  const others = [planner, supervisor].flatMap((one) => one?.modelIds ?? []);
  return {
    planning: { mode, planner, supervisor, stepTier },
    modelIds: [...new Set([...modelIds, ...others])],
    warnings: [],
  };
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

/** Tells of a tier that cannot be used before anything is spent on a plan. */
function refuseTier({ snapshot: { tenant, tiers } }: ModelRequirements, tier: string): void {
  selectModel({ tier, settings: tenant.settings, tierRows: tiers });
}
