import { addTenant, addTool, createMigratedDatabase, enableTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { documentsTask } from '../support/values/documents-task';
import {
  addModelCredential,
  addPostgresCredential,
  agentWorkflow,
  connect,
  type Credential,
  ended,
  FIELDS,
  lastExecutionId,
  type N8n,
} from './support/host';

const CANARIES = { apiKey: 'sk-or-canary-1f6e', authHeader: 'Bearer canary-tool-77aa', header: 'canary-header-90b1' };

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let tools: TestServer;
let credentials: { openRouterApi: Credential; postgres: Credential };

beforeAll(async () => {
  n8n = await connect();
  database = await createMigratedDatabase();
  models = await startModelServer();
  // A careless server that sends back what it was sent.
  tools = await startServer((request, response) => sendJson(response, { rows: 5, echo: request.headers }));
  credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: CANARIES.apiKey, url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
  };
});
afterAll(async () => {
  await Promise.all([models.close(), tools.close(), database.close()]);
});

interface OutputItem {
  readonly output: string;
  readonly model_used: string;
  readonly agent_tier: string;
  readonly tokens: { readonly total: number };
  readonly tokenUsage: object;
  readonly replayed?: boolean;
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
}

async function activate(path: string, parameters: object, settings: object = {}): Promise<string> {
  const { id } = await n8n.createWorkflow(agentWorkflow({ path, parameters, credentials, settings }));
  await n8n.activate(id);
  return id;
}

async function call(path: string, items: readonly object[]): Promise<readonly OutputItem[]> {
  const reply = await n8n.callWebhook(path, { items });
  if (!Array.isArray(reply.json)) throw new Error(`HTTP ${reply.status}: ${reply.text.slice(0, 1000)}`);
  return reply.json as OutputItem[];
}

async function tenantWithTool(code: string): Promise<string> {
  const tenantId = await addTenant(database);
  const toolId = await addTool(database, { code, endpoint: tools.url, authHeader: CANARIES.authHeader });
  await enableTool(database, { tenantId, toolId, customConfig: { headers: { 'x-extra': CANARIES.header } } });
  return tenantId;
}

it('sends each item to the model of its tier and pairs the answers', async () => {
  const tenant = await addTenant(database);
  models.always((request) => textReply(`answer of ${request.model}`).body);
  await activate('five-tiers', FIELDS);
  const tiers = ['nano', 'small', 'optima', 'pro', 'expert'];
  const items = await call(
    'five-tiers',
    tiers.map((tier) => ({ tenant, tier, message: `hello ${tier}` })),
  );
  expect(items.map((item) => [item.agent_tier, item.output])).toEqual([
    ['nano', 'answer of qwen/qwen3-4b:free'],
    ['small', 'answer of qwen/qwen3-8b'],
    ['optima', 'answer of anthropic/claude-3-haiku'],
    ['pro', 'answer of openai/gpt-4o-mini'],
    ['expert', 'answer of anthropic/claude-3-5-sonnet'],
  ]);
  expect(items[3]?.tokenUsage).toEqual({ promptTokens: 100, completionTokens: 20, totalTokens: 120 });
});

it('offers a tool from the next run on, once a row is inserted', async () => {
  const tenant = await tenantWithTool('first_tool');
  models.always(() => textReply('ok').body);
  await activate('more-tools', FIELDS);
  const item = { tenant, tier: 'pro', message: 'hello' };
  models.received.length = 0;
  await call('more-tools', [item]);
  const toolId = await addTool(database, { code: 'second_tool', endpoint: tools.url });
  await enableTool(database, { tenantId: tenant, toolId });
  await call('more-tools', [item]);
  expect(models.received.map((request) => request.tools?.map((tool) => tool.function.name))).toEqual([
    ['first_tool'],
    ['first_tool', 'second_tool'],
  ]);
});

