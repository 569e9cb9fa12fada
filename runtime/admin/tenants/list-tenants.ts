import * as z from 'zod/v4';

import { listTenants as listStatement, type TenantEntry } from '../../storage/sql/admin/manage-tenants';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { cursorField, limitField, toCursor, toPage } from '../read-input';
import { toEntry } from './tenant-rows';

export const listTenants = operation({
  name: 'tenant.list',
  title: 'List',
  action: 'List tenants',
  description: 'Tenants by name',
  lists: 'tenants',
  input: strictObject({
    filter: z.string().max(255).optional().meta({
      group: 'filters',
      title: 'Name Contains',
      description: 'A part of the name, or the beginning of an ID',
    }),
    active: z.boolean().optional().meta({
      group: 'filters',
      initial: true,
      description: 'Whether to list active tenants or those that are not',
    }),
    limit: limitField.default(100),
    after: cursorField(z.tuple([z.string(), z.uuid()])).optional(),
  }),
  run: async ({ postgres: { query } }, asked) => {
    const { limit, after: [afterName, afterId] = [], ...given } = asked;
    const rows = await query<TenantEntry>(listStatement({ ...given, afterName, afterId, rows: limit + 1 }));
    const page = toPage(rows, limit, ({ name, id }) => toCursor([name, id]));
    return { tenants: page.rows.map(toEntry), next: page.next };
  },
});
