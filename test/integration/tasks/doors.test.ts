import type { INode } from 'n8n-workflow';

import { createRuntime, type Runtime } from '../../../runtime';
import { postgresCredential } from '../../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../../support/servers/database';
import { type ReceivedRequest, sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import {
  type ModelServer,
  type ScriptedReply,
  startModelServer,
  textReply,
  toolReply,
} from '../../support/servers/model-server';
import { startRedis, type TestRedis } from '../../support/servers/redis';
import { failureOf } from '../../support/values/agent-fixture';
import { errorLine, runCli } from '../../support/worlds/cli';
import { outputOf, runInEngine } from '../../support/worlds/n8n-engine';
import { startTrigger } from '../../support/worlds/trigger';

const API_KEY = 'sk-doors';

let database: TestDatabase;
let models: ModelServer;
let tools: TestServer;
let redis: TestRedis;
let runtime: Runtime;
let tenant: string;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  [database, models, redis] = await Promise.all([createMigratedDatabase(), startModelServer(), startRedis()]);
  tools = await startServer((_request, response) => sendJson(response, { orders: [1001, 1002] }));
  tenant = await addTenant(database);
  await giveTool(database, tenant, { code: 'find_orders', endpoint: `${tools.url}/hook`, authHeader: 'Bearer tool' });
  runtime = createRuntime({ database: { url: database.url }, model: { apiKey: API_KEY, baseUrl: models.url } });
  const support = { name: 'support', systemPrompt: 'You support.', tier: 'expert', temperature: 0.1 };
  await runtime.admin.agent.create({ tenantId: tenant, ...support });
  const content = '---\nname: orders\ndescription: Finds orders.\nallowed-tools: find_orders\n---\nFind them.';
  await runtime.admin.skill.create({ tenantId: tenant, content });
  await runtime.admin.agent.create({ tenantId: tenant, name: 'skilled', skills: ['orders'] });
  env = {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    OPENROUTER_API_KEY: API_KEY,
    OPENROUTER_BASE_URL: models.url,
    AGENT_WORKER_PORT: '0',
  };
});
afterAll(async () => {
  await runtime.close();
  await Promise.all([models.close(), tools.close(), redis.close(), database.close()]);
});

type Json = Readonly<Record<string, unknown>>;

interface Task {
  readonly task_id: string;
  readonly config: Json;
  readonly meta: Json;
}

/** The result of a run, and its error if it failed. */
interface Ending {
  readonly result: Json;
  readonly error?: Json;
}

type Door = (task: Task) => Promise<Ending>;

async function throughLibrary(task: Task): Promise<Ending> {
  const run = runtime.run(task) as Promise<unknown>;
  const result = await run.catch(() => undefined);
  if (result !== undefined) return { result: result as Json };
  const { code, message, hint, result: spent } = await failureOf(run);
  return { result: spent as unknown as Json, error: { code, message, hint } };
}

async function throughCommandLine(task: Task): Promise<Ending> {
  const outcome = await runCli(['run', '--task', '-'], { env, input: JSON.stringify(task) });
  const result = JSON.parse(outcome.stdout) as Json;
  return outcome.exitCode === 0 ? { result } : { result, error: errorLine(outcome) };
}

async function throughWorker(task: Task): Promise<Ending> {
  const key = `elo:results:${task.task_id}`;
  const queued = { ...task, task_type: 'ai_agent', callback: { result_key: key } };
  await redis.client.lpush('elo:tasks:pending', JSON.stringify(queued));
  const { exitCode, stderr } = await runCli(['worker', '--drain'], { env });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const [report = '{}'] = await redis.client.lrange(key, 0, -1);
  const { error, error_code: code, hint, tokens_used: used, ...result } = JSON.parse(report) as Json;
  expect(used).toBe((result.tokens as Json).total);
  return error === null ? { result } : { result, error: { code, message: error, hint } };
}

