import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { openEditor } from '../../scripts/lib/editor.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { startMcpServer, type TestMcpServer } from '../support/servers/mcp-server';
import {
  type ModelServer,
  type ModelServerRequest,
  startModelServer,
  textReply,
  toolReply,
} from '../support/servers/model-server';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { chatModel, COLLEAGUE, connectedWorkflow, memory, parser, type SubNode, tools } from './support/connected';
import {
  addModelCredential,
  addPostgresCredential,
  connect,
  type Credential,
  ended,
  FIELDS,
  lastExecutionId,
  type N8n,
} from './support/host';
import { PICTURES } from './support/pictures';
import { addRedisCredential } from './support/queue';

const OURS = { type: 'n8n-nodes-universal-ai-agent.universalAiAgent', typeVersion: 4 };
const THEIRS = { type: '@n8n/n8n-nodes-langchain.agent', typeVersion: 3.1 };
const PROMPTS = { promptType: 'define', text: '={{ $json.message }}', options: { systemMessage: 'Be brief.' } };
const MODEL = 'anthropic/claude-3-haiku';
const SPARE = 'qwen/qwen3-8b';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let http: TestServer;
let mcp: TestMcpServer;
let redis: TestRedis;
let openRouterApi: Credential;
let postgres: Credential;
let allTools: SubNode[];
let tenant: string;

beforeAll(async () => {
  n8n = await connect();
  [database, models, redis] = await Promise.all([createMigratedDatabase(), startModelServer(), startRedis()]);
  http = await startServer((request, response) => sendJson(response, { asked: request.path }));
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
  mcp = await startMcpServer({
    answer: () => ({ content: [{ type: 'text', text: 'echoed' }] }),
    tools: () => [{ name: 'echo', description: 'Says it again', inputSchema }],
  });
  openRouterApi = await addModelCredential(n8n, { apiKey: 'sk-or-connected', url: models.url });
  postgres = await addPostgresCredential(n8n, database.url);
  tenant = await addTenant(database);
  const { id } = await n8n.createWorkflow(COLLEAGUE);
  await n8n.activate(id);
  allTools = tools({ http: http.url, mcp: mcp.url, workflow: id });
});
afterAll(() => Promise.all([models.close(), http.close(), mcp.close(), redis.close(), database.close()]));
beforeEach(() => {
  models.received.length = 0;
  models.script();
  models.always((request) => textReply(`answer of ${request.model}`).body);
});

const first = (): SubNode => chatModel(openRouterApi, MODEL);
const spare = (): SubNode => chatModel(openRouterApi, SPARE, { name: 'Spare', input: 1 });

interface Wired {
  readonly type?: { readonly type: string; readonly typeVersion: number };
  readonly parameters?: object;
  readonly credentials?: object;
}

/** Publishes a workflow with our node, or another one, and these sub-nodes. */
async function publish(
  name: string,
  subNodes: readonly SubNode[],
  { type = OURS, parameters = FIELDS, credentials = { postgres } }: Wired = {},
): Promise<string> {
  const agent = { ...type, parameters };
  const { id } = await n8n.createWorkflow(connectedWorkflow({ path: name, agent, credentials, subNodes }));
  await n8n.activate(id);
  return id;
}

async function call(name: string, message: string): Promise<Record<string, unknown>> {
  const item = { tenant, tier: 'pro', session: 'session-1', message };
  const reply = await n8n.callWebhook(name, { items: [item] });
  const [answer] = Array.isArray(reply.json) ? (reply.json as Record<string, unknown>[]) : [];
  if (answer === undefined) throw new Error(`HTTP ${reply.status}: ${reply.text.slice(0, 1000)}`);
  return answer;
}

interface NodeRun {
  readonly source: readonly ({ readonly previousNode: string; readonly previousNodeRun?: number } | null)[];
  readonly data?: Readonly<Record<string, readonly (readonly { readonly json: Record<string, unknown> }[] | null)[]>>;
}