it("takes the documents' task as the item, unchanged", async () => {
  const tenant = await tenantWithTool('sql_query');
  models.received.length = 0;
  models.script(
    toolReply([{ name: 'sql_query', arguments: { query: 'select 1' } }], { prompt: 1000, completion: 300 }),
    textReply('I found 5 orders for client X...', { prompt: 250, completion: 40 }),
  );
  await activate('task-item', { options: { inputMode: 'item' } });
  const [item] = await call('task-item', [documentsTask(tenant)]);
  expect(item).toEqual({
    output: 'I found 5 orders for client X...',
    task_id: 'agent_123',
    trace_id: 'trace_456',
    run_id: expect.any(String) as string,
    status: 'completed',
    result: {
      text: 'I found 5 orders for client X...',
      tool_calls: [
        {
          tool: 'sql_query',
          arguments: { query: 'select 1' },
          result: { rows: 5, echo: expect.any(Object) as object },
          duration_ms: expect.any(Number) as number,
        },
      ],
    },
    model_used: 'openai/gpt-4o-mini',
    agent_tier: 'pro',
    iterations: 2,
    tool_calls: 1,
    tokens: { prompt: 1250, completion: 340, total: 1590, cached: 0, cache_written: 0, reasoning: 0 },
    cost_usd: '0.00039150',
    duration_ms: expect.any(Number) as number,
    warnings: [expect.objectContaining({ code: 'CALLBACK_NOT_DELIVERED' })],
    tokenUsage: { promptTokens: 1250, completionTokens: 340, totalTokens: 1590 },
  });
  expect(models.received[0]).toMatchObject({ model: 'openai/gpt-4o-mini', temperature: 0.7 });
});

it('keeps the good items when others fail, and says what to do about each bad one', async () => {
  const tenant = await addTenant(database);
  const inactive = await addTenant(database, { isActive: false });
  models.always(() => textReply('fine').body);
  models.received.length = 0;
  await activate(
    'bad-input',
    { ...FIELDS, options: { context: '={{ $json.context }}' } },
    { onError: 'continueRegularOutput' },
  );
  const items = await call('bad-input', [
    { tenant, tier: 'pro', message: 'good' },
    { tenant, tier: 'pro' },
    { tenant: 'uuid-here', tier: 'pro', message: 'x' },
    { tenant, tier: 'pro', message: 'x', context: '{"broken":' },
    { tenant, tier: 'gold', message: 'x' },
    { tenant: inactive, tier: 'pro', message: 'x' },
    { tenant: '99999999-9999-4999-8999-999999999999', tier: 'pro', message: 'x' },
    { tenant, tier: 'small', message: 'good too' },
  ]);
  expect(items.map((item) => item.error?.code ?? item.output)).toEqual([
    'fine',
    'INPUT_INVALID',
    'TENANT_ID_INVALID',
    'CONTEXT_INVALID',
    'TIER_UNKNOWN',
    'TENANT_INACTIVE',
    'TENANT_NOT_FOUND',
    'fine',
  ]);
  expect(items[1]?.error?.message).toContain('config.message');
  expect(items[4]?.error?.message).toContain('nano, small, optima, pro, expert');
  expect(items.slice(1, 7).every((item) => (item.error?.hint ?? '') !== '')).toBe(true);
  expect(models.received).toHaveLength(2);
});

it('sends a failed item to the error output with the steps and the usage so far', async () => {
  const tenant = await tenantWithTool('endless');
  models.always(() => toolReply([{ name: 'endless' }]).body);
  const id = await activate(
    'error-output',
    { ...FIELDS, options: { maxIterations: 2 } },
    { onError: 'continueErrorOutput' },
  );
  await n8n.callWebhook('error-output', { items: [{ tenant, tier: 'pro', message: 'go on for ever' }] });
  const { data } = await ended(n8n, await lastExecutionId(n8n, id));
  const [success, failure] = data.resultData.runData.Agent?.[0].data.main ?? [];
  expect(success).toEqual([]);
  expect(failure?.[0]?.json).toMatchObject({
    status: 'max_iterations',
    iterations: 2,
    tokens: { total: 240 },
    result: { tool_calls: [{ tool: 'endless' }, { tool: 'endless' }] },
    error: { code: 'MAX_ITERATIONS_REACHED' },
  });
});

it('replays the items that were done when n8n retries the node', async () => {
  const tenant = await addTenant(database);
  let failures = 0;
  models.received.length = 0;
  models.always((request) => {
    const isSecond = request.messages.at(-1)?.content === 'second';
    if (isSecond && failures++ === 0) return { error: { code: 400, message: 'no' } };
    return textReply('done').body;
  });
  await activate('retry', FIELDS, { retryOnFail: true, maxTries: 2, waitBetweenTries: 100 });
  const items = await call('retry', [
    { tenant, tier: 'pro', message: 'first' },
    { tenant, tier: 'pro', message: 'second' },
  ]);
  expect(items.map((item) => item.replayed)).toEqual([true, undefined]);
  expect(models.received.map((request) => request.messages.at(-1)?.content)).toEqual(['first', 'second', 'second']);
  const rows = await database.query('SELECT total_tokens FROM elo_t_token_usage WHERE tenant_id = $1', [tenant]);
  expect(rows).toEqual([{ total_tokens: 120 }, { total_tokens: 120 }]);
});