/** The node with these parameters, executed on one item by n8n's engine. */
async function throughNode(item: object, parameters: object, typeVersion = 3): Promise<Ending> {
  const common = { typeVersion: 1, position: [0, 0] as [number, number] };
  const start: INode = { ...common, id: 'start', name: 'Items', type: 'test.items', parameters: {} };
  const credentials = {
    openRouterApi: { apiKey: API_KEY, url: models.url },
    postgres: postgresCredential(database.url),
  };
  const agent = {
    ...common,
    typeVersion,
    id: 'agent',
    name: 'Agent',
    type: 'n8n-nodes-universal-ai-agent.universalAiAgent',
    onError: 'continueRegularOutput',
    parameters,
    credentials: Object.fromEntries(Object.keys(credentials).map((type) => [type, { id: type, name: type }])),
  } as INode;
  const connections = { Items: { main: [[{ node: 'Agent', type: 'main' as const, index: 0 }]] } };
  const ended = await runInEngine({
    workflow: { nodes: [start, agent], connections },
    items: [item as never],
    credentials,
  });
  const { json } = outputOf(ended, 'Agent')[0] as { json: Json };
  // What the item has beside the result is for workflows and n8n's own panels.
  const { output, tool_calls: count, tokenUsage, steps, error, ...result } = json;
  // Of what was refused as it was read there is no result.
  if (result.result === undefined) return { result, error: error as Json };
  const { text, tool_calls: calls } = result.result as { text: string; tool_calls: readonly object[] };
  expect([output, count]).toEqual([text, calls.length]);
  return error === undefined ? { result } : { result, error: error as Json };
}

/** The task as a person enters it in the panel; its ids are by n8n. */
function throughFields({ config, meta }: Task, typeVersion = 3): Promise<Ending> {
  const { variables, message_is_template: messageIsTemplate } = config;
  const options = {
    ...{ maxIterations: config.max_iterations, temperature: config.temperature, includeTrace: true },
    ...(variables === undefined ? {} : { variables: JSON.stringify(variables), messageIsTemplate }),
  };
  const moved = {
    context: JSON.stringify(config.context),
    identity: { clientId: meta.client_id, dialogId: meta.dialog_id, userId: meta.user_id, sessionId: meta.session_id },
  };
  const parameters = {
    tenantId: { __rl: true, mode: 'id', value: meta.tenant_id },
    agent: config.agent,
    tier: config.agent_tier,
    systemPrompt: config.system_prompt,
    message: config.message,
    ...(typeVersion > 2 ? { options: { ...options, ...moved } } : { ...moved, options }),
  };
  return throughNode({}, parameters, typeVersion);
}

async function throughTrigger(task: Task): Promise<Ending> {
  const trigger = await startTrigger({ redis });
  await redis.client.lpush('elo:tasks:pending', JSON.stringify(task));
  const [execution] = await trigger.started(1);
  const ending = await throughNode(execution?.json ?? {}, { options: { inputMode: 'item' } });
  execution?.end('success');
  await trigger.close();
  return ending;
}

const DOORS: readonly (readonly [string, Door])[] = [
  ['the command line', throughCommandLine],
  ['a worker', throughWorker],
  ["the node's fields", (task) => throughFields(task)],
  ['the fields of a node that was saved as version 2', (task) => throughFields(task, 2)],
  ['an item of the node', (task) => throughNode(task, { options: { inputMode: 'item' } })],
  ['an item of a node that was saved as version 1', (task) => throughNode(task, { inputMode: 'item' }, 1)],
  ['the trigger', throughTrigger],
];

let tasks = 0;

function aTask(config: object): Task {
  tasks += 1;
  return {
    task_id: `doors-${tasks}`,
    config: {
      agent_tier: 'pro',
      system_prompt: 'Be brief.',
      message: 'Which orders does Ada have?',
      context: { shop: 'bikes' },
      max_iterations: 5,
      temperature: 0.3,
      include_trace: true,
      ...config,
    },
    meta: { tenant_id: tenant, client_id: 'client-1', dialog_id: 'dialog-1', user_id: 'user-1', session_id: 's-1' },
  };
}

