import { RuntimeError } from '../../errors/runtime-error';
import { monthlyUsageStatement, tenantExistsStatement, unknownUsageStatement } from '../../storage/sql/usage-report';
import { type Options, readTenant } from '../arguments';
import { openDatabase } from '../environment';
import { printJson } from '../output';

/** `usage --tenant ID`: the bill by month, and the calls whose usage is unknown. Rejects with TENANT_NOT_FOUND. */
export async function usageCommand(options: Options): Promise<number> {
  const tenant = readTenant(options, 'usage');
  const postgres = openDatabase();
  try {
    const [months, unknown, known] = await Promise.all([
      postgres.query(monthlyUsageStatement(tenant)),
      postgres.query(unknownUsageStatement(tenant)),
      postgres.query(tenantExistsStatement(tenant)),
    ]);
    // An adopted bill may have lines of tenants that are gone.
    if (known.length === 0 && months.length === 0) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId: tenant });
    printJson({ tenant_id: tenant, months, unknown_usage: unknown });
    return 0;
  } finally {
    await postgres.close();
  }
}
