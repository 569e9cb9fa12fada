import { createRuntime, type Runtime } from '../../../runtime';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { migrate } from '../../../runtime/storage/schema/migrate';
import { DEMO_TENANT_ID } from '../../../runtime/storage/schema/seed-demo';
import { createDatabase, type TestDatabase } from '../../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../../support/servers/model-server';
import { aTask } from '../../support/values/agent-fixture';
import documentsSchema from '../../support/values/documents-schema.sql';
import realInstallation from '../../support/values/real-installation.sql';
import { runCli } from '../../support/worlds/cli';

const DOCUMENTS_TENANT = 'aaaaaaaa-0000-4000-8000-000000000001';
const SHOP = 'bbbbbbbb-0000-4000-8000-000000000001';
const CLOSED_SHOP = 'bbbbbbbb-0000-4000-8000-000000000002';

const installation = (type: string, value: string) =>
  realInstallation.replaceAll('ALLOWED_TIERS_TYPE', type).replaceAll('ALLOWED_TIERS_VALUE', value);

let models: ModelServer;
let database: TestDatabase;
let runtime: Runtime;

beforeAll(async () => {
  models = await startModelServer();
});
beforeEach(async () => {
  database = await createDatabase();
  runtime = createRuntime({ database: { url: database.url }, model: { apiKey: 'sk-test-key', baseUrl: models.url } });
});
afterEach(async () => {
  await runtime.close();
  await database.close();
});
afterAll(() => models.close());

const cli = (...args: string[]) => runCli(args, { env: { DATABASE_URL: database.url } });
type Row = Record<string, unknown>;

/** Every row of every table, by table. */
async function contents(): Promise<Record<string, Row[]>> {
  const tables = await database.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  const rows: Record<string, Row[]> = {};
  for (const { name } of tables) rows[name] = await database.query(`SELECT * FROM ${name} ORDER BY 1`);
  return rows;
}

/** Migrates twice, and checks that every row of before is there with every value it had, and that none came to it. */
async function adopt(schema: string): Promise<void> {
  await database.query(schema);
  const before = await contents();
  for (let time = 1; time <= 2; time++) expect((await cli('diagnostics', 'prepare-database')).exitCode).toBe(0);
  const after = await contents();
  expect(Object.keys(after)).toEqual(expect.arrayContaining(Object.keys(before)));
  for (const [table, rows] of Object.entries(before)) {
    expect(after[table]).toHaveLength(rows.length);
    expect(after[table]).toMatchObject(rows);
  }
}

/** Migrates in this process, which is quicker. */
async function migrateHere(): Promise<void> {
  const postgres = createPostgres({ url: database.url, maxConnections: 1 });
  await migrate(postgres);
  await postgres.close();
}

/** Runs a task of 1250 and 340 tokens, and checks its line. */
async function runAndBill(tenantId: string, tools: readonly string[]): Promise<void> {
  const task = aTask(tenantId);
  models.script(textReply('Done.', { prompt: 1250, completion: 340 }));
  const result = await runtime.run(task);
  expect(result).toMatchObject({ status: 'completed', model_used: 'openai/gpt-4o-mini', cost_usd: '0.00039150' });
  expect(models.received.at(-1)?.tools?.map((tool) => tool.function.name)).toEqual(tools);
  await expect(runtime.run(task)).resolves.toMatchObject({ replayed: true });
  const lines = await database.query('SELECT * FROM elo_t_token_usage WHERE task_id = $1', [task.task_id]);
  expect(lines).toMatchObject([
    { tenant_id: tenantId, total_tokens: 1590, cost_usd: '0.00039150', run_id: result.run_id },
  ]);
}

describe("the documents' schema", () => {
  it('is adopted without a loss, and a run works and bills on it', async () => {
    await adopt(documentsSchema);
    await runAndBill(DOCUMENTS_TENANT, [
      'mcp_telegram',
      'mcp_whatsapp',
      'sql_query',
      'neo4j_query',
      'http_request',
      'embeddings',
    ]);
  });

  it('takes the demo tenant', async () => {
    await database.query(documentsSchema);
    await migrateHere();
    const seeded = await cli('diagnostics', 'add-demo-tenant');
    expect(seeded).toMatchObject({ exitCode: 0, stderr: '' });
    models.script(textReply('Hello.'));
    await expect(runtime.run(aTask(DEMO_TENANT_ID))).resolves.toMatchObject({ status: 'completed' });
  });

  it('may get the columns of the newer tenant table later, and they count at once', async () => {
    await adopt(documentsSchema);
    await database.query('ALTER TABLE elo_tenants ADD COLUMN is_active BOOLEAN, ADD COLUMN settings JSONB');
    await database.query(`UPDATE elo_tenants SET settings = '{"max_iterations": 1}'`);
    models.script(textReply('Done.'));
    const result = await runtime.run(aTask(DOCUMENTS_TENANT, { max_iterations: 5 }));
    expect(result.warnings).toMatchObject([{ code: 'ITERATIONS_CLAMPED' }]);
    await database.query('UPDATE elo_tenants SET is_active = false');
    await expect(runtime.run(aTask(DOCUMENTS_TENANT))).rejects.toMatchObject({ code: 'TENANT_INACTIVE' });
  });
});

