import { type DatabaseConfig, parseDatabase } from '../config/runtime-config';
import { createPostgres } from '../storage/postgres/pool';
import { listTenantToolsStatement } from '../storage/sql/list-catalog';

export interface CatalogEntry {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
}

/**
 * The tools that a tenant has, in the order in which they are offered, without asking a server. Opens and closes a connection of
 * its own: a picker must not keep one for as long as the editor is open.
 */
export async function listTenantTools(database: DatabaseConfig, tenantId: string): Promise<readonly CatalogEntry[]> {
  const postgres = createPostgres({ ...parseDatabase(database), maxConnections: 1 });
  try {
    return await postgres.query<CatalogEntry>(listTenantToolsStatement(tenantId));
  } finally {
    await postgres.close();
  }
}
