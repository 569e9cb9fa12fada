import { type DatabaseConfig, parseDatabase } from '../config/runtime-config';
import { createSqlReader } from '../storage/postgres/sql-reader';

const TIMEOUT_MS = 20_000;
const NO_TENANT = '00000000-0000-0000-0000-000000000000';

/** Logs in as the role for queries, as sql_query does. Rejects with CONFIG_INVALID, SQL_ROLE_UNSAFE or a DB_ code. */
export async function checkSqlRole(database: DatabaseConfig): Promise<void> {
  const reader = createSqlReader({ ...parseDatabase(database), maxConnections: 1 });
  try {
    await reader.read({
      tenantId: NO_TENANT,
      text: 'SELECT 1',
      maxRows: 1,
      maxBytes: 100,
      timeoutMs: TIMEOUT_MS,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } finally {
    await reader.close();
  }
}
