import { monthlyUsageStatement, unknownUsageStatement } from '../storage/sql/usage-report';
import { readTenant, type Options } from './arguments';
import { openDatabase } from './environment';
import { printJson } from './output';

/** `usage --tenant ID`: the bill by month, and the calls whose usage is unknown. */
export async function usageCommand(options: Options): Promise<number> {
  const tenant = readTenant(options, 'usage');
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
