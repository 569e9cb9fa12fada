import { RuntimeError } from '../../errors/runtime-error';
import {
  findTenants,
  getTenant,
  patchSettingsStatement,
  readSettings,
  type TenantEntry,
  TENANTS_TABLE,
} from '../../storage/sql/admin/manage-tenants';
import { missingColumn, type RowValues, type Table, updateRow } from '../../storage/sql/admin/write-row';
import type { Query } from '../../storage/statement';
import { asObject } from '../../tenants/read-object';
import type { TenantChange } from '../contract/tenant';
import { checkSettings } from './check-settings';

/** Throws TENANT_NOT_FOUND. */
export async function readTenant(query: Query, tenantId: string): Promise<TenantEntry> {
  const [row] = await query<TenantEntry>(getTenant({ tenantId }));
  if (row === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
  return toEntry(row);
}

/** An adopted table may keep settings as text, or have none. */
export function toEntry(row: TenantEntry): TenantEntry {
  return { ...row, settings: asObject(row.settings) };
}

interface Checks {
  /** Settings that are checked beyond what every run reads. */
  readonly changed: readonly string[];
  readonly codeTools: readonly string[];
}

/** What was written is checked as it stands: the transaction takes it back where no run could read it. */
export async function checkedTenant(query: Query, tenantId: string, checks: Checks): Promise<TenantEntry> {
  const [row] = await query<{ settings: string | null }>(readSettings({ tenantId }));
  await checkSettings(query, row?.settings ?? null, checks);
  return readTenant(query, tenantId);
}

/** The id of the tenant with this id or else this name; undefined if there is none. Throws TENANT_AMBIGUOUS. */
export async function findOneTenant(
  query: Query,
  given: { readonly id?: string; readonly name: string },
): Promise<string | undefined> {
  const found = (await query<{ id: string }>(findTenants(given))).map(({ id }) => id);
  if (found.length > 1) throw new RuntimeError('TENANT_AMBIGUOUS', { name: given.name, ids: found.join(', ') });
  return found[0];
}

/** Throws TENANT_NOT_FOUND or TENANT_COLUMN_MISSING. */
export async function changeTenant(
  query: Query,
  tenantId: string,
  { settings, ...values }: Omit<TenantChange, 'tenantId'> & { readonly is_active?: boolean },
): Promise<void> {
  const table = await tenantsTable(query, { ...values, settings });
  await readTenant(query, tenantId);
  if (values.name !== undefined || values.is_active !== undefined) {
    await query(updateRow(table, { id: tenantId }, values));
  }
  if (settings !== undefined) await query(patchSettingsStatement(table, tenantId, settings));
}

/** Throws TENANT_COLUMN_MISSING for a value that the table has no column for. */
export async function tenantsTable(query: Query, values: RowValues): Promise<Table> {
  const [table] = await query<Table>(TENANTS_TABLE);
  if (table === undefined) throw new RuntimeError('DB_SCHEMA_MISSING', { reason: 'there is no table of tenants' });
  const column = missingColumn(table, values);
  if (column !== undefined) throw new RuntimeError('TENANT_COLUMN_MISSING', { table: table.name, column });
  return table;
}
