import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { EXPECTED_OBJECTS, EXPECTED_SCHEMA } from '../../../runtime/storage/schema/expected-schema';
import { databaseStatus, migrate } from '../../../runtime/storage/schema/migrate';
import { createDatabase, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import documentsSchema from '../../support/values/documents-schema.sql';
import realInstallation from '../../support/values/real-installation.sql';

let database: TestDatabase;
let postgres: Postgres;

async function open(make: () => Promise<TestDatabase>): Promise<void> {
  database = await make();
  postgres = createPostgres({ url: database.url, maxConnections: 1 });
}
afterEach(async () => {
  await postgres.close();
  await database.close();
});

const installation = realInstallation
  .replaceAll('ALLOWED_TIERS_TYPE', 'TEXT[]')
  .replaceAll('ALLOWED_TIERS_VALUE', `'{pro}'`);

/** Columns with their types and defaults, constraints, indexes, triggers, policies and options of views. */
async function fingerprint(): Promise<Record<string, unknown>> {
  return {
    columns: await database.query(
      `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
       WHERE table_schema = 'public' ORDER BY 1, 2`,
    ),
    indexes: await database.query(`SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`),
    triggers: await database.query(
      `SELECT tgname, tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`,
    ),
    constraints: await database.query(
      `SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1`,
    ),
    policies: await database.query('SELECT tablename, policyname, cmd, qual FROM pg_policies ORDER BY 1, 2'),
    options: await database.query(
      `SELECT relname, relrowsecurity, reloptions FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1`,
    ),
  };
}

it('knows every table and column that the migrations make, but for those of the tenants', async () => {
  await open(createMigratedDatabase);
  const rows = await database.query<{ name: string }>(
    `SELECT attrelid::regclass || '.' || attname AS name FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
     WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0
       AND relname NOT IN ('elo_t_tenants', 'elo_agent_migrations')`,
  );
  const known = EXPECTED_SCHEMA.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`));
  expect(known.sort()).toEqual(rows.map(({ name }) => name).sort());
});

it('knows every index, function and trigger that the migrations make by name', async () => {
  await open(createMigratedDatabase);
  const rows = await database.query<{ name: string }>(
    `SELECT 'index ' || relname AS name FROM pg_class LEFT JOIN pg_constraint ON conindid = pg_class.oid
       WHERE relnamespace = 'public'::regnamespace AND relkind = 'i' AND conname IS NULL
     UNION SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
     UNION SELECT 'trigger ' || tgname FROM pg_trigger WHERE NOT tgisinternal`,
  );
  expect(EXPECTED_OBJECTS.map(({ name }) => name).sort()).toEqual(rows.map(({ name }) => name).sort());
});

describe("the documents' schema", () => {
  it('is told to lack tables and columns, and lacks none after', async () => {
    await open(createDatabase);
    await database.query(documentsSchema);
    const before = await databaseStatus(postgres);
    expect(before).toMatchObject({ isReady: false, applied: [], tenantTable: 'elo_tenants' });
    expect(before.missingTables).toContain('elo_agent_tiers');
    expect(before.missingTables).not.toContain('elo_t_tenants');
    expect(before.missingColumns).toEqual([
      'elo_agent_tools.transport',
      'elo_agent_tools.transport_config',
      'elo_agent_tools.mcp_tool',
      'elo_agent_tools.allowed_tiers',
      'elo_t_tenant_tools.usage_limit_daily',
      'elo_t_tenant_tools.usage_count_today',
      'elo_t_tenant_tools.last_reset_date',
    ]);
    await migrate(postgres);
    await expect(databaseStatus(postgres)).resolves.toMatchObject({
      isReady: true,
      missingTables: [],
      missingColumns: [],
    });
  });
});

describe("a real installation's schema", () => {
  it('is told to lack tables and columns, and lacks none after', async () => {
    await open(createDatabase);
    await database.query(installation);
    const before = await databaseStatus(postgres);
    expect(before).toMatchObject({ isReady: false, tenantTable: 'elo_t_tenants' });
    expect(before.missingTables).toContain('elo_agent_runs');
    expect(before.missingTables).not.toContain('elo_v_tenant_monthly_usage');
    expect(before.missingColumns).toEqual(
      expect.arrayContaining(['elo_agent_tiers.rank', 'elo_t_token_usage.run_id', 'elo_agent_tools.transport']),
    );
    await migrate(postgres);
    await expect(databaseStatus(postgres)).resolves.toMatchObject({
      isReady: true,
      missingTables: [],
      missingColumns: [],
    });
  });
});

describe('a database in which a part of ours is there already', () => {
  it('gets the columns that a table lacks, and keeps its rows', async () => {
    await open(createDatabase);
    await database.query(`
      CREATE TABLE elo_agent_mcp_servers (id SERIAL PRIMARY KEY, code VARCHAR(50) UNIQUE NOT NULL, url TEXT NOT NULL);
      INSERT INTO elo_agent_mcp_servers (code, url) VALUES ('shop', 'https://mcp.test');
      CREATE TABLE elo_model_pricing (model_id TEXT PRIMARY KEY, input_cost_per_1m NUMERIC, output_cost_per_1m NUMERIC);
      INSERT INTO elo_model_pricing VALUES ('my/model', 1, 2)`);
    await migrate(postgres);
    expect(
      await database.query('SELECT code, url, transport, is_active, exclude_tools FROM elo_agent_mcp_servers'),
    ).toEqual([{ code: 'shop', url: 'https://mcp.test', transport: 'http', is_active: true, exclude_tools: [] }]);
    expect(await database.query('SELECT * FROM elo_model_pricing')).toMatchObject([
      {
        model_id: 'my/model',
        input_cost_per_1m: '1',
        output_cost_per_1m: '2',
        provider: null,
        cached_input_cost_per_1m: null,
      },
    ]);
    await expect(databaseStatus(postgres)).resolves.toMatchObject({ isReady: true });
  });

  it('is refused, unchanged, where rows have no value for a column that must have one', async () => {
    await open(createDatabase);
    await database.query(
      `CREATE TABLE elo_agent_tiers (code VARCHAR(20) PRIMARY KEY); INSERT INTO elo_agent_tiers VALUES ('x')`,
    );
    await expect(migrate(postgres)).rejects.toMatchObject({
      code: 'DB_SCHEMA_DAMAGED',
      message: expect.stringContaining('elo_agent_tiers') as string,
    });
    expect(await database.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)).toEqual([
      { tablename: 'elo_agent_tiers' },
    ]);
  });
});

describe('a migrated database', () => {
  beforeEach(() => open(createMigratedDatabase));

  it.each([
    ['DROP TABLE elo_agent_journal', ['elo_agent_journal (0103-ledger)']],
    [
      'DROP TABLE elo_t_token_usage CASCADE',
      [
        'elo_t_token_usage (0103-ledger)',
        'elo_v_tenant_monthly_usage (0103-ledger)',
        'index elo_t_token_usage_task (0103-ledger)',
        'index elo_t_token_usage_tenant_month (0103-ledger)',
        'trigger elo_agent_count_usage (0104-rules)',
        'trigger elo_agent_forget_usage (0104-rules)',
      ],
    ],
    ['ALTER TABLE elo_agent_tools DROP COLUMN transport', ['elo_agent_tools.transport (0101-catalogue)']],
    ['ALTER TABLE elo_agent_journal DROP COLUMN step', ['elo_agent_journal.step (0103-ledger)']],
    ['DROP INDEX elo_agent_runs_updated', ['index elo_agent_runs_updated (0103-ledger)']],
    ['DROP FUNCTION elo_agent_take_run', ['function elo_agent_take_run (0104-rules)']],
    ['DROP TRIGGER elo_agent_count_usage ON elo_t_token_usage', ['trigger elo_agent_count_usage (0104-rules)']],
  ])('is refused, unchanged, where something of ours is gone: %s', async (statement, damage) => {
    await database.query(statement);
    const before = await fingerprint();
    await expect(databaseStatus(postgres)).resolves.toMatchObject({ isReady: false, missing: [], damage });
    await expect(migrate(postgres)).rejects.toMatchObject({
      code: 'DB_SCHEMA_DAMAGED',
      message: `The schema is not as \`universal-ai-agent diagnostics prepare-database\` makes it: it lacks ${damage.join(', ')}.`,
    });
    expect(await fingerprint()).toEqual(before);
  });

  it('is refused before a pending migration is applied', async () => {
    await database.query(`DELETE FROM elo_agent_migrations WHERE name >= '0104'; DROP TABLE elo_agent_journal`);
    await expect(migrate(postgres)).rejects.toMatchObject({ code: 'DB_SCHEMA_DAMAGED' });
    await expect(databaseStatus(postgres)).resolves.toMatchObject({ damage: ['elo_agent_journal (0103-ledger)'] });
  });
});