interface Traces extends Ending {
  readonly bill: readonly Json[];
  readonly audit: readonly Json[];
  readonly modelRequests: readonly Json[];
  readonly toolRequests: readonly Json[];
}

/** How a new task ends that goes through the door, and what it leaves in tables and on servers: all but ids and times. */
async function tracesOf(door: Door, config: object = {}, first: readonly ScriptedReply[] = []): Promise<Traces> {
  const call = { name: 'find_orders', id: 'call-1', arguments: { customer: 'Ada' } };
  models.script(
    ...first,
    toolReply([call], { prompt: 400, completion: 100 }),
    textReply('Two orders.', { prompt: 450, completion: 140, cost: 0.0003 }),
  );
  models.requests.length = 0;
  tools.requests.length = 0;
  const ending = await door(aTask(config));
  const rowsOf = async (table: string): Promise<Json[]> => {
    const rows = await database.query(`SELECT * FROM ${table} WHERE task_id = $1 ORDER BY id`, [ending.result.task_id]);
    return rows.map(({ id: _id, created_at: _at, ...row }) => row);
  };
  return withoutIdsAndTimes({
    ...ending,
    bill: await rowsOf('elo_t_token_usage'),
    audit: await rowsOf('elo_tool_executions'),
    modelRequests: models.requests.map(parsed),
    toolRequests: tools.requests.map(parsed),
  });
}

const parsed = ({ body, ...request }: ReceivedRequest): Json => ({ ...request, body: JSON.parse(body) as unknown });

/** Without the length of a request, too, which is that of its ids. */
const VARYING = ['task_id', 'trace_id', 'run_id', 'duration_ms', 'content-length'];

function withoutIdsAndTimes(traces: Traces): Traces {
  const text = JSON.stringify(traces, (key, value: unknown) => (VARYING.includes(key) ? undefined : value));
  return JSON.parse(text) as Traces;
}

it.each(DOORS)('%s returns the result of the library, with the same bill, audit and requests', async (_name, door) => {
  const expected = await tracesOf(throughLibrary);
  expect(expected).toMatchObject({
    result: { status: 'completed', result: { text: 'Two orders.' }, cost_usd: '0.00027150' },
    bill: [{ total_tokens: 1090, model_calls: 2, cost_usd: '0.00027150', run_user_id: 'user-1' }],
    audit: [{ tool: 'find_orders', decision: 'allow', session_id: 's-1' }],
  });
  expect([expected.modelRequests.length, expected.toolRequests.length]).toEqual([2, 1]);
  expect(await tracesOf(door)).toEqual(expected);
});

const namesAgents = ([name]: (typeof DOORS)[number]): boolean => !name.includes('version 2');

it.each(DOORS.filter(namesAgents))(
  '%s runs the agent that the task names, as the library does',
  async (_name, door) => {
    const ofAgent = { agent: 'support', agent_tier: '', system_prompt: '', temperature: undefined };
    const expected = await tracesOf(throughLibrary, ofAgent);
    expect(expected).toMatchObject({
      result: { agent: { name: 'support', source: 'virtual', version: 1 }, agent_tier: 'expert' },
      modelRequests: [{ body: { temperature: 0.1, messages: [{ role: 'system', content: 'You support.' }, {}] } }, {}],
      toolRequests: [{ body: { meta: { agent: 'support' } } }],
    });
    expect(await tracesOf(door, ofAgent)).toEqual(expected);
  },
);

it.each(DOORS.filter(namesAgents))('%s loads the skill of the agent, as the library does', async (_name, door) => {
  const loads = [toolReply([{ name: 'load_skill', id: 'call-0', arguments: { name: 'orders' } }])];
  const expected = await tracesOf(throughLibrary, { agent: 'skilled' }, loads);
  const toolsOf = ({ body }: Json): unknown => (body as { tools: unknown }).tools;
  expect(expected).toMatchObject({
    result: { result: { tool_calls: [{ result: { instructions: 'Find them.', tools: ['find_orders'] } }, {}] } },
    bill: [{ model_calls: 3 }],
    audit: [{ tool: 'load_skill', decision: 'allow' }, { tool: 'find_orders' }],
  });
  expect(expected.modelRequests.map(toolsOf)).toMatchObject([
    [{ function: { name: 'load_skill' } }, { function: { name: 'find_orders' } }],
    [{ function: { name: 'find_orders' } }, { function: { name: 'load_skill' } }],
    [{}, {}],
  ]);
  expect(await tracesOf(door, { agent: 'skilled' }, loads)).toEqual(expected);
});

