import { createRuntime, type Model, type Runtime } from '../../../runtime';
import type { ModelPrice, Usage } from '../../../runtime/contracts/ledger/usage';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { databaseStatus, migrate } from '../../../runtime/storage/schema/migrate';
import { usageStatement } from '../../../runtime/storage/sql/usage-report';
import { addTenant, createDatabase, type TestDatabase } from '../../support/servers/database';
import { aTask, failureOf } from '../../support/values/agent-fixture';
import { usageOf } from '../../support/values/usage-of';

let database: TestDatabase;
let runtime: Runtime;
let next: Usage;

const model: Model = {
  generate: ({ attempts }) => {
    attempts.sent++;
    attempts.answered++;
    return Promise.resolve({ message: { role: 'assistant', content: 'Done.' }, finishReason: 'stop', usage: next });
  },
};
const used = (usage: Partial<Usage>): Usage => ({ ...usageOf(0, 0), ...usage });

beforeEach(async () => {
  database = await createDatabase();
  runtime = createRuntime({ database: { url: database.url }, plugins: { model } });
});
afterEach(async () => {
  await runtime.close();
  await database.close();
});

async function migrateHere(): Promise<void> {
  const postgres = createPostgres({ url: database.url, maxConnections: 1 });
  await migrate(postgres);
  await postgres.close();
}

async function priceMini(price: Partial<ModelPrice>): Promise<void> {
  await database.query(
    `UPDATE elo_model_pricing SET input_cost_per_1m = $1, output_cost_per_1m = $2, cached_input_cost_per_1m = $3,
       cache_write_cost_per_1m = $4, cache_write_1h_cost_per_1m = $5, reasoning_cost_per_1m = $6
     WHERE model_id = 'openai/gpt-4o-mini'`,
    [
      price.inputPer1M,
      price.outputPer1M,
      price.cachedInputPer1M,
      price.cacheWritePer1M,
      price.cacheWrite1hPer1M,
      price.reasoningPer1M,
    ],
  );
}

async function months(tenantId: string): Promise<Record<string, unknown>[]> {
  const { text, values } = usageStatement(['month', 'model', 'tier'], { tenantId: tenantId });
  return database.query(text, values);
}

const lineOf = async (taskId: string) =>
  (await database.query('SELECT * FROM elo_t_token_usage WHERE task_id = $1', [taskId]))[0];
const monthOf = async (tenantId: string) => {
  const [row] = await database.query<{ cost: string }>(
    'SELECT sum(cost_usd)::text AS cost FROM elo_agent_monthly_usage WHERE tenant_id = $1',
    [tenantId],
  );
  return row?.cost;
};

it('bills caches and reasoning at their own prices: in the result, on the rows and in the report', async () => {
  await migrateHere();
  await priceMini({
    inputPer1M: '3',
    outputPer1M: '15',
    cachedInputPer1M: '0.30',
    cacheWritePer1M: '3.75',
    cacheWrite1hPer1M: '6',
    reasoningPer1M: '20',
  });
  const tenantId = await addTenant(database);
  // 1500 x 3 + 6000 x 0.30 + 2000 x 3.75 + 500 x 6 + 500 x 15 + 300 x 20 = 30300 millionths; without the cache 43500.
  next = used({
    promptTokens: 10_000,
    completionTokens: 800,
    cachedTokens: 6000,
    cacheWriteTokens: 2000,
    cacheWrite1hTokens: 500,
    reasoningTokens: 300,
  });
  const task = aTask(tenantId);
  await expect(runtime.run(task)).resolves.toMatchObject({
    cost_usd: '0.03030000',
    saved_usd: '0.01320000',
    tokens: { prompt: 10_000, completion: 800, total: 10_800, cached: 6000, cache_written: 2500, reasoning: 300 },
  });
  expect(await lineOf(task.task_id)).toMatchObject({
    cached_tokens: 6000,
    cache_write_tokens: 2500,
    reasoning_tokens: 300,
    cost_usd: '0.03030000',
    saved_exact: '0.0132',
  });
  expect(await database.query('SELECT * FROM elo_agent_model_calls WHERE task_id = $1', [task.task_id])).toMatchObject([
    { cached_tokens: '6000', cache_write_tokens: '2000', cache_write_1h_tokens: '500', saved_exact: '0.0132' },
  ]);
  next = used({ promptTokens: 1250, completionTokens: 340 });
  const plain = await runtime.run(aTask(tenantId));
  expect(plain).not.toHaveProperty('saved_usd');
  expect(await months(tenantId)).toMatchObject([
    {
      request_count: 2,
      total_cached_tokens: '6000',
      total_cache_written_tokens: '2500',
      total_reasoning_tokens: '300',
      total_cost_usd: '0.03915000',
      total_saved_usd: '0.01320000',
    },
  ]);
});

it("still bills the documents' example as 0.00039150", async () => {
  await migrateHere();
  const tenantId = await addTenant(database);
  next = used({ promptTokens: 1250, completionTokens: 340 });
  await expect(runtime.run(aTask(tenantId))).resolves.toMatchObject({ cost_usd: '0.00039150' });
});

it('leaves out a price whose cache price cannot be read, instead of billing by half of it', async () => {
  await migrateHere();
  await priceMini({ inputPer1M: '3', outputPer1M: '15', cachedInputPer1M: 'NaN' });
  const tenantId = await addTenant(database, { settings: { monthly_cost_limit_usd: 5 } });
  expect(await failureOf(runtime.run(aTask(tenantId)))).toMatchObject({ code: 'MODEL_UNPRICED' });
});

