import {
  addTenant,
  addTool,
  createDatabase,
  createMigratedDatabase,
  enableTool,
  type TestDatabase,
} from '../support/servers/database';
import { sendJson, startServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { eventually } from '../support/values/agent-fixture';
import { byId, type Examples, examplesIn } from './support/examples';
import { addModelCredential, addPostgresCredential, connect, type Credential, ended, type N8n } from './support/host';
import { type MailServer, startMailServer } from './support/mail';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let empty: TestDatabase;
let mail: MailServer;
let smtp: Credential;
let openRouterApi: Credential;
let postgres: Credential;
let examples: Examples;

beforeAll(async () => {
  n8n = await connect();
  empty = await createDatabase();
  [database, models, mail] = await Promise.all([createMigratedDatabase(), startModelServer(), startMailServer()]);
  const data = { host: '127.0.0.1', port: mail.port, secure: false, disableStartTls: true, user: '', password: '' };
  smtp = { id: await n8n.createCredential({ name: 'SMTP', type: 'smtp', data }), name: 'SMTP' };
  openRouterApi = await addModelCredential(n8n, { apiKey: 'sk-or-admin', url: models.url });
  postgres = await addPostgresCredential(n8n, database.url);
  examples = examplesIn(n8n, { openRouterApi, postgres, smtp });
});
afterAll(() => Promise.all([models.close(), mail.close(), empty.close(), database.close()]));

/** Presses "Execute workflow", and expects that it succeeds. */
async function execute(id: string, trigger: string): Promise<Readonly<Record<string, readonly object[]>>> {
  const { status, data } = await ended(n8n, await n8n.runManually(id, trigger));
  expect([status, data.resultData.error?.message]).toEqual(['success', undefined]);
  const runs = Object.entries(data.resultData.runData);
  return Object.fromEntries(runs.map(([name, [run]]) => [name, (run.data.main[0] ?? []).map(({ json }) => json)]));
}

it('first-tenant.json makes an empty database answer with a tool, without SQL', async () => {
  const inEmpty = examplesIn(n8n, { openRouterApi, postgres: await addPostgresCredential(n8n, empty.url) });
  const last = 'Create or Update Tenant';
  // A failure in the middle: the tables and the tool are there, the tenant is not.
  const broken = await inEmpty.load('first-tenant.json', { [last]: { settings: { default_tier: 'gold' } } });
  const { data } = await ended(n8n, await n8n.runManually(broken, 'Start'));
  expect(data.resultData.error?.description).toContain('(TIER_UNKNOWN)');
  expect(Object.keys(data.resultData.runData)).toContain('Create or Update Tool');
  expect(await empty.query('SELECT id FROM elo_t_tenants')).toEqual([]);
  const id = await inEmpty.load('first-tenant.json');
  const [tenant] = (await execute(id, 'Start'))[last] as { id: string }[];
  expect((await execute(id, 'Start'))[last]).toEqual([tenant]);
  expect(await empty.query('SELECT code FROM elo_agent_tools')).toEqual([{ code: 'find_orders' }]);
  expect(await empty.query('SELECT id FROM elo_t_tenants')).toEqual([{ id: tenant?.id }]);
  models.always(({ messages }) => {
    const { role, content } = messages.at(-1) ?? {};
    if (role === 'tool') return textReply(String(content)).body;
    return toolReply([{ name: 'find_orders', arguments: { customer: 'Ada' } }]).body;
  });
  const ask = (): ReturnType<N8n['callWebhook']> =>
    n8n.callWebhook('one-agent', {
      requests: [{ tenant: tenant?.id, tier: '', message: 'Which orders does Ada have?' }],
    });
  const reply = await inEmpty.whilePublished('find-orders.json', {
    use: () => inEmpty.whilePublished('one-agent.json', { use: ask }),
  });
  expect(reply.json).toMatchObject([{ agent_tier: 'pro', output: expect.stringContaining('1001') as string }]);
});

it('agent-from-a-row.json answers with the prompt of the row, and with the model of its rule', async () => {
  const tenant = await addTenant(database);
  models.always(() => textReply('Two orders.').body);
  await examples.whilePublished('agent-from-a-row.json', {
    use: async (id) => {
      await execute(id, 'Start');
      await execute(id, 'Start');
      for (const plan of ['pro', 'free']) {
        const reply = await n8n.callWebhook('agent-from-a-row', { tenant, plan, message: 'My orders?' });
        expect(reply.json).toMatchObject({
          output: 'Two orders.',
          agent_tier: plan === 'free' ? 'small' : 'pro',
          agent: { name: 'support', source: 'virtual', version: 1 },
        });
      }
    },
  });
  expect(models.received.at(-1)?.messages[0]?.content).toContain('bicycle parts');
});

it('skill.json writes a skill, and the agent loads it when the message calls for it', async () => {
  models.always(({ messages, tools = [] }) => {
    if (messages.at(-1)?.role === 'tool') return textReply('You get 20 EUR.').body;
    expect(messages[0]?.content).toContain('<name>refunds</name>');
    return toolReply([{ name: tools[0]?.function.name ?? '', arguments: { name: 'refunds', arguments: '1001' } }]).body;
  });
  const tenantId = { __rl: true, mode: 'id', value: await addTenant(database) };
  const id = await examples.load('skill.json', { 'Universal AI Agent': { tenantId } });
  const [answer] = (await execute(id, 'Start'))['Universal AI Agent'] as object[];
  expect(answer).toMatchObject({
    output: 'You get 20 EUR.',
    warnings: [],
    result: { tool_calls: [{ tool: 'load_skill', result: { skill: 'refunds' } }] },
  });
  expect(JSON.stringify(answer)).toContain('not given it: 1001');
});

it('onboarding-form.json creates the tenant that a person fills in', async () => {
  await database.query(
    `INSERT INTO elo_agent_tools (code, name, description, parameters_schema, mcp_endpoint)
     VALUES ('find_orders', 'Find orders', 'Find orders', '{"type":"object"}', 'http://127.0.0.1:1')`,
  );
  await examples.whilePublished('onboarding-form.json', {
    use: async (id) => {
      const form = new FormData();
      ['Acme Bikes', 'pro', '25', '["find_orders"]'].forEach((value, index) => form.set(`field-${index}`, value));
      const response = await fetch(`${n8n.baseUrl}/form/onboarding`, { method: 'POST', body: form });
      const { formWaitingUrl } = (await response.json()) as { formWaitingUrl: string };
      // The page asked for before the form waits is another one.
      await eventually(async () => {
        const [{ status }] = (await n8n.executions(id)) as [{ status: string }];
        return status === 'waiting' ? status : undefined;
      });
      const lastPage = await (await fetch(formWaitingUrl)).text();
      expect(lastPage).toMatch(/Acme Bikes is ready[^]*It has 1 tool\(s\) and a budget of 25 US dollars a month/);
    },
  });
  const rows = await database.query(
    `SELECT settings, (SELECT count(*)::int FROM elo_t_tenant_tools WHERE tenant_id = tenant.id) AS tools
     FROM elo_t_tenants AS tenant WHERE name = 'Acme Bikes'`,
  );
  expect(rows).toEqual([{ settings: { default_tier: 'pro', monthly_cost_limit_usd: '25' }, tools: 1 }]);
});

/** One line of the bill, so many months ago. */
async function spend(tenant: string, { usd, monthsAgo = 0 }: { usd: string; monthsAgo?: number }): Promise<void> {
  await database.query(
    `INSERT INTO elo_t_token_usage (tenant_id, task_id, model_id, agent_tier, prompt_tokens, completion_tokens, total_tokens, cost_usd, created_at)
     VALUES ($1, gen_random_uuid()::text, 'openai/gpt-4o-mini', 'pro', 90, 10, 100, $2, date_trunc('month', now()) - make_interval(months => $3))`,
    [tenant, usd, monthsAgo],
  );
}

it('budget-alarm.json mails the tenants that are near their budget', async () => {
  const settings = { monthly_cost_limit_usd: '10' };
  const [near, far] = [
    await addTenant(database, { name: 'Near', settings }),
    await addTenant(database, { name: 'Far', settings }),
  ];
  await spend(near, { usd: '8.5' });
  await spend(far, { usd: '7.5' });
  await spend(await addTenant(database, { name: 'Without budget' }), { usd: '99' });
  const output = await execute(await examples.load('budget-alarm.json'), 'Every Morning');
  expect(output['Over 80 Percent']).toMatchObject([{ name: 'Near' }]);
  const [alarm] = await mail.mails(1);
  expect(alarm).toMatch(/^Subject: Budget: Near has used \$8\.5\S* of \$10\r$/m);
});

it('monthly-bill.json mails the lines of the month before', async () => {
  const tenant = await addTenant(database, { name: '=Billed' });
  await spend(tenant, { usd: '1.25', monthsAgo: 1 });
  await spend(tenant, { usd: '1.5', monthsAgo: 1 });
  await spend(tenant, { usd: '64', monthsAgo: 2 });
  const before = (await mail.mails(1)).length;
  const output = await execute(await examples.load('monthly-bill.json'), 'First of the Month');
  expect(output['Lines of Last Month']).toEqual([
    {
      tenant: "'=Billed",
      tenant_id: tenant,
      model: 'openai/gpt-4o-mini',
      tier: 'pro',
      tasks: 2,
      tokens: '200',
      cost_usd: '2.75000000',
    },
  ]);
  const bill = (await mail.mails(before + 1)).at(-1) ?? '';
  expect(bill).toMatch(/filename=bill-\d{4}-\d{2}\.csv/);
});

it('asks a person as docs/ask-a-person.md says, and goes on once it is decided', async () => {
  const tools = await startServer((_request, response) => sendJson(response, { paid: 7 }));
  const tenant = await addTenant(database);
  await enableTool(database, {
    tenantId: tenant,
    toolId: await addTool(database, { code: 'pay', endpoint: tools.url }),
  });
  const node = (name: string, type: string, parameters: object): object => ({
    id: name,
    name,
    type: `n8n-nodes-universal-ai-agent.${type}`,
    typeVersion: type === 'universalAiAgent' ? 2 : 1,
    position: [0, 0],
    parameters: { tenantId: byId(tenant), ...parameters },
    credentials: { openRouterApi, postgres },
  });
  const rule = { resource: 'tool', operation: 'setLimits', code: 'pay', permissions: '{ "decision": "ask" }' };
  const decide = { resource: 'approval', operation: 'decide', runId: '={{ $json.run_id }}', decision: 'approve' };
  const main = (name: string): object => ({ main: [[{ node: name, type: 'main', index: 0 }]] });
  const { id } = await n8n.createWorkflow({
    name: 'Ask a person',
    nodes: [
      {
        id: 'start',
        name: 'Start',
        type: 'n8n-nodes-base.manualTrigger',
        typeVersion: 1,
        position: [0, 0],
        parameters: {},
      },
      node('Rule', 'universalAiAgentAdmin', rule),
      node('Agent', 'universalAiAgent', { tier: 'pro', message: 'Pay 7' }),
      node('Decide', 'universalAiAgentAdmin', decide),
    ],
    connections: { Start: main('Rule'), Rule: main('Agent'), Agent: main('Decide') },
  });
  models.always(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? textReply('Paid.').body
      : toolReply([{ name: 'pay', arguments: { amount: 7 } }]).body,
  );
  const { Agent: asked, Decide: done } = await execute(id, 'Start');
  expect(asked).toMatchObject([{ status: 'awaiting_input', awaiting: { tool: 'pay', arguments: { amount: 7 } } }]);
  expect(done).toMatchObject([{ status: 'completed', result: { text: 'Paid.' } }]);
  expect(tools.requests).toHaveLength(1);
  await tools.close();
});