it.each(DOORS)('%s fills variables in, as the library does', async (_name, door) => {
  const template = {
    variables: { customer: { name: 'Ada' }, own: '{{customer}}' },
    system_prompt: 'You serve {{customer.name}}{{own}}{{none}}.',
    message: 'What does {{customer.name}} have?',
    message_is_template: true,
  };
  const reply = toolReply([{ name: 'find_orders', id: 'call-0', arguments: { of: '{{customer}}' } }]);
  const expected = await tracesOf(throughLibrary, template, [reply]);
  const [first] = expected.modelRequests as readonly { readonly body: { readonly messages: readonly Json[] } }[];
  expect(first?.body.messages).toMatchObject([
    { content: 'You serve Ada{{customer}}{{none}}.' },
    { content: expect.stringMatching(/What does Ada have\?$/) as string },
  ]);
  expect(expected).toMatchObject({
    result: { variables: template.variables, warnings: [{ code: 'VARIABLE_UNKNOWN' }, { code: 'COST_DIFFERS' }] },
    toolRequests: [{ body: { arguments: { of: { name: 'Ada' } } } }, {}],
    audit: [{ arguments: { of: { name: 'Ada' } } }, {}],
  });
  expect(await tracesOf(door, template, [reply])).toEqual(expected);
});

it("in the node's fields, n8n fills expressions: what they give is no template, nor is what a chat says", async () => {
  const tenantId = { __rl: true, mode: 'id', value: tenant };
  const item = { chatInput: 'Hi {{secret}}', text: 'Serve {{secret}} {{none}}.' };
  const options = { variables: '{ "secret": "S3" }' };
  models.requests.length = 0;
  models.script(textReply('Hello'));
  const { result } = await throughNode(item, {
    tenantId,
    systemPrompt: '={{ $json.text }}',
    promptType: 'auto',
    options,
  });
  expect(result.warnings).toEqual([]);
  expect(models.requests.map(parsed)).toMatchObject([
    { body: { messages: [{ content: item.text }, { content: item.chatInput }] } },
  ]);
  const filled = { tenantId, options: { ...options, messageIsTemplate: true } };
  const written = [
    [{ promptType: 'auto' }],
    [{ message: '={{ JSON.stringify($json) }}' }],
    [{ message: '={{ $json.text }}' }],
    [{ options: { ...filled.options, inputMode: 'item' } }],
  ];
  for (const [parameters] of written) {
    const { error } = await throughNode(item, { ...filled, ...parameters });
    expect(error).toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('that you typed in') as string,
    });
  }
  expect(models.requests).toHaveLength(1);
});

/** What every door reports of a failed run; a report of the queue names its tool calls without the result around them. */
function spentOf({ result: { result, ...rest }, ...traces }: Traces): object {
  const { status, model_used, agent_tier, iterations, tokens, cost_usd, tool_calls } = { ...rest, ...(result as Json) };
  return { ...traces, status, model_used, agent_tier, iterations, tokens, cost_usd, tool_calls };
}

it.each(DOORS)('%s reports the failure of the library, and what was spent before it', async (_name, door) => {
  const expected = spentOf(await tracesOf(throughLibrary, { max_iterations: 1 }));
  expect(expected).toMatchObject({
    error: { code: 'MAX_ITERATIONS_REACHED', hint: expect.any(String) as string },
    cost_usd: '0.00012000',
    tool_calls: [{ tool: 'find_orders' }],
    bill: [{ total_tokens: 500 }],
  });
  expect(spentOf(await tracesOf(door, { max_iterations: 1 }))).toEqual(expected);
});
