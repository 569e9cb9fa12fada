import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { databaseStatus, migrate } from '../../../runtime/storage/schema/migrate';
import { BRIDGE, MIGRATIONS } from '../../../runtime/storage/schema/migrations';
import { createDatabase, type TestDatabase } from '../../support/servers/database';
import { makeSchemaBefore } from '../../support/values/schema-before';

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
  await makeSchemaBefore(database);
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

it('takes a database that both builds have upgraded', async () => {
  await migrate(postgres);
  await database.query(`INSERT INTO elo_agent_migrations (name, checksum) VALUES ('0023-skills', repeat('0', 64))`);
  await expect(databaseStatus(postgres)).resolves.toMatchObject({ isReady: true, missing: [] });
  await expect(migrate(postgres)).resolves.toMatchObject({ applied: [] });
});

it.each([
  ['DROP TABLE elo_agent_journal', ['elo_agent_journal (0103-ledger)']],
  ['ALTER TABLE elo_agent_runs DROP COLUMN resume', ['elo_agent_runs.resume (0103-ledger)']],
  ['DROP FUNCTION elo_agent_reserve', ['function elo_agent_reserve (0104-rules)']],
])('says what the last migration of before had made and is gone: %s', async (drop, damage) => {
  await makeSchemaBefore(database);
  await database.query(drop);
  await expect(databaseStatus(postgres)).resolves.toMatchObject({ isReady: false, damage });
  await expect(migrate(postgres)).rejects.toMatchObject({ code: 'DB_SCHEMA_DAMAGED' });
});

it('sends a database in between to the version before', async () => {
  await makeSchemaBefore(database, '0021-agents');
  await database.query('DROP TABLE elo_agent_skills');
  await expect(migrate(postgres)).rejects.toMatchObject({ code: 'DB_SCHEMA_OLD' });
  await expect(databaseStatus(postgres)).resolves.toMatchObject({ isReady: false, damage: [], missing: NAMES });
});
