import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import type { TenantEntry } from '../../storage/sql/admin/manage-tenants';
import { insertRow, lockName } from '../../storage/sql/admin/write-row';
import type { Query } from '../../storage/statement';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { labelField, objectField, uuidField } from '../read-input';
import { giveTool } from '../tools/tenant-tools';
import { changeTenant, checkedTenant, findOneTenant, tenantsTable } from './tenant-rows';

const input = strictObject({
  name: labelField(255).meta({ placeholder: 'Acme Bikes', description: 'What people call the tenant' }),
  tools: z
    .array(z.string())
    .default([])
    .meta({ picker: 'tool', title: 'Tool', description: 'The tools that the tenant gets' }),
  settings: objectField.optional().meta({ panel: 'settings' }),
  id: uuidField.optional().meta({
    group: 'more',
    description: 'A UUID of your own. Without one, the database makes it.',
  }),
});
type Given = z.output<typeof input>;

export const createTenant = operation({
  name: 'tenant.create',
  title: 'Create',
  action: 'Create a tenant',
  description: 'Add a tenant, and give it tools',
  input,
  run: ({ postgres: { transaction }, codeTools }, given) =>
    transaction(async (query) => furnish(query, await create(query, given), { ...given, codeTools })),
});

export const setTenant = operation({
  name: 'tenant.set',
  title: 'Create or Update',
  action: 'Create or update a tenant',
  description: 'Add a tenant, or change the one that has this ID or name; can be repeated',
  input,
  run: ({ postgres: { transaction }, codeTools }, given) =>
    transaction(async (query) => furnish(query, await createOrChange(query, given), { ...given, codeTools })),
});

async function furnish(
  query: Query,
  tenantId: string,
  { tools, settings, codeTools }: Given & { readonly codeTools: readonly string[] },
): Promise<TenantEntry> {
  // In one order for all processes, which would wait for each other else.
  for (const code of [...tools].sort()) await giveTool(query, { tenantId, code });
  return checkedTenant(query, tenantId, { changed: Object.keys(settings ?? {}), codeTools });
}

async function create(query: Query, { tools: _tools, ...values }: Given): Promise<string> {
  await query(lockName({ kind: 'tenant', name: values.name }));
  const [made] = await query<{ id: string }>(insertRow(await tenantsTable(query, values), values));
  if (made === undefined) throw new RuntimeError('TENANT_EXISTS', { tenantId: values.id });
  return made.id;
}

/** Writes the tenant that is meant, and returns its id. Others that look for the same one wait. Throws TENANT_AMBIGUOUS. */
async function createOrChange(query: Query, given: Given): Promise<string> {
  const { id, name, settings } = given;
  await query(lockName({ kind: 'tenant', name }));
  if (id !== undefined) await query(lockName({ kind: 'tenant ID', name: id }));
  const tenantId = await findOneTenant(query, { id, name });
  if (tenantId === undefined) return create(query, given);
  await changeTenant(query, tenantId, { name, settings });
  return tenantId;
}
