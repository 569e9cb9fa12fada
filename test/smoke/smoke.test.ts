import { examplesIn } from '../e2e/support/examples';
import {
  addModelCredential,
  addPostgresCredential,
  agentWorkflow,
  connect,
  type Credential,
  FIELDS,
  type N8n,
} from '../e2e/support/host';
import { migrateInto, observe, realFixture, startWorld } from '../e2e/support/migration';
import { addRedisCredential } from '../e2e/support/queue';
import { executeAdmin } from '../e2e/support/twins';
import { addTenant, addTool, createMigratedDatabase, enableTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { streamText } from '../support/servers/stream-reply';
import { eventually } from '../support/values/agent-fixture';

const TIERS = ['nano', 'small', 'optima', 'pro', 'expert'];
/** What 100 and 20 tokens cost at the price of the tier `pro`: $0.15 and $0.60 for a million. */
const PRO_CALL = '0.00002700';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let redis: TestRedis;
let hooks: TestServer;
let tenant: string;
let credentials: Record<'openRouterApi' | 'postgres' | 'redis', Credential>;

beforeAll(async () => {
  n8n = await connect();
  [database, models, redis] = await Promise.all([createMigratedDatabase(), startModelServer(), startRedis()]);
  hooks = await startServer((_request, response) => sendJson(response, { orders: 2 }));
  credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-smoke', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
    redis: await addRedisCredential(n8n, redis),
  };
});
afterAll(() => Promise.all([models.close(), hooks.close(), redis.close(), database.close()]));
beforeEach(async () => {
  tenant = await addTenant(database);
  models.received.length = 0;
  models.always(() => textReply('Done').body);
});

type Reply = Awaited<ReturnType<N8n['callWebhook']>>;

interface Line {
  readonly task_id: string;
  readonly model_id: string;
  readonly model_calls: number;
  readonly cost_usd: string;
}

/** The lines of the tenant's bill. */
const bill = (of = database): Promise<Line[]> =>
  of.query<Line>(
    'SELECT task_id, model_id, model_calls, cost_usd::text FROM elo_t_token_usage WHERE $1::uuid IS NULL OR tenant_id = $1',
    [of === database ? tenant : null],
  );

it('runs one item a tier with a tool, and bills each but the free one', async () => {
  const toolId = await addTool(database, { code: 'find_orders', endpoint: hooks.url });
  await enableTool(database, { tenantId: tenant, toolId });
  models.always(({ messages, tools }) =>
    tools !== undefined && messages.at(-1)?.role === 'user'
      ? toolReply([{ name: 'find_orders', arguments: { customer: 'Ada' } }]).body
      : textReply('Two orders').body,
  );
  const workflow = agentWorkflow({ path: 'smoke-tiers', parameters: FIELDS, credentials });
  await n8n.activate((await n8n.createWorkflow(workflow)).id);
  const items = TIERS.map((tier) => ({ tenant, tier, message: 'Which orders does Ada have?' }));
  const reply = await n8n.callWebhook('smoke-tiers', { items });
  const answers = reply.json as {
    agent_tier: string;
    output: string;
    tool_calls: number;
    cost_usd: string;
    task_id: string;
  }[];
  expect(answers.map(({ agent_tier: tier, output, tool_calls: calls }) => [tier, output, calls])).toEqual(
    TIERS.map((tier) => [tier, 'Two orders', 1]),
  );
  expect(hooks.requests).toHaveLength(5);
  const lines = await bill();
  const costs = new Map(lines.map((line) => [line.task_id, line.cost_usd]));
  expect(lines.map((line) => line.model_calls)).toEqual([2, 2, 2, 2]);
  expect(answers.map((answer) => costs.get(answer.task_id))).toEqual([
    undefined,
    ...answers.slice(1).map((answer) => answer.cost_usd),
  ]);
  expect(answers[3]?.cost_usd).toBe('0.00005400');
});

