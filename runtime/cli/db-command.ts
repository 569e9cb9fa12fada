import { databaseStatus, migrate } from '../storage/migrate';
import { seedDemo } from '../storage/seed-demo';
import { UsageError, type Options } from './arguments';
import { openDatabase } from './environment';
import { printJson } from './output';

/** `db migrate`, `db status` and `db seed-demo`. */
export async function dbCommand(action: string | undefined, options: Options): Promise<number> {
  if (action !== 'migrate' && action !== 'status' && action !== 'seed-demo') {
    throw new UsageError('db needs one of: migrate, status, seed-demo.');
  }
  const postgres = openDatabase();
  try {
    if (action === 'migrate') printJson(await migrate(postgres));
    if (action === 'seed-demo') {
      printJson(await seedDemo(postgres, { toolServer: options['tool-server'], mcpServer: options['mcp-server'] }));
    }
    if (action !== 'status') return 0;
    const status = await databaseStatus(postgres);
    printJson(status);
    return status.isReady ? 0 : 1;
  } finally {
    await postgres.close();
  }
}
