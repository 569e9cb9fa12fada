import { startPostgres } from '../../../scripts/lib/postgres.mjs';
import { programPath, REDIS } from '../../../scripts/lib/system-programs.mjs';

/** One real Postgres for the whole test run; each test file makes databases of its own in it. */
export default async function globalSetup() {
  // Missing, it is one message here instead of one for each test.
  programPath(REDIS);
  const postgres = await startPostgres();
  globalThis.__postgres = postgres;
  process.env.TEST_POSTGRES_URL = postgres.url;
  process.env.TEST_POSTGRES_ADMIN_URL = postgres.adminUrl;
}