it('streams an answer to a chat piece by piece, and bills it whole', async () => {
  const path = 'c5d1f6a5-1c53-4b8a-9d7e-0000000000ab';
  const answer = 'Ada has two orders, of which the first was shipped on Monday.';
  const stream = streamText(textReply(answer).body as object);
  const half = stream.indexOf('\n\n', stream.length / 2) + 2;
  let isSeen = (): void => undefined;
  const seen = new Promise<void>((resolve) => (isSeen = resolve));
  // The rest comes when the chat has shown something of it.
  models.script(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(stream.slice(0, half));
    await seen;
    response.end(stream.slice(half));
  });
  const node = (name: string, type: string, more: object): object => ({
    ...{ id: `smoke-${name}`, name, type, position: [0, 0] },
    ...more,
  });
  const { id } = await n8n.createWorkflow({
    name: 'Smoke chat',
    nodes: [
      node('Chat', '@n8n/n8n-nodes-langchain.chatTrigger', {
        typeVersion: 1.4,
        webhookId: path,
        parameters: { public: true, mode: 'webhook', options: { responseMode: 'streaming' } },
      }),
      node('Agent', 'n8n-nodes-universal-ai-agent.universalAiAgent', {
        typeVersion: 4,
        parameters: { tenantId: { __rl: true, mode: 'id', value: tenant }, tier: 'pro', promptType: 'auto' },
        credentials: { openRouterApi: credentials.openRouterApi, postgres: credentials.postgres },
      }),
    ],
    connections: { Chat: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] } },
  });
  await n8n.activate(id);
  const response = await fetch(`${n8n.baseUrl}/webhook/${path}/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ action: 'sendMessage', sessionId: 'smoke', chatInput: 'Which orders does Ada have?' }),
  });
  let told = '';
  for await (const piece of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    told += piece;
    if (told.includes('"type":"item"')) isSeen();
  }
  const lines = told.trim().split('\n');
  const events = lines.map((line) => JSON.parse(line) as { type: string; content?: string });
  const pieces = events.filter(({ type }) => type === 'item').map(({ content }) => content);
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.join('')).toBe(answer);
  await eventually(async () => ((await bill())[0]?.cost_usd === PRO_CALL ? true : undefined));
});

it('takes a task from the Redis list and answers it on its key', async () => {
  const task = {
    task_id: 'smoke-task',
    task_type: 'ai_agent',
    config: { agent_tier: 'pro', message: 'hello' },
    meta: { tenant_id: tenant },
    callback: { result_key: 'elo:results:smoke' },
  };
  const examples = examplesIn(n8n, credentials);
  await examples.whilePublished('queue.json', {
    use: async () => {
      await redis.client.lpush('elo:tasks:pending', JSON.stringify(task));
      const [result = ''] = await eventually(async () => {
        const entries = await redis.client.lrange('elo:results:smoke', 0, -1);
        return entries.length > 0 ? entries : undefined;
      });
      expect(JSON.parse(result)).toMatchObject({ task_id: 'smoke-task', error: null, result: { text: 'Done' } });
    },
  });
  expect(await bill()).toMatchObject([{ task_id: 'smoke-task', model_calls: 1, cost_usd: PRO_CALL }]);
});

it('writes a row with an operation of administration, and spends nothing', async () => {
  const parameters = { resource: 'tenant', operation: 'create', name: 'Smoke', settings: {}, additionalFields: {} };
  await executeAdmin(n8n, { parameters, credentials: { postgres: credentials.postgres } });
  expect(await database.query("SELECT is_active FROM elo_t_tenants WHERE name = 'Smoke'")).toEqual([
    { is_active: true },
  ]);
  expect(models.received).toEqual([]);
});

it('imports and runs a template, and bills a task once', async () => {
  const task = { task_id: 'smoke-once', config: { agent_tier: 'pro', message: 'once' }, meta: { tenant_id: tenant } };
  const examples = examplesIn(n8n, credentials);
  const [first, second] = await examples.whilePublished('agent-task.json', {
    use: async (): Promise<[Reply, Reply]> => [
      await n8n.callWebhook('agent-task', { tasks: [task] }),
      await n8n.callWebhook('agent-task', { tasks: [task] }),
    ],
  });
  expect([first.json, second.json]).toMatchObject([[{ status: 'completed' }], [{ replayed: true }]]);
  expect(await bill()).toMatchObject([{ task_id: 'smoke-once', model_calls: 1, cost_usd: PRO_CALL }]);
});

it('migrates a workflow with five agents, which then asks the same models and is billed', async () => {
  const world = await startWorld(n8n);
  try {
    const fixture = realFixture(world, 'five-branches');
    const before = await observe(world, fixture.workflow);
    const migrated = await migrateInto(world, fixture);
    const after = await observe(world, migrated.workflow);
    expect(after).toEqual(before);
    const lines = await bill(migrated.database);
    const calls = lines.reduce((sum, line) => sum + line.model_calls, 0);
    const free = after.requests.filter(({ model }) => model.endsWith(':free'));
    expect(calls).toBe(after.requests.length - free.length);
    await migrated.database.close();
  } finally {
    await world.close();
  }
});
