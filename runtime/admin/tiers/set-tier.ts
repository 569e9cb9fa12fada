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
  code: z
    .string()
    .regex(/^[a-zA-Z0-9_-]{1,20}$/, 'must be letters, digits, _ and -, at most 20 of them')
    .meta({ placeholder: 'pro', description: 'A new code makes a new tier' }),
  modelId: modelIdField.optional().meta({
    title: 'Model',
    placeholder: 'openai/gpt-4o-mini',
    description: 'Empty leaves the model of the tier as it is',
  }),
  name: labelField(100).optional().meta({ group: 'more', description: 'What people call the tier' }),
  maxTokens: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .nullish()
    .meta({ group: 'more', initial: 1000, description: 'How many tokens one reply of the model may have' }),
  temperature: z
    .number()
    .min(0)
    .max(2)
    .nullish()
    .meta({ group: 'more', initial: 0.5, precision: 2, description: 'How freely the model answers' }),
  modelSilenceSeconds: z
    .number()
    .min(1)
    .max(86_400)
    .nullish()
    .meta({ group: 'more', initial: 120, description: 'How long the model may send nothing' }),
  isFree: z.boolean().optional().meta({
    group: 'more',
    title: 'Free',
    description: 'Whether the tier is not billed, as long as its model has no price above zero',
  }),
  rank: z
    .int()
    .min(0)
    .max(1_000_000)
    .nullish()
    .meta({ group: 'more', initial: 1, description: 'Tiers are ranked by it for the highest tier of a tenant' }),
  toolConfig: objectField.nullish().meta({
    group: 'more',
    title: 'Tool Rules',
    description: 'Rules for tools, for every tenant on this tier',
  }),
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
