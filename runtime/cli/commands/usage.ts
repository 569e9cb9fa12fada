import { RuntimeError } from '../../errors/runtime-error';
import { monthlyUsageStatement, tenantExistsStatement, unknownUsageStatement } from '../../storage/sql/usage-report';
import { readTenant } from '../arguments';
import { command, TEXT } from '../command';
import { withDatabase } from '../environment';
import { printJson } from '../output';

export const usageCommand = command({
  words: 'usage',
  usage: '--tenant ID',
  help: "The tenant's tokens and cost by month, and the model calls whose usage is unknown.",
  options: { tenant: TEXT },
  run: (options) => {
    const tenant = readTenant(options, 'usage');
    return withDatabase(async ({ query }) => {
      const [months, unknown, known] = await Promise.all([
        query(monthlyUsageStatement(tenant)),
        query(unknownUsageStatement(tenant)),
        query(tenantExistsStatement(tenant)),
      ]);
      // An adopted bill may have lines of tenants that are gone.
      if (known.length === 0 && months.length === 0) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId: tenant });
      printJson({ tenant_id: tenant, months, unknown_usage: unknown });
      return 0;
    });
  },
});
