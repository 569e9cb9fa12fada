import * as z from 'zod/v4';

import { RuntimeError } from '../errors/runtime-error';
import { readToolRules } from '../permissions/read-tool-rules';
import type { Postgres } from '../storage/postgres/pool';
import { LIST_TIER_ENTRIES, type TierEntry, TIERS_TABLE } from '../storage/sql/admin/manage-tiers';
import { insertRow, missingColumn, type Table, updateRow } from '../storage/sql/admin/write-row';
import type { Query } from '../storage/statement';
import type { JsonObject } from '../util/json';
import { strictObject } from '../util/known-keys';
import { labelField, objectField, readInput } from './read-input';
import { checkRules } from './tools/check-rules';

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

const shape = strictObject({
  code: z.string().regex(/^[a-zA-Z0-9_-]{1,20}$/, 'must be letters, digits, _ and -, at most 20 of them'),
  name: labelField(100).optional(),
  modelId: z
    .string()
    .regex(/^\S{1,100}$/, 'must be an id of at most 100 characters, without spaces')
    .optional(),
  maxTokens: z.int().min(1).max(2_147_483_647).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  modelSilenceSeconds: z.number().min(1).max(86_400).nullish(),
  isFree: z.boolean().optional(),
  rank: z.int().min(0).max(1_000_000).nullish(),
  toolConfig: objectField.nullish(),
});

export function createTierAdmin({ query, transaction }: Postgres, codeTools: readonly string[] = []): TierAdmin {
  return {
    list: async () => ({ tiers: await query<TierEntry>(LIST_TIER_ENTRIES) }),
    set: async (input) => {
      const tier = readInput(shape, input, 'tier set');
      const rules = readToolRules(tier.toolConfig, 'elo_agent_tiers.tool_config');
      return transaction(async (inside) => {
        await checkRules(inside, [rules], codeTools);
        return write(inside, tier);
      });
    },
  };
}

async function write(query: Query, { code, ...given }: z.output<typeof shape>): Promise<TierEntry> {
  const values = {
    name: given.name,
    model_id: given.modelId,
    max_tokens: given.maxTokens,
    temperature: given.temperature,
    model_silence_seconds: given.modelSilenceSeconds,
    is_free: given.isFree,
    rank: given.rank,
    tool_config: given.toolConfig,
  };
  const [table] = await query<Table>(TIERS_TABLE);
  const column = table === undefined ? 'code' : missingColumn(table, values);
  if (table === undefined || column !== undefined) {
    throw new RuntimeError('DB_SCHEMA_MISSING', { reason: `elo_agent_tiers has no column "${String(column)}"` });
  }
  const updated = await query(updateRow(table, { code }, { code, ...values }));
  if (updated.length === 0) {
    if (given.modelId === undefined) {
      throw new RuntimeError('ADMIN_INPUT_INVALID', { operation: 'tier set', issues: 'a new tier needs modelId' });
    }
    await query(insertRow(table, { code, ...values, name: given.name ?? code }));
  }
  const entries = await query<TierEntry>(LIST_TIER_ENTRIES);
  return entries.find((entry) => entry.code === code) as TierEntry;
}
