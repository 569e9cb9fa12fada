import * as z from 'zod/v4';

import { type CatalogueEntry, listTools as listStatement } from '../../storage/sql/admin/manage-tools';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { limitField, tenantIdField, toPage } from '../read-input';

export const listTools = operation({
  name: 'tool.list',
  title: 'List',
  action: 'List tools',
  description: 'The catalogue, or everything that a tenant is offered',
  needs: ['vault'],
  lists: 'tools',
  input: strictObject({
    tenantId: tenantIdField.optional(),
    tier: z.string().optional().meta({ group: 'filters', picker: 'tier' }),
    agent: z.string().optional().meta({ group: 'filters' }),
    filter: z.string().max(255).optional().meta({ group: 'filters', title: 'Code or Name Contains' }),
    limit: limitField.default(100),
    after: z.string().optional(),
  })
    .refine(
      ({ tenantId, tier, agent }) => tenantId !== undefined || (tier ?? agent) === undefined,
      'has a tier or agent without a tenant',
    )
    .refine(
      ({ tenantId, filter }) => tenantId === undefined || filter === undefined,
      'has a filter, which is of the catalogue alone',
    ),
  run: async ({ postgres: { query }, tenantTools }, { tenantId, tier, agent, limit, ...given }) => {
    if (tenantId !== undefined) return tenantTools.list({ tenantId, tier, agent });
    const rows = await query<CatalogueEntry>(listStatement({ ...given, rows: limit + 1 }));
    const page = toPage(rows, limit, ({ code }) => code);
    return { tools: page.rows, next: page.next };
  },
});
