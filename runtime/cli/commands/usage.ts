import { RuntimeError } from '../../errors/runtime-error';
import {
  monthlyUsageStatement,
  tenantExistsStatement,
  unknownUsageStatement,
  USAGE_GROUPS,
  type UsageGroup,
} from '../../storage/sql/usage-report';
import { readTenant, UsageError } from '../arguments';
import { command, TEXT } from '../command';
import { withDatabase } from '../environment';
import { printJson } from '../output';

export const usageCommand = command({
  words: 'usage',
  usage: '--tenant ID [--by model|client|dialog|user|session]',
  help: "The tenant's tokens and cost by month, and the model calls whose usage is unknown.",
  options: { tenant: TEXT, by: TEXT },
  run: (options) => {
    const tenant = readTenant(options, 'usage');
    const by = readGroup(options.by);
    return withDatabase(async ({ query }) => {
      const [months, unknown, known] = await Promise.all([
        query(monthlyUsageStatement(tenant, by)),
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

function readGroup(by = 'model'): UsageGroup {
  const known = USAGE_GROUPS.find((group) => group === by);
  if (known === undefined) throw new UsageError(`usage --by takes one of ${USAGE_GROUPS.join(', ')}.`);
  return known;
}