async function runDataOf(workflowId: string): Promise<Readonly<Record<string, readonly NodeRun[]>>> {
  const { data } = await ended(n8n, await lastExecutionId(n8n, workflowId));
  return data.resultData.runData as unknown as Readonly<Record<string, readonly NodeRun[]>>;
}

const CALLS = [
  { name: 'shout', id: 'call_1', arguments: { input: 'hey' } },
  { name: 'Calculator', id: 'call_2', arguments: { input: '6*7' } },
  { name: 'Call_Colleague', id: 'call_3', arguments: { question: 'why' } },
  { name: 'Shop_Server_echo', id: 'call_4', arguments: { text: 'hi' } },
  { name: 'Find_Orders', id: 'call_5', arguments: { customer: 'Ada' } },
];

/** The message `tools` is answered with a call of each tool, any other one with a text. */
function converse({ messages }: ModelServerRequest): unknown {
  const asked = messages.filter(({ role }) => role === 'user').at(-1)?.content ?? '';
  const isFirst = messages.at(-1)?.role === 'user' && asked === 'tools';
  return isFirst ? toolReply(CALLS).body : textReply(`answer to ${asked}`).body;
}

/** A request in a form in which both nodes can be compared: n8n's own gives each call a message of its own. */
function comparable({ messages, ...request }: ModelServerRequest): object {
  const results = new Map(messages.map(({ role, tool_call_id: id, content }) => [role === 'tool' ? id : '', content]));
  return {
    ...request,
    said: messages.flatMap(({ role, content, tool_calls: calls = [] }): readonly unknown[] => {
      if (role === 'tool') return [];
      return calls.length === 0
        ? [[role, content]]
        : calls.map((one) => [one.id, one.function.name, results.has(one.id)]);
    }),
  };
}

/** Every result stands behind its call, and every call has one. */
function isWhole({ messages }: ModelServerRequest): boolean {
  const open = new Set<string>();
  for (const { role, tool_calls: calls = [], tool_call_id: id = '' } of messages) {
    if (role === 'tool' && !open.delete(id)) return false;
    if (role !== 'tool' && open.size > 0) return false;
    for (const one of calls) open.add(one.id);
  }
  return open.size === 0;
}

it("shows the model what n8n's AI Agent shows it: the same tools, and the same conversation", async () => {
  models.always(converse);
  const subNodes = [first(), memory(), ...allTools];
  await publish('same-ours', subNodes);
  await publish('same-theirs', subNodes, { type: THEIRS, parameters: PROMPTS, credentials: {} });
  const seen: ModelServerRequest[][] = [];
  for (const name of ['same-ours', 'same-theirs']) {
    models.received.length = 0;
    const answers = [];
    for (const message of ['hello', 'tools', 'and now']) answers.push((await call(name, message)).output);
    expect(answers).toEqual(['answer to hello', 'answer to tools', 'answer to and now']);
    seen.push([...models.received]);
  }
  const [ours = [], theirs = []] = seen;
  expect(ours).toHaveLength(4);
  expect(ours[0]?.tools).toHaveLength(5);
  expect(ours.map(comparable)).toEqual(theirs.map(comparable));
  expect(ours.every(isWhole)).toBe(true);
  const results = ours[3]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  expect(results).toEqual([
    '"HEY"',
    '42',
    '[{"query":{"question":"why"},"question":"why"}]',
    '[{"type":"text","text":"echoed"}]',
    '[{"asked":"/?customer=Ada"}]',
  ]);
});

it('leaves no call without its result where the window of the memory cuts through a turn', async () => {
  models.always(converse);
  await publish('window', [first(), memory('={{ $json.session }}', 3), ...allTools]);
  for (const message of ['tools', 'and now']) await call('window', message);
  // The last six messages begin within the results.
  expect(models.received[2]?.messages.map(({ role }) => role)).toEqual(['system', 'assistant', 'user']);
});

