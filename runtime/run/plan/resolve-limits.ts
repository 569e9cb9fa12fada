import type { TaskConfig } from '../../contracts/task';
import type { TenantSettings, Tier } from '../../contracts/tenant';
import { describeError, type ErrorSummary } from '../../errors/runtime-error';

interface RunLimits {
  readonly maxIterations: number;
  readonly temperature?: number;
  readonly maxTokens?: number;
}

/** Precedence: task, tenant, tier, default. The tenant's limit and the hard ceiling always win. */
export function resolveLimits(request: {
  readonly config: TaskConfig;
  readonly settings: TenantSettings;
  readonly tier: Tier;
  readonly defaults: { readonly maxIterations: number; readonly iterationCeiling: number };
}): { readonly limits: RunLimits; readonly warnings: readonly ErrorSummary[] } {
  const { config, settings, tier, defaults } = request;
  const ceiling = Math.min(settings.maxIterations ?? defaults.iterationCeiling, defaults.iterationCeiling);
  const asked = config.max_iterations ?? settings.maxIterations ?? defaults.maxIterations;
  const maxIterations = Math.min(asked, ceiling);
  const isClamped = config.max_iterations !== undefined && config.max_iterations > maxIterations;
  return {
    limits: {
      maxIterations,
      temperature: config.temperature ?? tier.temperature,
      maxTokens: config.max_tokens ?? tier.maxTokens,
    },
    warnings: isClamped
      ? [describeError('ITERATIONS_CLAMPED', { asked, maxIterations, ceiling: defaults.iterationCeiling })]
      : [],
  };
}
