import type { Statement } from '../../statement';
import { named } from '../named';
import { tableStatement } from './write-row';

/** The owner of a row with this name; without a tenant the row is for all of them. */
export interface RowOwner {
  readonly tenantId?: string;
  readonly name: string;
}

/** Condition for the row of an owner. */
export const OF_OWNER = 'tenant_id IS NOT DISTINCT FROM :tenantId::uuid AND name = :name';

/** Statements on a table whose rows belong to one tenant or to all, each name once for each owner. */
export interface ScopedRows {
  readonly table: string;
  readonly columns: Statement;
  readonly lock: (owner: RowOwner) => Statement;
  readonly remove: (owner: RowOwner) => Statement;
}

export function scopedRows(table: string): ScopedRows {
  return {
    table,
    columns: tableStatement(table),
    lock: named<RowOwner>(`SELECT id::text AS id FROM ${table} WHERE ${OF_OWNER} FOR UPDATE`),
    remove: named<RowOwner>(`DELETE FROM ${table} WHERE ${OF_OWNER} RETURNING id`),
  };
}
