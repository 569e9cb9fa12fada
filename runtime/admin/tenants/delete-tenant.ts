import { RuntimeError } from '../../errors/runtime-error';
import { deleteTenantStatement } from '../../storage/sql/admin/manage-tenants';
import type { Query } from '../../storage/statement';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { tenantIdField } from '../read-input';
import { readTenant, tenantsTable } from './tenant-rows';

export const deleteTenant = operation({
  name: 'tenant.delete',
  title: 'Delete',
  action: 'Delete a tenant',
  description: 'Delete a tenant that is not active, with its tools, secrets, runs and bill',
  input: strictObject({ tenantId: tenantIdField }),
  run: async ({ postgres: { transaction } }, { tenantId }) => {
    await transaction((query) => remove(query, tenantId));
    return { tenant_id: tenantId, deleted: true as const };
  },
});

const FOREIGN_KEY = /violates foreign key constraint/;

async function remove(query: Query, tenantId: string): Promise<void> {
  const { is_active: isActive } = await readTenant(query, tenantId);
  if (isActive) throw new RuntimeError('TENANT_ACTIVE', { tenantId });
  const table = await tenantsTable(query, {});
  try {
    await query(deleteTenantStatement(table, tenantId));
  } catch (error) {
    const { message } = error as Error;
    if (!FOREIGN_KEY.test(message)) throw error;
    throw new RuntimeError('TENANT_IN_USE', { tenantId, reason: message }, { cause: error });
  }
}
