import type { Budget } from '../../billing/budget';
import { findPrice, isPriced } from '../../billing/cost';
import type { Connected } from '../../contracts/connected';
import type { Models } from '../../contracts/model';
import type { AgentTask } from '../../contracts/task';
import type { TenantSnapshot, Tier } from '../../contracts/tenant';
import { describeError, type ErrorSummary, RuntimeError } from '../../errors/runtime-error';
import { selectModel } from '../../models/select-model';
import { withFallback } from '../../models/with-fallback';
import type { RunPlan } from '../run';

export interface ModelRequirements {
  readonly config: AgentTask['config'];
  /** Settings of the task itself. */
  readonly asked: AgentTask['config'];
  readonly snapshot: TenantSnapshot;
  readonly budget: Budget;
  readonly models: Models;
  readonly connected: Pick<Connected, 'model' | 'fallback'>;
  /** A run that this one works for has a limit of money. */
  readonly isLimitedAbove?: boolean;
}

interface ChosenModel extends Pick<RunPlan, 'selected' | 'model' | 'modelIds' | 'warnings'> {
  /** Nothing is billed as long as nothing costs anything: the tier's row says so, and only its own model is asked. */
  readonly isFree: boolean;
}

/**
 * The model of a run: the connected one, or the tier's. Throws MODEL_MISSING, MODEL_UNPRICED for either of model and
 * fallback where money is limited, and what `selectModel` throws.
 */
export function chooseModel(required: ModelRequirements): ChosenModel {
  const { config, asked, snapshot, budget, models, connected, isLimitedAbove } = required;
  const { tenant, tiers } = snapshot;
  const { model: own, fallback } = connected;
  const selected = selectModel({
    tier: config.agent_tier,
    modelOverride: config.model_override,
    connectedModel: own?.name,
    settings: tenant.settings,
    tierRows: tiers,
  });
  const [first, ...others] = own === undefined ? models(selected.modelId) : [own];
  if (first === undefined) throw new RuntimeError('MODEL_MISSING');
  const next = fallback === undefined ? others : [...others, fallback];
  const modelIds = [first, ...next].map(({ name }) => name);
  refuseUnpriced(modelIds, { snapshot, budget, isLimitedAbove });
  const warnings = own === undefined ? [] : unusedSettings(asked);
  return {
    selected,
    isFree: isFree(selected.tier, { modelIds, snapshot }),
    model: withFallback(first, next),
    modelIds,
    warnings,
  };
}

function refuseUnpriced(
  modelIds: readonly string[],
  { snapshot, budget, isLimitedAbove = false }: Pick<ModelRequirements, 'snapshot' | 'budget' | 'isLimitedAbove'>,
): void {
  const isLimited = isLimitedAbove || budget.maxCostUsd !== undefined || budget.monthly?.costLimitUsd !== undefined;
  const unpriced = modelIds.find((id) => findPrice(snapshot.prices, [id]) === undefined);
  if (isLimited && unpriced !== undefined) throw new RuntimeError('MODEL_UNPRICED', { model: unpriced });
}

/** Only the free tier's own model is free, and only while it costs nothing as far as we know. */
function isFree(
  tier: Tier,
  { modelIds, snapshot }: Pick<ChosenModel, 'modelIds'> & Pick<ModelRequirements, 'snapshot'>,
): boolean {
  return (
    tier.isFree === true && modelIds.every((id) => id === tier.modelId) && !isPriced(snapshot.prices, tier.modelId)
  );
}

/** What a task asks of the tier's model, and a connected one has in its own hands. */
function unusedSettings(config: AgentTask['config']): readonly ErrorSummary[] {
  const { model_override, temperature, max_tokens, model_silence_seconds } = config;
  const { planner_tier, supervisor_tier, step_tier } = config;
  const ofPlan = { planner_tier, supervisor_tier, step_tier };
  const unused = Object.entries({ model_override, temperature, max_tokens, model_silence_seconds, ...ofPlan })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name);
  return unused.length === 0 ? [] : [describeError('MODEL_SETTINGS_UNUSED', { settings: unused.join(', ') })];
}
