import { text } from 'node:stream/consumers';

import { findRefusedRows } from '../../compose/refused-rows';
import type { Postgres } from '../../storage/postgres/pool';
import { databaseStatus, migrate } from '../../storage/schema/migrate';
import { seedDemo } from '../../storage/schema/seed-demo';
import { seedTools } from '../../storage/schema/seed-tools';
import { makeSqlRole } from '../../storage/schema/sql-role';
import { type Options, UsageError } from '../arguments';
import { openDatabase } from '../environment';
import { printJson } from '../output';

type Action = (postgres: Postgres, options: Options) => Promise<number>;

const ACTIONS: Readonly<Record<string, Action>> = {
  migrate: async (postgres) => {
    printJson(await migrate(postgres));
    return 0;
  },
  status: async (postgres) => {
    const status = await databaseStatus(postgres);
    // Rows can be read as soon as every table is there.
    printJson(status.isReady ? { ...status, refusedRows: await findRefusedRows(postgres.query) } : status);
    return status.isReady ? 0 : 1;
  },
  'seed-demo': async (postgres, options) => {
    printJson(await seedDemo(postgres, { toolServer: options['tool-server'], mcpServer: options['mcp-server'] }));
    return 0;
  },
  'seed-tools': async (postgres, { update = false }) => {
    printJson(await seedTools(postgres, { update }));
    return 0;
  },
  'sql-role': sqlRole,
};

/** `db migrate`, `db status`, `db seed-demo`, `db seed-tools` and `db sql-role`. */
export async function dbCommand(action: string | undefined, options: Options): Promise<number> {
  const run = action !== undefined && Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
  if (run === undefined) throw new UsageError(`db needs one of: ${Object.keys(ACTIONS).join(', ')}.`);
  const postgres = openDatabase();
  try {
    return await run(postgres, options);
  } finally {
    await postgres.close();
  }
}

async function sqlRole(postgres: Postgres, { name, password, table: tables = [] }: Options): Promise<number> {
  if (name === undefined) throw new UsageError('db sql-role needs --name NAME.');
  if (password !== undefined && password !== '-') {
    throw new UsageError('--password takes only -, for standard input: everybody sees the words of a command line.');
  }
  const given = password === undefined ? undefined : (await text(process.stdin)).replace(/\r?\n$/, '');
  const {
    role,
    isNew,
    tables: readable,
    password: made,
  } = await makeSqlRole(postgres, { name, password: given, tables });
  printJson({ role, is_new: isNew, tables: readable, password: made });
  return 0;
}
