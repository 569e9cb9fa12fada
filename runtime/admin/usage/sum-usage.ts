import * as z from 'zod/v4';

import {
  topSpenders as spendersStatement,
  unknownUsage as unknownStatement,
  USAGE_GROUPS,
  type UsageGroup,
  usageStatement,
} from '../../storage/sql/usage-report';
import type { JsonObject } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { limitField } from '../read-input';
import { period } from './period';

export const sumUsage = operation({
  name: 'usage.summary',
  title: 'Summary',
  action: 'Sum up usage',
  description: 'Tokens and cost by tenant, month, model, tier or client',
  lists: 'usage',
  input: strictObject({
    ...period,
    by: z
      .array(z.enum(USAGE_GROUPS as readonly [UsageGroup, ...UsageGroup[]]))
      .min(1)
      .default(['month', 'model', 'tier'])
      .meta({ title: 'Group By', description: 'One item for each combination that there is' }),
  }),
  run: async ({ postgres: { query } }, { by, ...lines }) => {
    const usage = await query<JsonObject>(usageStatement([...new Set(by)], lines));
    // An adopted bill may have lines of tenants that are gone.
    if (usage.length === 0 && lines.tenantId !== undefined) await checkTenant(query, lines.tenantId);
    return { usage };
  },
});

export const topSpenders = operation({
  name: 'usage.topSpenders',
  title: 'Top Spenders',
  action: 'List top spenders',
  description: 'The tenants that spent most',
  lists: 'spenders',
  input: strictObject({
    from: period.from,
    until: period.until,
    limit: limitField.default(20).meta({ initial: 50, description: 'Max number of results to return' }),
  }),
  run: async ({ postgres: { query } }, { limit, ...lines }) => ({
    spenders: await query<JsonObject>(spendersStatement({ ...lines, rows: limit })),
  }),
});

export const unknownUsage = operation({
  name: 'usage.unknown',
  title: 'Unknown Usage',
  action: 'List unknown usage',
  description: 'Requests whose usage nobody knows, and that are on no bill',
  lists: 'unknown_usage',
  input: strictObject({ tenantId: period.tenantId }),
  run: async ({ postgres: { query } }, given) => ({ unknown_usage: await query<JsonObject>(unknownStatement(given)) }),
});
