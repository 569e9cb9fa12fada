import { createRuntime, type Runtime } from '../../../runtime';
import {
  addTenant,
  addTool,
  createMigratedDatabase,
  enableTool,
  type TestDatabase,
} from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../../support/servers/model-server';

let database: TestDatabase;
let models: ModelServer;
let tools: TestServer;
let runtime: Runtime;

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  tools = await startServer((_request, response) => sendJson(response, { rows: 5 }));
  runtime = createRuntime({ database: { url: database.url }, model: { apiKey: 'sk-test-key', baseUrl: models.url } });
});
afterAll(async () => {
  await runtime.close();
  await Promise.all([models.close(), tools.close(), database.close()]);
});

it("runs a tool loop with the tenant's own tools and bills it in one row", async () => {
  const tenantId = await addTenant(database);
  const toolId = await addTool(database, {
    code: 'find_orders',
    endpoint: `${tools.url}/hook`,
    authHeader: 'Bearer tool-secret',
  });
  await enableTool(database, { tenantId, toolId });
  models.script(
    toolReply([{ name: 'find_orders', arguments: { client: 'X' } }], { prompt: 1000, completion: 140 }),
    textReply('I found 5 orders.', { prompt: 250, completion: 200 }),
  );
  const result = await runtime.run({
    task_id: 'task-1',
    config: { agent_tier: 'pro', message: 'Find all orders', system_prompt: 'Be short.' },
    meta: { tenant_id: tenantId, client_id: 'client-1' },
  });
  expect(result).toMatchObject({
    status: 'completed',
    result: {
      text: 'I found 5 orders.',
      tool_calls: [{ tool: 'find_orders', arguments: { client: 'X' }, result: { rows: 5 } }],
    },
    model_used: 'openai/gpt-4o-mini',
    iterations: 2,
    tokens: { prompt: 1250, completion: 340, total: 1590 },
    cost_usd: '0.00039150',
    warnings: [],
  });
  const rows = await database.query(
    'SELECT model_id, total_tokens, cost_usd FROM elo_t_token_usage WHERE tenant_id = $1',
    [tenantId],
  );
  expect(rows).toEqual([{ model_id: 'openai/gpt-4o-mini', total_tokens: 1590, cost_usd: '0.00039150' }]);
});
