import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { readTenant } from '../tenants/tenant-rows';
import { fileName, period } from './period';

export const reportUsage = operation({
  name: 'usage.report',
  title: 'HTML Report',
  action: 'Make an HTML report',
  description: 'Cost by day, tenant, model and tier with charts, models and tools, as one file',
  input: strictObject(period),
  run: async ({ postgres: { query } }, lines) => {
    const tenant = lines.tenantId === undefined ? undefined : (await readTenant(query, lines.tenantId)).name;
    // The charts' library comes with it.
    const { makeReport } = await import('./report/make-report');
    return {
      file_name: `${fileName(lines)}.html`,
      mime_type: 'text/html',
      text: await makeReport(query, lines, tenant),
    };
  },
});
