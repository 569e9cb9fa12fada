import { listExecutionsStatement } from '../../storage/sql/list-executions';
import { type Options, readTenant } from '../arguments';
import { openDatabase } from '../environment';
import { printJson } from '../output';

/** `audit --tenant ID [--task ID]`: the newest tool calls, with what was decided on each. */
export async function auditCommand(options: Options): Promise<number> {
  const tenant = readTenant(options, 'audit');
  const postgres = openDatabase();
  try {
    const calls = await postgres.query(listExecutionsStatement(tenant, options.task));
    printJson({ tenant_id: tenant, calls });
    return 0;
  } finally {
    await postgres.close();
  }
}
