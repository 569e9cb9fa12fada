import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { eventually } from '../support/values/agent-fixture';
import { createTable, tableRows } from './support/data-tables';
import { byId, type Examples, examplesIn } from './support/examples';
import { addModelCredential, addPostgresCredential, connect, type Credential, type N8n } from './support/host';
import { addRedisCredential } from './support/queue';
import { startTelegram, type Telegram } from './support/telegram';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let redis: TestRedis;
let telegram: Telegram;
let examples: Examples;

beforeAll(async () => {
  n8n = await connect();
  [database, models, redis] = await Promise.all([createMigratedDatabase(), startModelServer(), startRedis()]);
  telegram = await startTelegram();
  const credentials: Record<string, Credential> = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-examples', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
    redis: await addRedisCredential(n8n, redis),
    telegramApi: {
      id: await n8n.createCredential({
        name: 'Telegram',
        type: 'telegramApi',
        data: { accessToken: '1:token', baseUrl: telegram.url },
      }),
      name: 'Telegram',
    },
  };
  examples = examplesIn(n8n, credentials);
});
afterAll(() => Promise.all([models.close(), telegram.close(), redis.close(), database.close()]));
beforeEach(() => {
  models.received.length = 0;
  models.always((request) => textReply(`${request.model}: ${request.messages.at(-1)?.content ?? ''}`).body);
});

it('chat-with-memory.json remembers a conversation, and tells nothing of it to another tenant with the same session', async () => {
  const tenantOf = async (): Promise<object> => ({ tenantId: byId(await addTenant(database)) });
  const say = async (chatInput: string): Promise<void> => {
    const message = { action: 'sendMessage', sessionId: 'one', chatInput };
    const { status } = await n8n.callWebhook('4d1f6a52-1c53-4b8a-9d7e-00000000000a/chat', message);
    expect(status).toBe(200);
  };
  const changes = { Chat: { public: true, mode: 'webhook' }, 'Universal AI Agent': await tenantOf() };
  await examples.whilePublished('chat-with-memory.json', {
    changes,
    use: async (id) => {
      await say('I am Ada');
      await say('Who am I?');
      // A memory belongs to its workflow, so the other tenant has to be in the same one.
      await examples.change(id, { 'Universal AI Agent': await tenantOf() });
      await say('And I?');
    },
  });
  const said = models.received.map(({ messages }) =>
    messages.filter(({ role }) => role === 'user').map(({ content }) => content),
  );
  expect(said).toEqual([['I am Ada'], ['I am Ada', 'Who am I?'], ['And I?']]);
});

it('one-agent.json gives each request the model of its tier', async () => {
  const tenant = await addTenant(database);
  const tiers = ['nano', 'small', 'optima', 'pro', 'expert'];
  const requests = tiers.map((tier) => ({ tenant, tier, message: `as ${tier}` }));
  const reply = await examples.whilePublished('one-agent.json', {
    use: () => n8n.callWebhook('one-agent', { requests }),
  });
  const answers = reply.json as { output: string; agent_tier: string }[];
  expect(answers.map((answer) => answer.agent_tier)).toEqual(tiers);
  expect(new Set(models.received.map(({ model }) => model)).size).toBe(5);
});

it('agent-task.json does a task once', async () => {
  const tenant = await addTenant(database);
  const task = { task_id: 'from-example', config: { agent_tier: 'pro', message: 'once' }, meta: { tenant_id: tenant } };
  const answers = await examples.whilePublished('agent-task.json', {
    use: async () => [
      await n8n.callWebhook('agent-task', { tasks: [task, { ...task, task_id: 'bad', meta: {} }] }),
      await n8n.callWebhook('agent-task', { tasks: [task] }),
    ],
  });
  expect(answers.map(({ json }) => json as object)).toMatchObject([
    [{ status: 'completed' }, { error: { code: 'INPUT_INVALID' } }],
    [{ replayed: true }],
  ]);
  expect(models.received).toHaveLength(1);
});

it('enqueue-and-get-result.json gets the answer that queue.json makes', async () => {
  const tenant = await addTenant(database);
  const ask = (): ReturnType<N8n['callWebhook']> =>
    n8n.callWebhook('enqueue-task', { tenant, tier: 'small', message: 'from far' });
  const reply = await examples.whilePublished('queue.json', {
    use: () => examples.whilePublished('enqueue-and-get-result.json', { use: ask }),
  });
  expect(reply.json).toMatchObject({ status: 'completed', agent_tier: 'small' });
  expect((reply.json as { output: string }).output).toContain('from far');
});

