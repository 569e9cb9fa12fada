import type { JsonValue } from '../../../util/json';
import { statement } from '../../statement';
import { tableStatement } from './write-row';

/** A tier, and the price of its model for a million tokens; null where the model has none. */
export interface TierEntry {
  readonly code: string;
  readonly name: string | null;
  readonly model_id: string | null;
  readonly max_tokens: number | null;
  readonly temperature: string | null;
  readonly model_silence_seconds: number | null;
  readonly is_free: boolean;
  readonly rank: number | null;
  readonly tool_config: JsonValue;
  readonly input_cost_per_1m: string | null;
  readonly output_cost_per_1m: string | null;
}

/** The lowest tier first. */
export const LIST_TIER_ENTRIES = statement(`
SELECT tier.code, tier.name, tier.model_id, tier.max_tokens, tier.temperature::text AS temperature,
  (to_jsonb(tier) ->> 'model_silence_seconds')::float8 AS model_silence_seconds,
  coalesce((to_jsonb(tier) ->> 'is_free')::boolean, false) AS is_free, tier.rank, tier.tool_config,
  price.input_cost_per_1m::text AS input_cost_per_1m, price.output_cost_per_1m::text AS output_cost_per_1m
FROM elo_agent_tiers AS tier LEFT JOIN LATERAL (
  SELECT input_cost_per_1m, output_cost_per_1m FROM elo_model_pricing WHERE model_id = tier.model_id LIMIT 1
) AS price ON true
ORDER BY tier.rank NULLS LAST, tier.code`);

export const TIERS_TABLE = tableStatement('elo_agent_tiers');
