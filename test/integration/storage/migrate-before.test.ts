import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { databaseStatus, migrate } from '../../../runtime/storage/schema/migrate';
import { BRIDGE, MIGRATIONS } from '../../../runtime/storage/schema/migrations';
import { createDatabase, type TestDatabase } from '../../support/servers/database';

/** The migrations 0001 to 0023, one after the other. */
const BEFORE = readFileSync(join(__dirname, '../../support/values/schema-0023.sql'), 'utf8');
const NAMES = [BRIDGE.migration, ...MIGRATIONS].map(({ name }) => name);

let database: TestDatabase;
let postgres: Postgres;

beforeEach(async () => {
  database = await createDatabase();
  postgres = createPostgres({ url: database.url, maxConnections: 2 });
});
afterEach(async () => {
  await postgres.close();
  await database.close();
});

async function makeBefore(last: string): Promise<void> {
  await database.query(BEFORE);
  await database.query(`CREATE TABLE elo_agent_migrations (
    name VARCHAR(100) PRIMARY KEY, checksum CHAR(64) NOT NULL, applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
  )`);
  await database.query('ALTER TABLE elo_agent_migrations ENABLE ROW LEVEL SECURITY');
  await database.query(`INSERT INTO elo_agent_migrations (name, checksum) SELECT name, repeat('0', 64)
    FROM unnest(ARRAY['0001-tables', '0022-effects', $1]) AS name`, [last]);
}

/** All that the schema is, whatever order its columns have. */
async function schemaOf({ query }: TestDatabase): Promise<unknown> {
  const OWN = `relnamespace = 'public'::regnamespace`;
  return {
    columns: await query(
      `SELECT table_name, column_name, data_type, character_maximum_length, numeric_precision, numeric_scale, is_nullable,
         column_default FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2`,
    ),
    indexes: await query(`SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`),
    constraints: await query(
      `SELECT conrelid::regclass::text AS of, conname, pg_get_constraintdef(oid) AS text FROM pg_constraint
       WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2`,
    ),
    functions: await query(
      `SELECT pg_get_functiondef(oid) AS text, proacl::text AS rights FROM pg_proc
       WHERE pronamespace = 'public'::regnamespace ORDER BY 1`,
    ),
    triggers: await query(`SELECT pg_get_triggerdef(oid) AS text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1`),
    policies: await query(
      `SELECT tablename, policyname, cmd, qual, with_check FROM pg_policies WHERE schemaname = 'public' ORDER BY 1`,
    ),
    tables: await query(
      `SELECT relname, relkind, relrowsecurity, relacl::text AS rights, reloptions::text AS options FROM pg_class
       WHERE ${OWN} AND relkind IN ('r', 'v') ORDER BY 1`,
    ),
    views: await query(`SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' ORDER BY 1`),
    tiers: await query('SELECT * FROM elo_agent_tiers ORDER BY code'),
    prices: await query('SELECT * FROM elo_model_pricing ORDER BY model_id'),
  };
}

it('comes to the same schema from the last migration of before as from nothing', async () => {
  const fresh = await createDatabase();
  const other = createPostgres({ url: fresh.url, maxConnections: 1 });
  await migrate(other);
  await makeBefore('0023-skills');
  const { isReady, missing } = await databaseStatus(postgres);
  expect({ isReady, missing }).toEqual({ isReady: false, missing: NAMES });
  await expect(migrate(postgres)).resolves.toMatchObject({ applied: NAMES });
  await expect(databaseStatus(postgres)).resolves.toMatchObject({ isReady: true, damage: [], missing: [] });
  await expect(migrate(postgres)).resolves.toMatchObject({ applied: [] });
  // Processes of the version before call this one as long as they run.
  await database.query('DROP FUNCTION elo_agent_reserve(UUID, UUID, NUMERIC, NUMERIC, NUMERIC, NUMERIC)');
  await database.query('DROP FUNCTION elo_agent_take_call(UUID, TEXT, TEXT, INT, INT)');
  expect(await schemaOf(database)).toEqual(await schemaOf(fresh));
  await other.close();
  await fresh.close();
});

it('sends a database in between to the version before', async () => {
  await makeBefore('0021-agents');
  await expect(migrate(postgres)).rejects.toMatchObject({ code: 'DB_SCHEMA_OLD' });
  await expect(databaseStatus(postgres)).resolves.toMatchObject({ isReady: false, missing: NAMES });
});
