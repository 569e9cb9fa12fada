import { createRuntime } from '../../runtime';
import { addTenant, addTool, createMigratedDatabase, enableTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';

const RUNS = 1000;
const IN_FLIGHT = 50;
const TENANTS = 10;

let database: TestDatabase;
let models: ModelServer;
let tools: TestServer;
let tenants: readonly string[];

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  tools = await startServer((request, response) => sendJson(response, JSON.parse(request.body)));
  tenants = await Promise.all(Array.from({ length: TENANTS }, () => addTenant(database)));
  for (const [index, tenantId] of tenants.entries()) {
    const toolId = await addTool(database, { code: `tool_of_${index}`, endpoint: tools.url });
    await enableTool(database, { tenantId, toolId });
  }
  models.always((request) =>
    request.messages.at(-1)?.role === 'tool'
      ? textReply('done', { prompt: 1250, completion: 340 }).body
      : toolReply([{ name: request.tools?.[0]?.function.name ?? 'none' }], { prompt: 100, completion: 20 }).body,
  );
});
afterAll(() => Promise.all([models.close(), tools.close(), database.close()]));

it(`bills ${RUNS} runs of ${TENANTS} tenants exactly, mixes no tool up and leaves nothing open`, async () => {
  const runtime = createRuntime({ database: { url: database.url }, model: { apiKey: 'k', baseUrl: models.url } });
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < RUNS; index = next++) {
      const tenant = index % TENANTS;
      const result = await runtime.run({
        task_id: `storm-${index}`,
        config: { agent_tier: 'pro', message: 'go' },
        meta: { tenant_id: tenants[tenant] },
      });
      expect(result.result.tool_calls).toMatchObject([
        { tool: `tool_of_${tenant}`, result: { tool: `tool_of_${tenant}`, tenant_id: tenants[tenant] } },
      ]);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  await runtime.close();

  const [bill] = await database.query<{ lines: number; tokens: string; cost: string }>(
    'SELECT count(*)::int AS lines, sum(total_tokens)::text AS tokens, sum(cost_usd)::text AS cost FROM elo_t_token_usage',
  );
  // (1350 x 0.15 + 360 x 0.60) / 1,000,000 a run
  expect(bill).toEqual({ lines: RUNS, tokens: String(RUNS * 1710), cost: '0.41850000' });
  const [open] = await database.query<{ calls: number; sessions: number }>(
    `SELECT (SELECT count(*) FROM elo_agent_model_calls WHERE closed_at IS NULL)::int AS calls,
       (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'universal-ai-agent' AND datname = current_database())::int AS sessions`,
  );
  expect(open).toEqual({ calls: 0, sessions: 0 });
});
