import { textReply, toolReply } from '../support/servers/model-server';
import { connectedWorkflow, type SubNode } from './support/connected';
import { byId, examplesIn } from './support/examples';
import { connect, ended, lastExecutionId, type N8n } from './support/host';
import { startStock, type Stock } from './support/stock';
import { piecesOf, publishStreaming } from './support/streams';

const LC = '@n8n/n8n-nodes-langchain';
const OF_ITEM = '={{ $json.tenant }}';
const PROMPT = { promptType: 'define', text: '={{ $json.message }}' };
const CHAIN = { type: `${LC}.chainLlm`, typeVersion: 1.9, parameters: PROMPT };
const AGENT = { type: `${LC}.agent`, typeVersion: 3.1, parameters: { ...PROMPT, options: {} } };
const ANSWER = 'There are seven of the first, and none of the second, which comes again on Monday.';
/** A hundred tokens in, twenty out, at the price of gpt-4o-mini. */
const LINE = { task_type: 'tenant_model', agent_tier: 'pro', model_calls: 1, total_tokens: 120, cost: '0.00002700' };

let n8n: N8n;
let stock: Stock;

beforeAll(async () => {
  n8n = await connect();
  stock = await startStock(n8n);
});
afterAll(() => stock.close());
beforeEach(async () => {
  stock.forget();
  stock.models.always(() => textReply('Seven.').body);
  await stock.database.query('DELETE FROM elo_t_token_usage');
});

const bill = (tenant: string) =>
  stock.database.query(
    `SELECT task_id, task_type, agent_tier, model_calls, total_tokens, cost_usd::text AS cost
     FROM elo_t_token_usage WHERE tenant_id = $1 ORDER BY id`,
    [tenant],
  );

interface Node {
  readonly type: string;
  readonly typeVersion: number;
  readonly parameters: object;
}

async function publish(path: string, agent: Node, subNodes: readonly SubNode[]): Promise<string> {
  const { id } = await n8n.createWorkflow(connectedWorkflow({ path, agent, credentials: {}, subNodes }));
  await n8n.activate(id);
  return id;
}

async function call(path: string, items: readonly object[]): Promise<string> {
  const { status, text } = await n8n.callWebhook(path, { items });
  return `${status}: ${text}`;
}

it.each([
  ['AI Agent 1.9', { ...AGENT, typeVersion: 1.9 }],
  ['AI Agent 2.2', { ...AGENT, typeVersion: 2.2 }],
  ['AI Agent 3.1', AGENT],
  ['Basic LLM Chain', CHAIN],
])('%s asks the model of each tenant, on the bill of that one', async (name, node) => {
  const path = `tenant-model-${name.toLowerCase().replace(/\W/gu, '-')}`;
  await publish(path, node, [stock.tenantModel(OF_ITEM)]);
  const tenants = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? stock.ann : stock.bob));
  const replies = await Promise.all(tenants.map((tenant) => call(path, [{ tenant, message: 'How many?' }])));
  expect(replies.filter((reply) => !reply.includes('Seven.'))).toEqual([]);
  const lines = [...(await bill(stock.ann)), ...(await bill(stock.bob))];
  expect(lines.map(({ task_id: _id, ...line }) => line)).toEqual(Array.from({ length: 20 }, () => LINE));
});

it('tools of the tenant and its model are two lines of one execution, and each call is a row', async () => {
  const path = 'tenant-model-tools';
  const id = await publish(path, AGENT, [stock.tenantModel(OF_ITEM), stock.tenantTools(OF_ITEM)]);
  const calls = [{ no: 1 }, { no: 2 }].map((input) => ({ name: 'stock', arguments: input }));
  stock.models.script(toolReply(calls), textReply('Nine.'));
  expect(await call(path, [{ tenant: stock.ann, message: 'How many?' }])).toContain('Nine.');
  expect(stock.sent()).toHaveLength(2);
  expect(await bill(stock.ann)).toMatchObject([{ model_calls: 2, total_tokens: 240 }]);
  const { data } = await ended(n8n, await lastExecutionId(n8n, id));
  const rows = (data.resultData.runData as unknown as Record<string, { readonly data: object }[]>)['Tenant Model'];
  expect(rows?.map((row) => row.data)).toMatchObject([
    { ai_languageModel: [[{ json: { tokenUsage: { totalTokens: 120 }, cost_usd: '0.00002700' } }]] },
    {
      ai_languageModel: [[{ json: { model: 'openai/gpt-4o-mini', response: { generations: [[{ text: 'Nine.' }]] } } }]],
    },
  ]);
});

it.each([
  ['agent', AGENT],
  ['chain', CHAIN],
])('an %s is refused when the budget of the tenant is spent', async (name, node) => {
  const tenant = await stock.tenant({ monthly_cost_limit_usd: 0.001 });
  const path = `tenant-model-spent-${name}`;
  const id = await publish(path, node, [stock.tenantModel(tenant)]);
  await stock.spend(tenant, 1);
  await call(path, [{ message: 'How many?' }]);
  const { data } = await ended(n8n, await lastExecutionId(n8n, id));
  expect(data.resultData.error?.message).toContain('BUDGET_EXCEEDED');
  expect(stock.models.received).toEqual([]);
});

