import { RuntimeError } from '../errors/runtime-error';
import type { RowOwner, ScopedRows } from '../storage/sql/admin/scoped-rows';
import { insertRow, lockName, type RowValues, type Table, updateRow } from '../storage/sql/admin/write-row';
import type { Query } from '../storage/statement';
import type { ScopeShown } from './contract/scope';
import { shownScope } from './scope';

/** A kind of row that belongs to one tenant or to all. */
export interface ScopedKind {
  readonly rows: ScopedRows;
  readonly exists: (name: string) => RuntimeError;
  /** `owner` is a subject and its verb: `Tenant 7 has`. */
  readonly unknown: (owner: string, name: string) => RuntimeError;
}

/** Operations on a row: create may insert it, update may change it, set may do both. */
export interface WriteMode {
  readonly mayInsert: boolean;
  readonly mayUpdate: boolean;
}

/** Writes the row of an owner within a transaction. Rejects with the kind's `exists` or `unknown`. */
export async function writeScopedRow(
  query: Query,
  kind: ScopedKind,
  { owner, values, mayInsert, mayUpdate }: WriteMode & { readonly owner: RowOwner; readonly values: RowValues },
): Promise<void> {
  const { rows } = kind;
  await query(lockName({ kind: rows.table, name: `${owner.tenantId ?? ''} ${owner.name}` }));
  const [table] = await query<Table>(rows.columns);
  if (table === undefined) throw new RuntimeError('DB_SCHEMA_MISSING', { reason: `there is no table ${rows.table}` });
  const [row] = await query<{ id: string }>(rows.lock(owner));
  if (row === undefined) {
    if (!mayInsert) throw unknownRow(kind, owner);
    await query(insertRow(table, { tenant_id: owner.tenantId, name: owner.name, ...values }));
  } else {
    if (!mayUpdate) throw kind.exists(owner.name);
    await query(updateRow(table, { id: row.id }, values));
  }
}

/** Deletes the row of an owner. Rejects with the kind's `unknown`. */
export async function deleteScopedRow(
  query: Query,
  kind: ScopedKind,
  owner: RowOwner,
): Promise<ScopeShown & { readonly name: string; readonly deleted: true }> {
  const deleted = await query(kind.rows.remove(owner));
  if (deleted.length === 0) throw unknownRow(kind, owner);
  return { ...shownScope(owner.tenantId), name: owner.name, deleted: true };
}

export function unknownRow({ unknown }: ScopedKind, { tenantId, name }: RowOwner): RuntimeError {
  return unknown(tenantId === undefined ? 'All tenants together have' : `Tenant ${tenantId} has`, name);
}
