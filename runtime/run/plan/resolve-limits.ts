import type { DEFAULTS } from '../../config/runtime-config';
import type { TaskConfig } from '../../contracts/task';
import type { TenantSettings, Tier } from '../../contracts/tenant';
import { describeError, type ErrorSummary } from '../../errors/runtime-error';
import type { LoopSettings } from '../../loop/loop-contract';

interface RunLimits extends Pick<LoopSettings, 'temperature' | 'maxTokens' | 'modelSilenceMs'> {
  readonly maxIterations: number;
}

interface LimitsRequest {
  readonly config: TaskConfig;
  readonly settings: TenantSettings;
  readonly tier: Tier;
  readonly defaults: Pick<typeof DEFAULTS, 'maxIterations' | 'iterationCeiling' | 'modelSilenceSeconds'>;
}

/** Precedence: task, tenant, tier, default. The tenant's limit and the hard ceiling always win. */
export function resolveLimits(request: LimitsRequest): {
  readonly limits: RunLimits;
  readonly warnings: readonly ErrorSummary[];
} {
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
      modelSilenceMs: silenceMs(request),
    },
    warnings: isClamped
      ? [describeError('ITERATIONS_CLAMPED', { asked, maxIterations, ceiling: defaults.iterationCeiling })]
      : [],
  };
}

function silenceMs({ config, settings, tier, defaults }: LimitsRequest): number {
  const asked = config.model_silence_seconds ?? settings.modelSilenceSeconds ?? tier.modelSilenceSeconds;
  return Math.ceil((asked ?? defaults.modelSilenceSeconds) * 1000);
}
