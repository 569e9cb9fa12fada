import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { readToolRules } from '../../permissions/read-tool-rules';
import { LIST_TIER_ENTRIES, type TierEntry, TIERS_TABLE } from '../../storage/sql/admin/manage-tiers';
import { insertRow, missingColumn, type Table, updateRow } from '../../storage/sql/admin/write-row';
import type { Query } from '../../storage/statement';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { labelField, modelIdField, objectField } from '../read-input';
import { checkRules } from '../tools/check-rules';

const input = strictObject({
  code: z.string().regex(/^[a-zA-Z0-9_-]{1,20}$/, 'must be letters, digits, _ and -, at most 20 of them'),
  name: labelField(100).optional(),
  modelId: modelIdField.optional(),
  maxTokens: z.int().min(1).max(2_147_483_647).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  modelSilenceSeconds: z.number().min(1).max(86_400).nullish(),
  isFree: z.boolean().optional(),
  rank: z.int().min(0).max(1_000_000).nullish(),
  toolConfig: objectField.nullish(),
});

export const setTier = operation({
  name: 'tier.set',
  title: 'Set',
  action: 'Set a tier',
  description: 'Make a tier, or change one',
  input,
  run: async ({ postgres: { transaction }, codeTools }, tier) => {
    const rules = readToolRules(tier.toolConfig, 'elo_agent_tiers.tool_config');
    return transaction(async (query) => {
      await checkRules(query, [rules], codeTools);
      return write(query, tier);
    });
  },
});

async function write(query: Query, { code, ...given }: z.output<typeof input>): Promise<TierEntry> {
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
      throw new RuntimeError('ADMIN_INPUT_INVALID', { operation: 'tier.set', issues: 'a new tier needs modelId' });
    }
    await query(insertRow(table, { code, ...values, name: given.name ?? code }));
  }
  const entries = await query<TierEntry>(LIST_TIER_ENTRIES);
  return entries.find((entry) => entry.code === code) as TierEntry;
}