describe('a line above $9,999.99', () => {
  const DEAR = { inputPer1M: '10000', outputPer1M: '0' };
  // 2,000,000 x 10,000 / 1,000,000
  const COST = '20000.00000000';
  const ADOPTED = `CREATE TABLE elo_t_token_usage (
    id BIGSERIAL PRIMARY KEY, tenant_id UUID NOT NULL, trace_id VARCHAR(100), task_id VARCHAR(200),
    model_id VARCHAR(100) NOT NULL, agent_tier VARCHAR(20), context_type_code VARCHAR(50),
    prompt_tokens INT NOT NULL DEFAULT 0, completion_tokens INT NOT NULL DEFAULT 0, total_tokens INT NOT NULL DEFAULT 0,
    cost_usd DECIMAL(12, 8) DEFAULT 0, task_type VARCHAR(50), created_at TIMESTAMPTZ DEFAULT now())`;

  beforeEach(() => {
    next = used({ promptTokens: 2_000_000 });
  });

  it('is written on a table of ours, and the month sees it', async () => {
    await migrateHere();
    await priceMini(DEAR);
    const tenantId = await addTenant(database, { settings: { monthly_cost_limit_usd: 15_000 } });
    const task = aTask(tenantId);
    await expect(runtime.run(task)).resolves.toMatchObject({ cost_usd: COST, warnings: [] });
    expect(await lineOf(task.task_id)).toMatchObject({ cost_usd: COST });
    expect(await months(tenantId)).toMatchObject([{ total_cost_usd: COST }]);
    expect(await failureOf(runtime.run(aTask(tenantId)))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
  });

  it('is written on one that an earlier version made, with its view and what was granted on it', async () => {
    await migrateHere();
    await database.query(`
      DELETE FROM elo_agent_migrations WHERE name >= '0010';
      ALTER TABLE elo_t_token_usage DROP COLUMN run_client_id, DROP COLUMN run_dialog_id, DROP COLUMN run_user_id,
        DROP COLUMN run_session_id, DROP COLUMN saved_exact, DROP COLUMN cache_write_tokens, DROP COLUMN usage_estimated;
      DROP VIEW elo_v_tenant_monthly_usage;
      ALTER TABLE elo_t_token_usage ALTER COLUMN cost_usd TYPE DECIMAL(12, 8);
      CREATE VIEW elo_v_tenant_monthly_usage WITH (security_invoker = true) AS
      SELECT tenant_id, date_trunc('month', created_at) AS month, model_id, agent_tier, count(*) AS request_count,
        sum(prompt_tokens) AS total_prompt_tokens, sum(completion_tokens) AS total_completion_tokens,
        sum(total_tokens) AS total_tokens, sum(cost_usd) AS total_cost_usd
      FROM elo_t_token_usage GROUP BY tenant_id, date_trunc('month', created_at), model_id, agent_tier;
      GRANT SELECT ON elo_v_tenant_monthly_usage TO PUBLIC`);
    const viewOf = () =>
      database.query(`SELECT relacl::text AS granted, reloptions, pg_get_viewdef(oid) AS text FROM pg_class
        WHERE relname = 'elo_v_tenant_monthly_usage'`);
    const before = await viewOf();
    await migrateHere();
    expect(await viewOf()).toEqual(before);
    await priceMini(DEAR);
    const tenantId = await addTenant(database);
    await runtime.run(aTask(tenantId));
    const view = 'SELECT total_cost_usd FROM elo_v_tenant_monthly_usage WHERE tenant_id = $1';
    expect(await database.query(view, [tenantId])).toEqual([{ total_cost_usd: COST }]);
  });

  it('is not lost on an adopted table, whose type stays: nines there, the whole cost beside it and in the month', async () => {
    await database.query(ADOPTED);
    await migrateHere();
    await priceMini(DEAR);
    const tenantId = await addTenant(database, { settings: { monthly_cost_limit_usd: 15_000 } });
    const task = aTask(tenantId);
    await expect(runtime.run(task)).resolves.toMatchObject({ status: 'completed', cost_usd: COST, warnings: [] });
    expect(await lineOf(task.task_id)).toMatchObject({ cost_usd: '9999.99999999', cost_exact: '20000' });
    expect(await monthOf(tenantId)).toBe(COST);
    expect(await months(tenantId)).toMatchObject([{ total_cost_usd: COST }]);
    expect(await failureOf(runtime.run(aTask(tenantId)))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
  });

  it('is told by the check of the schema with a fix, which leaves the month as it is', async () => {
    await database.query(ADOPTED);
    await migrateHere();
    await priceMini(DEAR);
    const tenantId = await addTenant(database);
    const task = aTask(tenantId);
    await runtime.run(task);
    const before = await adviceHere();
    expect(before).toMatchObject([
      { column: 'elo_t_token_usage.cost_usd', problem: expect.stringContaining('$10000') as string },
    ]);
    await database.query('DROP VIEW elo_v_tenant_monthly_usage');
    await database.query(before[0]?.fix.replace(/ Views that read.*/, '') ?? '');
    expect(await adviceHere()).toEqual([]);
    expect(await lineOf(task.task_id)).toMatchObject({ cost_usd: COST });
    expect(await monthOf(tenantId)).toBe(COST);
  });

  async function adviceHere() {
    const postgres = createPostgres({ url: database.url, maxConnections: 1 });
    const { advice } = await databaseStatus(postgres);
    await postgres.close();
    return advice;
  }
});
