import type { TierEntry } from '../../storage/sql/admin/manage-tiers';
import type { JsonObject } from '../../util/json';

/** What is left out of a tier that is there stays as it is; null empties it. */
export interface TierChange {
  /** Letters, digits, `_` and `-`, at most 20. */
  readonly code: string;
  readonly name?: string;
  /** Has to be there for a new tier. */
  readonly modelId?: string;
  /** Tokens of one reply. */
  readonly maxTokens?: number | null;
  readonly temperature?: number | null;
  /** Limit of the time without a byte of a reply; at most a day. */
  readonly modelSilenceSeconds?: number | null;
  /** Not billed, as long as it runs its own model and that one has no price above zero. */
  readonly isFree?: boolean;
  /** Tiers are ranked by it for a tenant's `max_tier`. */
  readonly rank?: number | null;
  /** Rules for tools, for every tenant on this tier. */
  readonly toolConfig?: JsonObject | null;
}

/** The tiers. Every method rejects with ADMIN_INPUT_INVALID, POLICY_INVALID, RULE_UNMATCHED or a DB_ code; then nothing has changed. */
export interface TierAdmin {
  /** All of them, with the prices of their models; the lowest one first. */
  readonly list: () => Promise<{ readonly tiers: readonly TierEntry[] }>;
  /** Makes a tier, or changes one. */
  readonly set: (tier: TierChange) => Promise<TierEntry>;
}
