import { listExecutionsStatement } from '../../storage/sql/list-executions';
import { readTenant } from '../arguments';
import { command, TENANT, TEXT } from '../command';
import { withDatabase } from '../environment';
import { printJson } from '../output';

export const auditCommand = command({
  words: 'audit',
  usage: '--tenant ID [--task ID]',
  help: 'The newest tool calls, and what was decided on each.',
  options: { tenant: TENANT, task: TEXT },
  run: (options) => {
    const tenant = readTenant(options, 'audit');
    return withDatabase(async ({ query }) => {
      printJson({ tenant_id: tenant, calls: await query(listExecutionsStatement(tenant, options.task)) });
      return 0;
    });
  },
});
