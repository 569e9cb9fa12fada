import type { TenantSettings, Tier } from '../contracts/tenant';
import { RuntimeError } from '../errors/runtime-error';
import { FALLBACK_TIER, mergeTiers } from './tiers';

export interface SelectedModel {
  readonly tier: Tier;
  readonly modelId: string;
}

export interface ModelChoice {
  readonly tier?: string;
  readonly modelOverride?: string;
  /** The id of a model that the host has connected: it needs no tier that allows it, only a price. */
  readonly connectedModel?: string;
  readonly settings: TenantSettings;
  readonly tierRows: readonly Tier[];
}

/** `openai:gpt-4o` and `openai/gpt-4o` name the same model; the colon of `qwen/qwen3-4b:free` is part of an id. */
export function normalizeModelId(id: string): string {
  return id.includes('/') ? id : id.replace(':', '/');
}

/**
 * The model for a tier, or for an override within what the tenant may use.
 * Throws TIER_UNKNOWN, TIER_NOT_ALLOWED or MODEL_NOT_ALLOWED; calls nothing.
 */
export function selectModel(request: ModelChoice): SelectedModel {
  const { settings } = request;
  const tiers = mergeTiers(request.tierRows);
  const tier = findTier(tiers, request.tier ?? settings.defaultTier ?? FALLBACK_TIER);
  const modelId =
    request.connectedModel ??
    (request.modelOverride === undefined ? tier.modelId : normalizeModelId(request.modelOverride));
  if (settings.maxTier !== undefined) {
    const isGranted = request.connectedModel !== undefined;
    refuseAboveLimit(tiers, settings.maxTier, { tier, modelId: isGranted ? tier.modelId : modelId });
  }
  return { tier, modelId };
}

function refuseAboveLimit(
  tiers: readonly Tier[],
  maxTier: string,
  { tier, modelId }: { readonly tier: Tier; readonly modelId: string },
): void {
  const allowed = allowedTiers(tiers, maxTier);
  if (!allowed.includes(tier)) throw new RuntimeError('TIER_NOT_ALLOWED', { tier: tier.code, maxTier });
  if (allowed.some((candidate) => candidate.modelId === modelId)) return;
  throw new RuntimeError('MODEL_NOT_ALLOWED', { model: modelId, maxTier });
}

/** Throws TIER_UNKNOWN, which names those that there are. */
export function findTier(tiers: readonly Tier[], code: string): Tier {
  const tier = tiers.find((candidate) => candidate.code === code);
  if (tier !== undefined) return tier;
  throw new RuntimeError('TIER_UNKNOWN', { tier: code, knownTiers: tiers.map((known) => known.code).join(', ') });
}

/** Every tier up to the tenant's highest. A tier without a rank is above every limit. */
function allowedTiers(tiers: readonly Tier[], maxTier: string): readonly Tier[] {
  const limit = findTier(tiers, maxTier).rank ?? -Infinity;
  return tiers.filter((tier) => tier.code === maxTier || (tier.rank ?? Infinity) <= limit);
}