it.each([2.2, 3.1])('AI Agent %s streams the answer behind its tools, at the same bill', async (typeVersion) => {
  const path = `tenant-model-stream-${typeVersion}`;
  const agent = { ...AGENT, typeVersion };
  const subNodes = [stock.tenantModel(stock.ann), stock.tenantTools(stock.ann)];
  const workflow = connectedWorkflow({ path, agent, credentials: {}, subNodes });
  await publishStreaming(n8n, workflow);
  const calls = [{ no: 1 }, { no: 2 }].map((input) => ({ name: 'stock', arguments: input }));
  stock.models.script(toolReply(calls), textReply(ANSWER));
  const { text } = await n8n.callWebhook(path, { items: [{ message: 'How many?' }] });
  const pieces = piecesOf(text);
  expect(pieces.length).toBeGreaterThanOrEqual(3);
  expect(pieces.join('')).toBe(ANSWER);
  expect(stock.sent().map((one) => one.arguments.no)).toEqual([1, 2]);
  expect(await bill(stock.ann)).toMatchObject([{ ...LINE, model_calls: 2, total_tokens: 240, cost: '0.00005400' }]);
});

it('a classifier asks it, and a model below an AI Agent Tool is that of the tenant which the workflow names', async () => {
  const categories = { categories: [{ category: 'stock', description: 'About the stock' }] };
  const classifier = {
    ...{ type: `${LC}.textClassifier`, typeVersion: 1.1 },
    parameters: { inputText: '={{ $json.message }}', categories },
  };
  await publish('tenant-model-classify', classifier, [stock.tenantModel(OF_ITEM)]);
  stock.models.always(() => textReply('{"stock": true}').body);
  expect(await call('tenant-model-classify', [{ tenant: stock.bob, message: 'How many?' }])).toContain(stock.bob);
  expect(await bill(stock.bob)).toMatchObject([LINE]);
  const helper: SubNode = {
    ...{ name: 'Helper', type: `${LC}.agentTool`, version: 3, output: 'ai_tool' },
    parameters: { toolDescription: 'Knows the stock', text: "={{ $fromAI('question', 'What to ask') }}" },
  };
  const below = (path: string, tenant: string) =>
    publish(path, AGENT, [
      ...[stock.tenantModel(stock.ann, { name: 'Own Model' }), helper],
      stock.tenantModel(tenant, { to: 'Helper' }),
    ]);
  const written = { tenant: stock.bob, body: { items: [{ tenant: stock.bob }] }, question: 'how many?' };
  const asked = toolReply([{ name: 'Helper', arguments: written }]);
  await below('tenant-model-below', "={{ $('Webhook').first().json.body.items[0].tenant }}");
  stock.models.script(asked, textReply('seven'), textReply('Seven.'));
  expect(await call('tenant-model-below', [{ tenant: stock.ann, message: 'How many?' }])).toContain('Seven.');
  expect([(await bill(stock.ann)).length, (await bill(stock.bob)).length]).toEqual([2, 1]);
  await below('tenant-model-untrusted', OF_ITEM);
  stock.models.script(asked, textReply('sorry'));
  expect(await call('tenant-model-untrusted', [{ tenant: stock.ann, message: 'How many?' }])).toContain('sorry');
  expect(await bill(stock.bob)).toHaveLength(1);
});

it("n8n-agent.json answers in a chat that streams, with memory and the tenant's tools", async () => {
  const { openRouterApi, postgres } = stock;
  const chosen = { tenantId: byId(stock.ann), options: {} };
  await examplesIn(n8n, { openRouterApi, postgres }).whilePublished('n8n-agent.json', {
    changes: { 'Tenant Model': { ...chosen, tier: 'pro' }, 'Tenant Tools': chosen },
    use: async () => {
      const say = async (chatInput: string): Promise<string> => {
        const message = { action: 'sendMessage', sessionId: 'one', chatInput };
        return piecesOf((await n8n.callWebhook('5d1c7a60-8f0b-4a55-9c1e-0000000000aa/chat', message)).text).join('');
      };
      stock.models.script(toolReply([{ name: 'stock', arguments: { no: 1 } }]), textReply(ANSWER));
      expect(await say('How many?')).toBe(ANSWER);
      expect(await say('And now?')).toBe('Seven.');
    },
  });
  const remembered = stock.models.received.at(-1)?.messages ?? [];
  expect(remembered[0]?.role).toBe('system');
  expect(remembered.map(({ content }) => content)).toEqual(expect.arrayContaining(['How many?', ANSWER, 'And now?']));
  expect(await bill(stock.ann)).toMatchObject([{ model_calls: 2 }, { model_calls: 1 }]);
});

it('items of several tenants are refused, since n8n takes the model of the first one for all', async () => {
  const id = await publish('tenant-model-items', AGENT, [stock.tenantModel(OF_ITEM)]);
  await call(
    'tenant-model-items',
    [stock.ann, stock.bob].map((tenant) => ({ tenant, message: 'How many?' })),
  );
  const { data } = await ended(n8n, await lastExecutionId(n8n, id));
  expect(JSON.stringify(data.resultData.error)).toContain('ITEMS_DIFFER');
  expect(stock.models.received).toEqual([]);
});

it('the Universal AI Agent does not take it, since it bills itself', async () => {
  const agent = {
    type: 'n8n-nodes-universal-ai-agent.universalAiAgent',
    typeVersion: 4,
    parameters: { tenantId: { __rl: true, mode: 'id', value: stock.ann }, message: 'How many?' },
  };
  const { openRouterApi, postgres } = stock;
  const workflow = connectedWorkflow({
    ...{ path: 'tenant-model-own', agent, credentials: { openRouterApi, postgres } },
    subNodes: [stock.tenantModel(stock.ann)],
  });
  const { id } = await n8n.createWorkflow(workflow);
  await n8n.activate(id);
  await call('tenant-model-own', [{}]);
  const { data } = await ended(n8n, await lastExecutionId(n8n, id));
  expect(JSON.stringify(data.resultData.error)).toContain('MODEL_BILLED_TWICE');
});
