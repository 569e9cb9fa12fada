import { readTenant } from '../arguments';
import { command, TENANT } from '../command';
import { openInstallation } from '../environment';
import { printJson } from '../output';

export const diagnosticsCommand = command({
  words: 'diagnostics',
  usage: '[--tenant ID]',
  help: 'Look at database, schema, rows, vault, Redis, model provider and tool servers; exit 1 unless all of them are up.',
  options: { tenant: TENANT },
  run: async (options) => {
    const tenantId = options.tenant === undefined ? undefined : readTenant(options, 'diagnostics');
    const runtime = openInstallation();
    try {
      const summary = await runtime.admin.diagnostics.summary({ tenantId });
      printJson(summary);
      return summary.overall_status === 'HEALTHY' ? 0 : 1;
    } finally {
      await runtime.close();
    }
  },
});
