import type { Postgres } from '../../storage/postgres/pool';
import { seedTools } from '../../storage/schema/seed-tools';
import { makeSqlRole } from '../../storage/schema/sql-role';
import { readStandardInput, UsageError } from '../arguments';
import { command, FLAG, TEXT, TEXTS } from '../command';
import { withAdmin, withDatabase, withToolRuntime } from '../environment';
import { printJson } from '../output';

export const dbCommands = [
  command({
    words: 'db migrate',
    help: 'Create or adopt the tables; safe to repeat.',
    run: () => withAdmin(({ diagnostics }) => diagnostics.prepareDatabase()),
  }),
  command({
    words: 'db status',
    help: 'Tell what is applied and what is missing; exit 1 if anything is.',
    run: () =>
      withToolRuntime(async ({ admin }) => {
        const status = await admin.diagnostics.schema();
        printJson(status);
        return status.isReady ? 0 : 1;
      }),
  }),
  command({
    words: 'db seed-demo',
    usage: '[--tool-server URL] [--mcp-server URL]',
    help: 'Add two demo tenants with tools.',
    options: { 'tool-server': TEXT, 'mcp-server': TEXT },
    run: (options) => {
      const servers = { toolServer: options['tool-server'], mcpServer: options['mcp-server'] };
      return withAdmin(({ diagnostics }) => diagnostics.addDemoTenant(servers));
    },
  }),
  command({
    words: 'db seed-tools',
    usage: '[--update]',
    help: 'Add the catalogue rows of the tools that come with this package; --update resets them.',
    options: { update: FLAG },
    run: ({ update = false }) => print((postgres) => seedTools(postgres, { update })),
  }),
  command({
    words: 'db sql-role',
    usage: '--name NAME [--table TABLE]... [--password -]',
    help: 'Make or repair the role for the tool sql_query; prints its password once.',
    options: { name: TEXT, table: TEXTS, password: TEXT },
    run: sqlRole,
  }),
];

function print(work: (postgres: Postgres) => Promise<unknown>): Promise<number> {
  return withDatabase(async (postgres) => {
    printJson(await work(postgres));
    return 0;
  });
}

interface RoleOptions {
  readonly name?: string;
  readonly password?: string;
  readonly table?: string[];
}

async function sqlRole({ name, password, table: tables = [] }: RoleOptions): Promise<number> {
  if (name === undefined) throw new UsageError('db sql-role needs --name NAME.');
  if (password !== undefined && password !== '-') {
    throw new UsageError('--password takes only -, for standard input: everybody sees the words of a command line.');
  }
  const given = password === undefined ? undefined : (await readStandardInput()).replace(/\r?\n$/, '');
  return print(async (postgres) => {
    const made = await makeSqlRole(postgres, { name, password: given, tables });
    return { role: made.role, is_new: made.isNew, tables: made.tables, password: made.password };
  });
}
