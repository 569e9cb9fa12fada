import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { plan, review } from '../support/values/plan-script';
import { byId, type Examples, examplesIn } from './support/examples';
import { addModelCredential, addPostgresCredential, connect, ended, type N8n } from './support/host';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let tools: TestServer;
let examples: Examples;

beforeAll(async () => {
  n8n = await connect();
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  tools = await startServer((_request, response) => sendJson(response, { sent: true }));
  examples = examplesIn(n8n, {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-agents', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
  });
});
afterAll(() => Promise.all([models.close(), tools.close(), database.close()]));
beforeEach(() => {
  models.received.length = 0;
});

it('supervisor-and-specialists.json asks both specialists, on one line of the bill', async () => {
  const tenant = await addTenant(database, { settings: { default_tier: 'pro' } });
  models.always(({ messages }) => {
    const prompt = messages[0]?.content ?? '';
    const last = messages.at(-1);
    if (prompt.includes('about orders')) return textReply('It was sent on Monday.').body;
    if (prompt.includes('about products')) return textReply('There are three.').body;
    if (last?.role === 'tool') return textReply('Sent on Monday; three are left.').body;
    const calls = ['ask_orders', 'ask_products'].map((name) => ({
      name,
      arguments: { message: String(last?.content) },
    }));
    return toolReply(calls).body;
  });
  const reply = await examples.whilePublished('supervisor-and-specialists.json', {
    use: async (id) => {
      expect(await ended(n8n, await n8n.runManually(id, 'Start'))).toMatchObject({ status: 'success' });
      return n8n.callWebhook('supervisor', { tenant, message: 'Where is my chain, and have you got more?' });
    },
  });
  expect(reply.json).toMatchObject({
    output: 'Sent on Monday; three are left.',
    agent: { name: 'reception', source: 'virtual' },
    result: { tool_calls: [{ tool: 'ask_orders' }, { tool: 'ask_products' }] },
  });
  expect(models.received).toHaveLength(4);
  const lines = await database.query('SELECT model_calls FROM elo_t_token_usage WHERE tenant_id = $1', [tenant]);
  expect(lines).toEqual([{ model_calls: 4 }]);
});

it('chat-with-session.json remembers a conversation, and tells nothing of it to another tenant', async () => {
  const tenantOf = async (): Promise<object> => ({ tenantId: byId(await addTenant(database)) });
  models.always(() => textReply('Hm.').body);
  const say = async (chatInput: string): Promise<void> => {
    const message = { action: 'sendMessage', sessionId: 'one', chatInput };
    const { status } = await n8n.callWebhook('6e1f6a52-1c53-4b8a-9d7e-00000000000a/chat', message);
    expect(status).toBe(200);
  };
  const changes = { Chat: { public: true, mode: 'webhook' }, 'Universal AI Agent': await tenantOf() };
  await examples.whilePublished('chat-with-session.json', {
    changes,
    use: async (id) => {
      await say('I am Ada');
      await say('Who am I?');
      await examples.change(id, { 'Universal AI Agent': await tenantOf() });
      await say('And I?');
    },
  });
  const said = models.received.map(({ messages }) =>
    messages.filter(({ role }) => role === 'user').map(({ content }) => content),
  );
  expect(said).toEqual([['I am Ada'], ['I am Ada', 'Who am I?'], ['And I?']]);
});

it('plan-with-approval.json waits for a person in a step, and continues to the end', async () => {
  const tenant = await addTenant(database);
  const tool = `send_${tenant.slice(0, 8)}`;
  await giveTool(database, tenant, { code: tool, endpoint: tools.url });
  models.script(
    plan('Write to Ann'),
    toolReply([{ name: tool }]),
    textReply('Sent.'),
    review('SUCCESS'),
    textReply('Ann knows.'),
  );
  const options = { toolPermissions: JSON.stringify({ [tool]: { decision: 'ask' } }) };
  await examples.whilePublished('plan-with-approval.json', {
    changes: { 'Universal AI Agent': { options } },
    use: async () => {
      const waiting = await n8n.callWebhook('plan', { tenant, message: 'Tell Ann' });
      expect(waiting.json).toMatchObject({ status: 'awaiting_input', awaiting: { tool } });
      expect(tools.requests).toHaveLength(0);
      const { run_id } = waiting.json as { run_id: string };
      const decided = await n8n.callWebhook('plan-decision', { tenant, run_id, decision: 'approve', user: 'Eve' });
      expect(decided.json).toMatchObject({ status: 'completed', result: { text: 'Ann knows.' } });
    },
  });
  expect(tools.requests).toHaveLength(1);
});