it("bills what is connected under its own name, and shows every step in n8n's Logs", async () => {
  models.always(converse);
  const id = await publish('billed', [first(), memory(), ...allTools]);
  const item = await call('billed', 'tools');
  expect(item).toMatchObject({
    output: 'answer to tools',
    model_used: MODEL,
    agent_tier: 'pro',
    iterations: 2,
    tokens: { prompt: 200, completion: 40, total: 240 },
    cost_usd: '0.00010000',
    warnings: [],
  });
  const rows = await database.query(
    'SELECT model_id, total_tokens, cost_usd::text AS cost FROM elo_t_token_usage WHERE task_id = $1',
    [item.task_id],
  );
  expect(rows).toEqual([{ model_id: MODEL, total_tokens: 240, cost: '0.00010000' }]);
  const runs = await runDataOf(id);
  const beneath = Object.entries(runs).filter(([, [run]]) => run?.source[0]?.previousNode === 'Agent');
  expect(Object.fromEntries(beneath.map(([name, of]) => [name, of.length]))).toEqual({
    Model: 2,
    Memory: expect.any(Number) as number,
    ...Object.fromEntries(allTools.map(({ name }) => [name, 1])),
  });
  // The panel adds up what all of them say.
  const told = Object.values(runs)
    .flat()
    .flatMap(({ data = {} }) => Object.values(data).flat(2))
    .map((one) => one?.json.tokenUsage as { readonly totalTokens: number } | undefined);
  expect(told.reduce((sum, usage) => sum + (usage?.totalTokens ?? 0), 0)).toBe(240);
});

it('asks the fallback when the first model fails, and bills that one', async () => {
  models.always((request) => textReply(`answer of ${request.model}`).body);
  models.script({ status: 400, body: { error: { message: 'no such model', code: 400 } } });
  // The order in which they were wired says nothing.
  const id = await publish('fallback', [spare(), first()]);
  expect(await call('fallback', 'hello')).toMatchObject({
    output: `answer of ${SPARE}`,
    model_used: SPARE,
    tokens: { total: 120 },
    warnings: [{ code: 'MODEL_FALLBACK' }],
  });
  expect(models.received.map(({ model }) => model)).toEqual([MODEL, SPARE]);
  expect(Object.keys(await runDataOf(id))).toEqual(expect.arrayContaining(['Model', 'Spare']));
  expect(await call('fallback', 'again')).toMatchObject({ output: `answer of ${MODEL}`, warnings: [] });
});

it('gives an answer of the form that the connected parser wants', async () => {
  models.script(
    toolReply([{ name: 'format_final_json_response', arguments: { output: { town: 'Oslo' } } }]),
    toolReply([{ name: 'format_final_json_response', arguments: { output: { city: 'Oslo' } } }]),
    toolReply([{ name: 'format_final_json_response', arguments: { output: { city: 'Oslo' } } }]),
  );
  await publish('form-ours', [first(), parser()], { parameters: { ...FIELDS, hasOutputParser: true } });
  await publish('form-theirs', [first(), parser()], {
    type: THEIRS,
    parameters: { ...PROMPTS, hasOutputParser: true },
    credentials: {},
  });
  expect(await call('form-ours', 'where?')).toMatchObject({ output: { city: 'Oslo' }, iterations: 2 });
  expect(await call('form-theirs', 'where?')).toEqual({ output: { city: 'Oslo' } });
  const [ours, , theirs] = models.received.map(({ tools: shown }) =>
    shown?.map(({ function: { name, parameters } }) => ({ name, parameters })),
  );
  expect(ours).toEqual(theirs);
});

