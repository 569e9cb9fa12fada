import { RuntimeError } from '../errors/runtime-error';
import { monthlyUsageStatement, unknownUsageStatement } from '../storage/sql/usage-report';
import { UsageError, type Options } from './arguments';
import { openDatabase } from './environment';
import { printJson } from './output';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** `usage --tenant ID`: the bill by month, and the calls whose usage is unknown. */
export async function usageCommand({ tenant }: Options): Promise<number> {
  if (tenant === undefined) throw new UsageError('usage needs --tenant ID.');
  if (!UUID.test(tenant)) throw new RuntimeError('TENANT_ID_INVALID', { tenantId: tenant });
  const postgres = openDatabase();
  try {
    const [months, unknown] = await Promise.all([
      postgres.query(monthlyUsageStatement(tenant)),
      postgres.query(unknownUsageStatement(tenant)),
    ]);
    printJson({ tenant_id: tenant, months, unknown_usage: unknown });
    return 0;
  } finally {
    await postgres.close();
  }
}