describe.each([
  ['TEXT[]', `'{pro,expert}'`],
  ['JSONB', `'["pro", "expert"]'`],
  ['VARCHAR(100)', `'pro,expert'`],
])('a real installation whose allowed_tiers is %s', (type, value) => {
  it('is adopted without a loss, and a run works and bills on it', async () => {
    await adopt(installation(type, value));
    // The other two have no address: they are the old worker's own.
    await runAndBill(SHOP, ['mcp_telegram']);
  });

  it('may have ids of its own in its bill', async () => {
    await database.query(installation(type, value));
    await database.query('ALTER TABLE elo_t_token_usage ADD COLUMN client_id UUID, ADD COLUMN user_id BIGINT');
    await migrateHere();
    const task = aTask(SHOP);
    models.script(textReply('Done.'));
    await runtime.run({ ...task, meta: { ...task.meta, client_id: 'c1', user_id: 'u1' } });
    const lines = await database.query('SELECT * FROM elo_t_token_usage WHERE task_id = $1', [task.task_id]);
    expect(lines).toMatchObject([{ client_id: null, user_id: null, run_client_id: 'c1', run_user_id: 'u1' }]);
  });

  it('takes the demo tenant', async () => {
    await database.query(installation(type, value));
    await migrateHere();
    const seeded = await cli('diagnostics', 'add-demo-tenant');
    expect(seeded).toMatchObject({ exitCode: 0, stderr: '' });
    models.script(textReply('Hello.'));
    await expect(runtime.run(aTask(DEMO_TENANT_ID))).resolves.toMatchObject({ status: 'completed' });
    expect(models.received.at(-1)?.tools?.map((tool) => tool.function.name)).toEqual([
      'find_orders',
      'delivery_estimate',
    ]);
  });
});

it.each([
  ['has no is_free', '', true],
  ['says that its nano is not free', ', is_free BOOLEAN DEFAULT false', false],
])('an adopted table of tiers that %s', async (_what, column, isFree) => {
  await database.query(`
    CREATE TABLE elo_agent_tiers (code VARCHAR(20) PRIMARY KEY, name VARCHAR(50), model_id VARCHAR(100)${column});
    INSERT INTO elo_agent_tiers (code, name, model_id) VALUES ('nano', 'Nano', 'a/b'), ('small', 'Small', 'a/b')`);
  await migrateHere();
  const rows = 'SELECT code, is_free FROM elo_agent_tiers ORDER BY code';
  const read = [
    { code: 'nano', is_free: isFree },
    { code: 'small', is_free: false },
  ];
  expect(await database.query(rows)).toEqual(read);
  await migrateHere();
  expect(await database.query(rows)).toEqual(read);
});

describe('a real installation', () => {
  beforeEach(async () => {
    await database.query(installation('TEXT[]', `'{pro,expert}'`));
    await migrateHere();
  });

  it('goes on to be billed by its other workers, task ids repeated or missing', async () => {
    const line = `INSERT INTO elo_t_token_usage (tenant_id, task_id, model_id, context_type_code, total_tokens)
      VALUES ('${SHOP}', 'task-1', 'openai/gpt-4o-mini', 'intake', 5), ('${SHOP}', 'task-1', 'openai/gpt-4o-mini', 'intake', 5)`;
    await database.query(line);
    models.script(textReply('Done.'));
    await runtime.run(aTask(SHOP, {}, 'task-1'));
    const lines = await database.query(`SELECT run_id IS NULL AS old FROM elo_t_token_usage WHERE task_id = 'task-1'`);
    expect(lines.filter(({ old }) => old)).toHaveLength(5);
    expect(lines.filter(({ old }) => !old)).toHaveLength(1);
  });

  it('keeps its own view, which adds the new lines to the old', async () => {
    models.script(textReply('Done.', { prompt: 1250, completion: 340 }));
    await runtime.run(aTask(SHOP));
    const { exitCode, stdout } = await cli('usage', 'summary', '--tenant', SHOP);
    expect(exitCode).toBe(0);
    const { usage: months } = JSON.parse(stdout) as { usage: readonly Row[] };
    expect(months).toHaveLength(3);
    expect(months.at(-1)).toEqual({
      month: '2024-12',
      model_id: 'openai/gpt-4o-mini',
      agent_tier: 'pro',
      request_count: 9,
      total_prompt_tokens: '9000',
      total_completion_tokens: '900',
      total_tokens: '9900',
      total_cached_tokens: '0',
      total_cache_written_tokens: '0',
      total_reasoning_tokens: '0',
      total_cost_usd: '0.00189000',
      total_saved_usd: '0.00000000',
    });
    expect(months).toContainEqual(expect.objectContaining({ request_count: 1, total_cost_usd: '0.00039150' }));
  });

  it('keeps its functions and their counters', async () => {
    const check = `SELECT allowed, reason FROM elo_check_tool_access('${SHOP}', 'mcp_telegram')`;
    expect(await database.query(check)).toEqual([{ allowed: true, reason: 'ok' }]);
    await database.query('SELECT elo_reset_daily_tool_usage()');
  });

  it("heeds the tenant's highest tier, its own tiers and that it is closed, before any model call", async () => {
    const asked = models.received.length;
    await expect(runtime.run(aTask(SHOP, { agent_tier: 'expert' }))).rejects.toMatchObject({
      code: 'TIER_NOT_ALLOWED',
    });
    await expect(runtime.run(aTask(SHOP, { agent_tier: 'house' }))).rejects.toMatchObject({ code: 'TIER_NOT_ALLOWED' });
    await expect(runtime.run(aTask(CLOSED_SHOP))).rejects.toMatchObject({ code: 'TENANT_INACTIVE' });
    expect(models.received).toHaveLength(asked);
  });
});