it('needs no credential of a provider to be published, and says so when there is no model either', async () => {
  await publish('with-model', [first()]);
  expect(await call('with-model', 'hello')).toMatchObject({ output: `answer of ${MODEL}` });
  const bare = await publish('bare', [memory()]);
  await n8n.callWebhook('bare', { items: [{ tenant, tier: 'pro', session: 'session-1', message: 'hello' }] });
  const { status, data } = await ended(n8n, await lastExecutionId(n8n, bare));
  expect(status).toBe('error');
  expect(data.resultData.error?.description).toContain('(MODEL_MISSING)');
});

/** Ends every execution that looks at it. */
const brokenMemory = (): SubNode => memory('={{ $json.absent }}');

it('does not look at what is wired to it as a tool of another agent', async () => {
  models.always(({ messages, tools: shown = [], model }) =>
    shown.length > 0 && messages.at(-1)?.role === 'user'
      ? toolReply([{ name: 'Helper', arguments: { question: 'well?' } }]).body
      : textReply(`answer of ${model}`).body,
  );
  const helper: SubNode = {
    name: 'Helper',
    type: `${OURS.type}Tool`,
    version: 1,
    output: 'ai_tool',
    credentials: { openRouterApi, postgres },
    parameters: {
      toolDescription: 'Helps',
      tenantId: { __rl: true, mode: 'id', value: tenant },
      tier: 'small',
      message: "={{ $fromAI('question', 'What to ask', 'string') }}",
    },
  };
  const ignored = [chatModel(openRouterApi, 'other/model', { name: 'Other' }), brokenMemory()];
  const subNodes = [first(), helper, ...ignored.map((one) => ({ ...one, to: 'Helper' }))];
  await publish('as-tool', subNodes, { type: THEIRS, parameters: PROMPTS, credentials: {} });
  expect(await call('as-tool', 'hello')).toEqual({ output: `answer of ${MODEL}` });
  expect(models.received.map(({ model }) => model)).toEqual([MODEL, SPARE, MODEL]);
  expect(JSON.stringify(models.received[2]?.messages)).toContain(`answer of ${SPARE}`);
});

it('does not look at it either to enqueue a task or to get a result', async () => {
  const credentials = { redis: await addRedisCredential(n8n, redis) };
  const wired = [first(), brokenMemory(), ...allTools];
  const { tenantId, tier, message } = FIELDS;
  const id = await publish('enqueue', wired, {
    credentials,
    parameters: { operation: 'enqueue', tenantId, tier, message },
  });
  const { task_id: taskId } = await call('enqueue', 'hello');
  expect(await redis.client.llen('elo:tasks:pending')).toBe(1);
  expect(Object.keys(await runDataOf(id))).toEqual(['Webhook', 'Items', 'Agent']);
  const tokens = { prompt: 5, completion: 2, total: 7 };
  const report = { task_id: taskId, trace_id: 't', result: { text: 'done', tool_calls: [] }, tokens, error: null };
  await redis.client.lpush('elo:results:connected', JSON.stringify(report));
  await publish('get-result', wired, {
    credentials,
    parameters: { operation: 'getResult', resultKey: 'elo:results:connected', taskId: '', waitSeconds: 5 },
  });
  // What a task of the queue has spent, no sub-node here has told.
  expect(await call('get-result', 'hello')).toMatchObject({ output: 'done', tokenUsage: { totalTokens: 7 } });
  expect(models.received).toEqual([]);
});

it('shows its five inputs on the canvas', async () => {
  mkdirSync(PICTURES, { recursive: true });
  const id = await publish('canvas', [first(), spare(), memory(), ...allTools.slice(3), parser()]);
  const editor = await openEditor({ host: n8n });
  try {
    await editor.login();
    await editor.openWorkflow(id);
    const node = editor.page.locator('[data-test-id="canvas-node"][data-node-name="Agent"]');
    const text = await node.innerText();
    for (const input of ['Model', 'Fallback', 'Memory', 'Tools', 'Parser']) {
      expect(text).toContain(input);
    }
    await editor.screenshot(path.join(PICTURES, 'connected.png'));
  } finally {
    await editor.close();
  }
});