it('stops at once when the execution is stopped, and settles the bill', async () => {
  const tenant = await tenantWithTool('slow_step');
  let closed = false;
  models.script(toolReply([{ name: 'slow_step' }]), (_request, response) => {
    response.on('close', () => {
      closed = true;
    });
  });
  const workflow = agentWorkflow({ path: 'stop', parameters: FIELDS, credentials });
  const { id } = await n8n.createWorkflow(workflow);
  await n8n.activate(id);
  models.received.length = 0;
  const reply = n8n.callWebhook('stop', { items: [{ tenant, tier: 'pro', message: 'x' }] }).catch(() => undefined);
  while (models.received.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  const running = await lastExecutionId(n8n, id);
  await n8n.stopExecution(running);
  const execution = await ended(n8n, running);
  await reply;
  expect(execution.status).toBe('canceled');
  const settled = async (): Promise<readonly object[]> =>
    database.query(
      `SELECT run.state, line.total_tokens FROM elo_agent_runs AS run
       JOIN elo_t_token_usage AS line USING (tenant_id, task_id) WHERE tenant_id = $1 AND run.state <> 'running'`,
      [tenant],
    );
  while ((await settled()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await settled()).toEqual([{ state: 'failed', total_tokens: 120 }]);
  expect(closed).toBe(true);
});

it('never runs a stored result again for a manual test, but always afresh', async () => {
  const tenant = await addTenant(database);
  models.always(() => textReply('fresh').body);
  models.received.length = 0;
  const task = { task_id: 'manual-1', config: { agent_tier: 'pro', message: 'x' }, meta: { tenant_id: tenant } };
  const { id } = await n8n.createWorkflow({
    name: 'manual',
    nodes: [
      {
        id: 'm1',
        name: 'Start',
        type: 'n8n-nodes-base.manualTrigger',
        typeVersion: 1,
        position: [0, 0],
        parameters: {},
      },
      {
        id: 'm2',
        name: 'Agent',
        type: 'n8n-nodes-universal-ai-agent.universalAiAgent',
        typeVersion: 4,
        position: [200, 0],
        parameters: { options: { inputMode: 'item' } },
        credentials,
      },
    ],
    connections: { Start: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] } },
    pinData: { Start: [{ json: task }] },
  });
  for (let n = 0; n < 2; n++) {
    const { data } = await ended(n8n, await n8n.runManually(id, 'Start'));
    expect(data.resultData.runData.Agent?.[0].data.main[0]?.[0]?.json).toMatchObject({ output: 'fresh' });
  }
  expect(models.received).toHaveLength(2);
  const rows = await database.query('SELECT total_tokens FROM elo_t_token_usage WHERE tenant_id = $1', [tenant]);
  expect(rows).toEqual([{ total_tokens: 240 }]);
});

it('leaks no secret into answers, stored executions or logs', async () => {
  const tenant = await tenantWithTool('leaky');
  models.always((request) =>
    request.messages.some(({ role }) => role === 'tool')
      ? { error: { code: 401, message: `bad key ${CANARIES.apiKey}` } }
      : toolReply([{ name: 'leaky' }]).body,
  );
  const id = await activate('secrets', FIELDS, { onError: 'continueRegularOutput' });
  const items = await call('secrets', [{ tenant, tier: 'pro', message: 'x' }]);
  expect(items[0]?.error?.code).toBe('LLM_AUTH_FAILED');
  const execution = await ended(n8n, await lastExecutionId(n8n, id));
  const stored = await database.query<{ text: string }>(
    `SELECT (SELECT string_agg(result::text, '') FROM elo_agent_runs) AS text`,
  );
  const password = decodeURIComponent(new URL(database.url).password);
  const everything = [JSON.stringify(items), JSON.stringify(execution), JSON.stringify(stored), n8n.log()].join('\n');
  for (const secret of [CANARIES.apiKey, 'canary-tool-77aa', CANARIES.header, password]) {
    expect(everything.includes(secret)).toBe(false);
  }
});
