import { createRuntime } from '../../../runtime';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { EXPECTED_SCHEMA } from '../../../runtime/storage/schema/expected-schema';
import { databaseStatus, migrate } from '../../../runtime/storage/schema/migrate';
import { addTenant, createDatabase, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { startModelServer, textReply } from '../../support/servers/model-server';
import { aTask } from '../../support/values/agent-fixture';
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
      'elo_agent_tools.mcp_tool',
      'elo_agent_tools.allowed_tiers',
      'elo_agent_tools.transport_config',
      'elo_t_tenant_tools.usage_limit_daily',
      'elo_t_tenant_tools.usage_count_today',
      'elo_t_tenant_tools.last_reset_date',
    ]);
    await expect(migrate(postgres)).resolves.not.toHaveProperty('restored');
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

  it('gets a table back that was dropped, with all that belongs to it', async () => {
    const before = await fingerprint();
    await database.query('DROP TABLE elo_agent_journal, elo_t_tenant_mcp_tools, elo_tool_executions');
    await expect(databaseStatus(postgres)).resolves.toMatchObject({
      isReady: false,
      missing: [],
      missingTables: ['elo_t_tenant_mcp_tools', 'elo_tool_executions', 'elo_agent_journal'],
    });
    await expect(migrate(postgres)).resolves.toMatchObject({
      applied: [],
      restored: ['elo_t_tenant_mcp_tools', 'elo_tool_executions', 'elo_agent_journal'],
    });
    expect(await fingerprint()).toEqual(before);
    await expect(migrate(postgres)).resolves.not.toHaveProperty('restored');
  });

  it('gets the ledger back, with its trigger, its index and its view', async () => {
    const before = await fingerprint();
    await database.query('DROP TABLE elo_t_token_usage CASCADE');
    const { missingTables } = await databaseStatus(postgres);
    expect(missingTables).toEqual(['elo_t_token_usage', 'elo_v_tenant_monthly_usage']);
    await migrate(postgres);
    expect(await fingerprint()).toEqual(before);
  });

  it('gets a column back that was dropped, with the index and the check on it', async () => {
    const before = await fingerprint();
    await database.query(`
      ALTER TABLE elo_t_token_usage DROP COLUMN run_id;
      ALTER TABLE elo_agent_runs DROP COLUMN state;
      ALTER TABLE elo_agent_tools DROP COLUMN transport`);
    await expect(databaseStatus(postgres)).resolves.toMatchObject({
      isReady: false,
      missingColumns: ['elo_agent_tools.transport', 'elo_t_token_usage.run_id', 'elo_agent_runs.state'],
    });
    await migrate(postgres);
    expect(await fingerprint()).toEqual(before);
  });

  it('keeps rows and what months have cost', async () => {
    const tenantId = await addTenant(database);
    const models = await startModelServer();
    const runtime = createRuntime({ database: { url: database.url }, model: { apiKey: 'k', baseUrl: models.url } });
    models.script(textReply('Done.', { prompt: 1250, completion: 340 }));
    await runtime.run(aTask(tenantId));
    // As a task leaves it that went on in a later month: lines and sums do not tell the same.
    await database.query(`INSERT INTO elo_agent_monthly_usage (tenant_id, month, cost_usd, tokens)
      VALUES ('${tenantId}', '2024-01-01', 5, 50)`);
    const rows = async () => [
      await database.query('SELECT tenant_id, month, cost_usd, tokens FROM elo_agent_monthly_usage ORDER BY month'),
      await database.query('SELECT * FROM elo_t_token_usage'),
      await database.query('SELECT * FROM elo_agent_tiers ORDER BY code'),
      await database.query('SELECT tenant_id, task_id, run_id, state FROM elo_agent_runs'),
    ];
    const before = await rows();
    await database.query('ALTER TABLE elo_agent_tools DROP COLUMN transport');
    await migrate(postgres);
    expect(await rows()).toEqual(before);
    models.script(textReply('Again.'));
    await expect(runtime.run(aTask(tenantId))).resolves.toMatchObject({ status: 'completed' });
    await runtime.close();
    await models.close();
  });

  it('is left alone where a table has lost what identifies its rows', async () => {
    await database.query('ALTER TABLE elo_agent_journal DROP COLUMN step');
    const before = await fingerprint();
    await expect(migrate(postgres)).rejects.toMatchObject({
      code: 'DB_SCHEMA_DAMAGED',
      message: 'The table elo_agent_journal cannot be adopted: it has no step.',
    });
    expect(await fingerprint()).toEqual(before);
  });
});
