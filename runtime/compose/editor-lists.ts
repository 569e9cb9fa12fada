import { type DatabaseConfig, parseDatabase } from '../config/runtime-config';
import { createPostgres } from '../storage/postgres/pool';
import { listTenantsStatement, listTenantToolsStatement } from '../storage/sql/list-catalog';
import type { Statement } from '../storage/statement';

export interface CatalogEntry {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
}

/** Active tenants for a picker, at most 100. Rejects with a DB_ code. */
export function listTenants(database: DatabaseConfig, filter = ''): Promise<readonly CatalogEntry[]> {
  return queryOnce(database, listTenantsStatement(filter));
}

/** The tools that a tenant has, in the order in which they are offered. */
export function listTenantTools(database: DatabaseConfig, tenantId: string): Promise<readonly CatalogEntry[]> {
  return queryOnce(database, listTenantToolsStatement(tenantId));
}

/** A picker opens and closes its own connection: it must not keep one for as long as the editor is open. */
async function queryOnce(database: DatabaseConfig, statement: Statement): Promise<readonly CatalogEntry[]> {
  const postgres = createPostgres({ ...parseDatabase(database), maxConnections: 1 });
  try {
    return await postgres.query<CatalogEntry>(statement);
  } finally {
    await postgres.close();
  }
}