it('find-orders.json is a tool that an agent can use', async () => {
  // Other tests have the same tool active at the same time.
  const own = 'find-orders-of-examples';
  const tenant = await addTenant(database);
  await database.query(
    `WITH tool AS (INSERT INTO elo_agent_tools (code, name, description, parameters_schema, mcp_endpoint)
       VALUES ('find_orders', 'Find orders', 'Find orders', $2, $3) RETURNING id)
     INSERT INTO elo_t_tenant_tools (tenant_id, tool_id) SELECT $1, id FROM tool`,
    [tenant, '{"type":"object","properties":{"customer":{"type":"string"}}}', `${n8n.baseUrl}/webhook/${own}`],
  );
  models.always(({ messages }) => {
    const { role, content } = messages.at(-1) ?? {};
    if (role === 'tool') return textReply(String(content)).body;
    return toolReply([{ name: 'find_orders', arguments: { customer: 'Ada' } }]).body;
  });
  const ask = (): ReturnType<N8n['callWebhook']> =>
    n8n.callWebhook('one-agent', { requests: [{ tenant, tier: 'pro', message: 'orders?' }] });
  const reply = await examples.whilePublished('find-orders.json', {
    changes: { Webhook: { path: own } },
    use: () => examples.whilePublished('one-agent.json', { use: ask }),
  });
  const [answer] = reply.json as { output: string }[];
  expect(JSON.parse(answer?.output ?? '')).toMatchObject({ customer: 'Ada', orders: [{ id: 1001 }, { id: 1002 }] });
});

it('error-branch.json tells errors that may pass from those that need a change', async () => {
  const tenant = await addTenant(database);
  const ask = (who: string): ReturnType<N8n['callWebhook']> =>
    n8n.callWebhook('ask', { tenant: who, tier: 'pro', message: 'hello' });
  const answers = await examples.whilePublished('error-branch.json', {
    use: async () => {
      const good = await ask(tenant);
      const stranger = await ask('00000000-0000-4000-8000-000000000000');
      models.always(() => ({ choices: 'none' }));
      return [good, stranger, await ask(tenant)];
    },
  });
  expect(answers.map(({ status, json }) => [status, json as object])).toEqual([
    [
      200,
      { answer: expect.stringContaining('hello') as string, cost_usd: expect.stringMatching(/^0\.\d{8}$/) as string },
    ],
    [
      422,
      expect.objectContaining({ retry: false, error: expect.objectContaining({ code: 'TENANT_NOT_FOUND' }) as object }),
    ],
    [
      503,
      expect.objectContaining({ retry: true, error: expect.objectContaining({ code: 'LLM_BAD_REPLY' }) as object }),
    ],
  ]);
});

it('telegram.json answers a chat that has a tenant, and no other one', async () => {
  const tenant = await addTenant(database);
  const rows = [{ app: 'telegram', channel: '4711', tenant_id: tenant }];
  await createTable(n8n, { name: 'tenant_channels', columns: ['app', 'channel', 'server', 'tenant_id'], rows });
  await examples.whilePublished('telegram.json', {
    use: async () => {
      await telegram.receive(666, 'a stranger');
      await telegram.receive(4711, 'a customer');
      const [sent] = await telegram.sent(1);
      expect(sent).toMatchObject({ chat_id: 4711 });
      expect(sent?.text).toMatch(/: a customer$/);
    },
  });
  expect(models.received).toHaveLength(1);
  expect(await telegram.sent(1)).toHaveLength(1);
});

it('evaluation.json measures cost, tool calls and answers of a data table', async () => {
  const tenant = await addTenant(database);
  const row = { tenant_id: tenant, tier: 'pro', question: 'Which colour?' };
  const columns = [...Object.keys(row), 'expected', 'answer', 'cost_usd'];
  const rows = ['red', 'blue'].map((expected) => ({ ...row, expected }));
  const table = await createTable(n8n, { name: 'evaluation', columns, rows });
  models.always(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? textReply('It is red.').body : toolReply([{ name: 'no_such_tool' }]).body,
  );
  const source = { dataTableId: byId(table) };
  const id = await examples.load('evaluation.json', { 'Dataset Row': source, 'Save Answer': source });
  await n8n.rest('POST', `/workflows/${id}/test-runs/new`, {});
  const { metrics } = await eventually(async () => {
    const [run] = (await n8n.rest('GET', `/workflows/${id}/test-runs`)) as { status: string; metrics: object }[];
    return run?.status === 'completed' ? run : undefined;
  });
  expect(metrics).toMatchObject({ cost_usd: 0.000054, tool_calls: 1, failed_tool_calls: 1, has_expected: 0.5 });
  const answers = await tableRows(n8n, table);
  expect(answers.map(({ answer, cost_usd: cost }) => [answer, cost])).toEqual(
    rows.map(() => ['It is red.', '0.00005400']),
  );
});
