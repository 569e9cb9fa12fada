import { writeFile } from 'node:fs/promises';

import { USAGE_GROUPS, type UsageGroup } from '../../storage/sql/usage-report';
import { readTenant, readWhole, UsageError } from '../arguments';
import { command, TENANT, TEXT } from '../command';
import { withAdmin } from '../environment';

const PERIOD = { tenant: TENANT, from: TEXT, until: TEXT } as const;

export const usageCommands = [
  command({
    words: 'usage',
    usage: `[--tenant ID] [--by ${USAGE_GROUPS.join('|')},...] [--from DAY] [--until DAY] [--html FILE]`,
    help: `Tokens and cost by month, of one tenant or of all, and the model calls whose usage is unknown; with --html\na report with charts, as one file.`,
    options: { ...PERIOD, by: TEXT, html: TEXT },
    run: (options) => {
      const tenantId = tenantOf(options, 'usage');
      const by = readGroups(options.by);
      return withAdmin(async ({ usage }) => {
        const { from, until, html } = options;
        if (html !== undefined) {
          const { text, mime_type } = await usage.report({ tenantId, from, until });
          await writeFile(html, text);
          return { file: html, mime_type };
        }
        const { usage: months } = await usage.summary({ tenantId, by, from, until });
        return { tenant_id: tenantId, months, ...(await usage.unknown({ tenantId })) };
      });
    },
  }),
  command({
    words: 'usage top',
    usage: '[--from DAY] [--until DAY] [--limit N]',
    help: 'The tenants that spent most.',
    options: { from: TEXT, until: TEXT, limit: TEXT },
    run: ({ limit, ...period }) => {
      const query = { ...period, limit: readWhole(limit, 'limit') };
      return withAdmin(({ usage }) => usage.topSpenders(query));
    },
  }),
  command({
    words: 'usage export',
    names: ['FILE'],
    usage: '[--tenant ID] [--from DAY] [--until DAY]',
    help: 'Write the lines of the bill to a file: CSV, or JSON where the name ends so.',
    options: PERIOD,
    run: ({ from, until, ...options }, [file = '']) => {
      const tenantId = tenantOf(options, 'usage export');
      const format = file.endsWith('.json') ? 'json' : 'csv';
      return withAdmin(async ({ usage }) => {
        const { text, mime_type } = await usage.export({ tenantId, from, until, format });
        await writeFile(file, text);
        return { file, mime_type };
      });
    },
  }),
];

function tenantOf(options: { readonly tenant?: string }, words: string): string | undefined {
  return options.tenant === undefined ? undefined : readTenant(options, words);
}

/** One word stands for itself beside the month; several are taken as they are. */
function readGroups(given = 'model,tier'): readonly UsageGroup[] {
  const groups = given.split(',').map((word) => USAGE_GROUPS.find((group) => group === word.trim()));
  if (groups.includes(undefined))
    throw new UsageError(`usage --by takes one of ${USAGE_GROUPS.join(', ')}; or several, with commas between.`);
  const known = groups.filter((group) => group !== undefined);
  if (known.includes('month') || known.includes('day')) return known;
  return given === 'model' ? ['month', 'model', 'tier'] : ['month', ...known];
}
