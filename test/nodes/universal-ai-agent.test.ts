import { readFileSync } from 'node:fs';
import path from 'node:path';

import {
  Expression,
  type ICredentialDataDecryptedObject,
  type INode,
  type INodeParameters,
  type IRun,
} from 'n8n-workflow';

import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../support/servers/model-server';
import { type EngineRun, outputOf, runInEngine } from '../support/worlds/n8n-engine';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';
const FIELDS: INodeParameters = {
  tenantId: { __rl: true, mode: 'id', value: '={{ $json.tenant }}' },
  tier: '={{ $json.tier }}',
  message: '={{ $json.message }}',
};
const withTenant = (value: string): INodeParameters => ({ ...FIELDS, tenantId: { __rl: true, mode: 'id', value } });

let database: TestDatabase;
let models: ModelServer;
let tenant: string;
let credentials: Record<string, ICredentialDataDecryptedObject>;

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  tenant = await addTenant(database, { settings: { default_tier: 'optima' } });
  credentials = {
    openRouterApi: { apiKey: 'sk-node', url: models.url },
    openAiApi: {
      apiKey: 'sk-other',
      url: models.url,
      organizationId: 'org-1',
      header: true,
      headerName: 'x-team',
      headerValue: 'blue',
    },
    postgres: { ...postgresCredential(database.url), maxConnections: 100 },
  };
});
afterAll(() => Promise.all([models.close(), database.close()]));
beforeEach(() => {
  models.received.length = 0;
  models.requests.length = 0;
  models.always((request) => textReply(`to: ${request.messages.at(-1)?.content ?? ''}`).body);
});

interface AgentRun extends Partial<Omit<EngineRun, 'items'>> {
  readonly parameters?: INodeParameters;
  readonly node?: Partial<INode>;
}

function run(items: EngineRun['items'], { parameters = FIELDS, node = {}, ...rest }: AgentRun = {}): Promise<IRun> {
  const agent = {
    id: 'agent-node',
    name: 'Agent',
    type: TYPE,
    typeVersion: 4,
    position: [0, 0],
    parameters,
    credentials: Object.fromEntries(Object.keys(credentials).map((type) => [type, { id: type, name: type }])),
    ...node,
  } as INode;
  const start = {
    id: 'start',
    name: 'Items',
    type: 'test.items',
    typeVersion: 4,
    position: [0, 0],
    parameters: {},
  } as INode;
  const connections = { Items: { main: [[{ node: agent.name, type: 'main' as const, index: 0 }]] } };
  return runInEngine({ workflow: { nodes: [start, agent], connections }, items, credentials, ...rest });
}

const item = (more: object = {}) => ({ tenant, tier: 'pro', message: 'hello', ...more });

it('gives one paired item for each item, with answer, result and token usage', async () => {
  const output = outputOf(await run([item({ message: 'one' }), item({ message: 'two', tier: 'small' })]), 'Agent');
  expect(output.map(({ json, pairedItem }) => [json.output, json.model_used, pairedItem])).toEqual([
    ['to: one', 'openai/gpt-4o-mini', { item: 0 }],
    ['to: two', 'qwen/qwen3-8b', { item: 1 }],
  ]);
  expect(output[0]?.json.tokenUsage).toEqual({ promptTokens: 100, completionTokens: 20, totalTokens: 120 });
});

it("takes the tenant's default tier when none is chosen, and a tenant given as plain text", async () => {
  const parameters = { tenantId: '={{ $json.tenant }}', message: '={{ $json.message }}' };
  expect(outputOf(await run([item()], { parameters }), 'Agent')[0]?.json.agent_tier).toBe('optima');
});

it.each([
  [3, { chatInput: 'Hi', sessionId: 's' }, 1],
  [3, {}, 0],
  [1, { chatInput: 'Hi', sessionId: 's' }, 0],
])(
  'version %i says above the output of %j that nothing is remembered: %i times',
  async (...[typeVersion, chat, times]) => {
    const items = [item(chat), item(chat)];
    const { hints = [] } = (await run(items, { node: { typeVersion } })).data.resultData.runData.Agent?.[0] ?? {};
    expect(hints.filter(({ type, message }) => type === 'info' && message.includes('connect a Memory'))).toHaveLength(
      times,
    );
  },
);

it('takes the message of a chat before it, where that is the source', async () => {
  const { message: _message, ...rest } = FIELDS;
  await run([{ ...item(), chatInput: 'from the chat' }], { parameters: { ...rest, promptType: 'auto' } });
  expect(models.received[0]?.messages.at(-1)?.content).toBe('from the chat');
  await expect(run([item()], { parameters: { ...rest, promptType: 'auto' } })).resolves.toMatchObject({
    data: { resultData: { error: { message: expect.stringContaining('config.message') as string } } },
  });
});

describe('the shape of the item', () => {
  const shaped = async (options: object, node: Partial<INode> = {}): Promise<unknown> => {
    const all = { ...FIELDS, options } as INodeParameters;
    return outputOf(await run([item({ chat: 7 })], { parameters: all, node }), 'Agent')[0]?.json;
  };

  it('keeps the fields of the incoming item, under those of the result', async () => {
    expect(await shaped({ includeInputFields: true })).toMatchObject({ chat: 7, output: 'to: hello', tier: 'pro' });
    expect(await shaped({ includeInputFields: true, outputDetails: 'never' })).toEqual({
      ...item({ chat: 7 }),
      output: 'to: hello',
    });
  });

  it('has the result, or the answer alone, under the field that is named', async () => {
    expect(await shaped({ outputField: 'agent' })).toEqual({
      agent: expect.objectContaining({ output: 'to: hello', status: 'completed' }) as object,
    });
    expect(await shaped({ outputField: 'agent', outputDetails: 'never' })).toEqual({ agent: 'to: hello' });
  });

  it('keeps them on a failed item too', async () => {
    const options = { includeInputFields: true, maxIterations: -1 };
    const failed = await shaped(options, { onError: 'continueRegularOutput' });
    expect(failed).toMatchObject({ chat: 7, error: { code: 'INPUT_INVALID' } });
  });

  it('is refused before anything is spent when it cannot be', async () => {
    const failed = await shaped({ outputField: '__proto__' }, { onError: 'continueRegularOutput' });
    expect(failed).toMatchObject({ error: { code: 'INPUT_INVALID' } });
    expect(models.received).toEqual([]);
  });
});

it('shows the model prompts that are no text as JSON', async () => {
  const parameters = { ...FIELDS, systemPrompt: '={{ $json.rules }}', message: '={{ $json.order }}' };
  await run([{ ...item(), rules: 7, order: { id: 1, lines: ['a'] } }], { parameters });
  expect(models.received[0]?.messages.map(({ content }) => content)).toEqual(['7', '{"id":1,"lines":["a"]}']);
});

it.each([
  ['an object', '={{ { client_id: "123" } }}'],
  ['JSON text', '{"client_id":"123"}'],
])('shows the model a context given as %s', async (_kind, context) => {
  await run([item()], { parameters: { ...FIELDS, options: { context } } });
  expect(models.received[0]?.messages.at(-1)?.content).toBe('<context>\n{"client_id":"123"}\n</context>\n\nhello');
});

it('passes its options on under the names that a task has', async () => {
  const options = {
    temperature: 0.25,
    maxTokens: 77,
    modelOverride: 'openai:gpt-4o',
    maxIterations: 3,
    toolChoice: 'auto',
    includeTrace: true,
  };
  const [output] = outputOf(await run([item()], { parameters: { ...FIELDS, options } }), 'Agent');
  expect(models.received[0]).toMatchObject({ temperature: 0.25, max_tokens: 77, model: 'openai/gpt-4o' });
  expect(output?.json.trace).toHaveLength(1);
});

it('passes on rules for tools, and an approval where there is a run that waits for one', async () => {
  const options = {
    disabledTools: ['find_orders'],
    toolPermissions: '{"*": {"decision": "ask"}}',
    maxToolCalls: 0,
    maxTotalTokens: 5,
    approval: { decide: { runId: '={{ $json.waiting }}', decision: 'approve' } },
  };
  await run([item()], { parameters: { ...FIELDS, options } });
  expect(models.received[0]).not.toHaveProperty('tools');

  const waiting = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
  const { error } = (await run([{ ...item(), waiting }], { parameters: { ...FIELDS, options } })).data.resultData;
  expect(error?.message).toContain(waiting);
});

it('refuses rules for tools that are no JSON, before a model is called', async () => {
  const parameters = { ...FIELDS, options: { toolPermissions: '{"send": ' } };
  const { error } = (await run([item()], { parameters })).data.resultData;
  expect(error?.message).toContain('Tools: Permissions is not valid JSON');
  expect(models.received).toEqual([]);
});

it('lets the task win over the options, field by field, when the item is the task', async () => {
  const task = { config: { message: 'hi', agent_tier: 'pro', temperature: 0.9 }, meta: { tenant_id: tenant } };
  await run([task], { parameters: { options: { inputMode: 'item', temperature: 0.1, maxTokens: 55 } } });
  expect(models.received[0]).toMatchObject({ temperature: 0.9, max_tokens: 55 });
});

it('evaluates no expression when the item is the task', async () => {
  const resolve = jest.spyOn(Expression.prototype, 'resolveSimpleParameterValue');
  const task = { config: { message: 'hi', agent_tier: 'pro' }, meta: { tenant_id: tenant } };
  await run([task], { parameters: { options: { inputMode: 'item' } } });
  const evaluated = resolve.mock.calls
    .map(([value]) => value)
    .filter((value) => typeof value === 'string' && value.startsWith('='));
  resolve.mockRestore();
  expect(evaluated).toEqual([]);
  expect(models.received).toHaveLength(1);
});

it('replays a done item when the same execution runs the node again', async () => {
  const executionId = 'execution-77';
  await run([item()], { executionId });
  const [again] = outputOf(await run([item()], { executionId }), 'Agent');
  expect(again?.json).toMatchObject({ replayed: true, output: 'to: hello', tokenUsage: { totalTokens: 0 } });
  expect(models.received).toHaveLength(1);
});

it('runs afresh for every manual test', async () => {
  const executionId = 'execution-78';
  await run([item()], { executionId, mode: 'manual' });
  const [output] = outputOf(await run([item()], { executionId, mode: 'manual' }), 'Agent');
  expect(models.received).toHaveLength(2);
  expect(output?.json.steps).toMatchObject([{ kind: 'model', cost: expect.any(String) as string }]);
});

it('stops at the first bad item and names it, with code and hint', async () => {
  const { error } = (await run([item(), item({ tier: 'gold' })])).data.resultData;
  expect(error).toMatchObject({
    message: 'Tier "gold" is not configured. Known tiers: nano, small, optima, pro, expert.',
    description: 'Use a known tier, or add a row to elo_agent_tiers. (TIER_UNKNOWN)',
    context: { itemIndex: 1 },
  });
});

it('keeps a bad item beside the good ones when it continues on fail, and says above the output what to do', async () => {
  const finished = await run([item({ tier: 'gold' }), item()], { node: { onError: 'continueRegularOutput' } });
  const output = outputOf(finished, 'Agent');
  expect(finished.data.resultData.runData.Agent?.[0]?.hints).toEqual([
    {
      message: expect.stringMatching(/^Tier "gold" .+ Use a known tier, .+ \(TIER_UNKNOWN\)$/) as string,
      type: 'warning',
      location: 'outputPane',
    },
  ]);
  expect(output.map(({ json }) => (json.error as { code: string } | undefined)?.code ?? json.output)).toEqual([
    'TIER_UNKNOWN',
    'to: hello',
  ]);
});

it('shows a bill that is missing before all else, and nothing of a message as HTML', async () => {
  await database.query(`
    CREATE FUNCTION no_bill() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no bill''; END';
    CREATE TRIGGER no_bill BEFORE INSERT OR UPDATE ON elo_t_token_usage FOR EACH ROW EXECUTE FUNCTION no_bill()`);
  const bad = Array.from({ length: 5 }, (_, index) => item({ tier: `<a href="https://x.example">${index}</a>` }));
  const finished = await run([...bad, item()], { node: { onError: 'continueRegularOutput' } });
  await database.query('DROP FUNCTION no_bill() CASCADE');
  const hints = finished.data.resultData.runData.Agent?.[0]?.hints ?? [];
  expect(hints).toHaveLength(5);
  expect(hints[0]).toMatchObject({
    type: 'danger',
    message: expect.stringMatching(/\(LEDGER_WRITE_FAILED\)$/) as string,
  });
  expect(hints[1]?.message).toContain('Tier "&lt;a href');
  expect(hints.map(({ message }) => message).join()).not.toMatch(/[<>]/);
});

it('sends a bad item to the error output with what was done and spent', async () => {
  models.script(textReply('', { prompt: 5, completion: 0 }), textReply('', { prompt: 5, completion: 0 }));
  const finished = await run([item()], { node: { onError: 'continueErrorOutput' } });
  expect(outputOf(finished, 'Agent')).toEqual([]);
  expect(outputOf(finished, 'Agent', 1)[0]?.json).toMatchObject({
    error: { code: 'LLM_EMPTY_REPLY' },
    tokens: { prompt: 10 },
    iterations: 2,
  });
});

describe.each([
  [3, { simplifyOutput: true }],
  [4, { outputDetails: 'never' }],
])('an item of version %i with the options %j', (typeVersion, options) => {
  const parameters = { ...FIELDS, options };

  it('is the answer alone, as the AI Agent node gives it', async () => {
    const finished = await run([item()], { parameters, node: { typeVersion } });
    expect(outputOf(finished, 'Agent')[0]?.json).toEqual({ output: 'to: hello' });
  });

  it.each([
    ['continueRegularOutput', 0],
    ['continueErrorOutput', 1],
  ] as const)('is the text of the error if the run failed (%s)', async (onError, index) => {
    const finished = await run([item({ message: '' }), item()], { parameters, node: { typeVersion, onError } });
    const failed = outputOf(finished, 'Agent', index)[0];
    expect(failed).toMatchObject({
      pairedItem: { item: 0 },
      json: { error: expect.stringContaining('message') as string },
    });
    expect(failed?.json).not.toHaveProperty('output');
  });
});

it('uses an OpenAI-compatible credential with its base URL and headers', async () => {
  await run([item()], { parameters: { ...FIELDS, options: { modelProvider: 'openAiCompatible' } } });
  expect(models.requests[0]?.headers).toMatchObject({
    authorization: 'Bearer sk-other',
    'openai-organization': 'org-1',
    'x-team': 'blue',
  });
});

it('refuses a Postgres credential with an SSH tunnel', async () => {
  const tunnel = { ...credentials, postgres: { ...credentials.postgres, sshTunnel: true } };
  const { error } = (await run([item()], { credentials: tunnel })).data.resultData;
  expect(error?.description).toContain('SSH_TUNNEL_UNSUPPORTED');
});

it.each([
  ['the tenant comes from the item', FIELDS],
  ['a model defines the tenant', withTenant("={{ $fromAI('Tenant', ``, 'string') }}")],
  ['it does so by an alias', withTenant("={{ $fromai('Tenant') }}")],
  ['the tenant is an argument of the tool', withTenant('={{ $tool.parameters.tenant }}')],
  ['the tenant is in a node, or else from the item', withTenant("={{ $('Items').item.json.x || $json.tenant }}")],
  ['the item is the task', { options: { inputMode: 'item' } }],
  ['the item may be the task', { ...withTenant('chosen'), options: { inputMode: "={{ $('Items').item.json.mode }}" } }],
])('as a tool of another agent, refuses to run when %s, since a model can write it', async (_when, parameters) => {
  const finished = await run([item()], { parameters, node: { type: `${TYPE}Tool` } });
  expect(finished.data.resultData.error?.description).toContain('TENANT_UNTRUSTED');
  expect(models.received).toEqual([]);
});

it('runs the agent that is picked, with its prompt and model where the node has none', async () => {
  await database.query(
    `INSERT INTO elo_agents (tenant_id, name, system_prompt, tier) VALUES ($1, 'support', 'You support.', 'expert')`,
    [tenant],
  );
  const parameters = (agent: unknown): INodeParameters =>
    ({ ...FIELDS, tier: '', systemPrompt: '', agent }) as INodeParameters;
  const picked = { __rl: true, mode: 'list', value: 'support' };
  const [one] = outputOf(await run([item()], { parameters: parameters(picked) }), 'Agent');
  expect(one?.json).toMatchObject({
    model_used: 'anthropic/claude-3-5-sonnet',
    agent: { name: 'support', source: 'virtual', version: 1 },
  });
  expect(models.received[0]?.messages[0]).toMatchObject({ role: 'system', content: 'You support.' });
  const named = await run([item({ who: 'support' })], { parameters: parameters('={{ $json.who }}') });
  expect(outputOf(named, 'Agent')[0]?.json.agent).toMatchObject({ name: 'support' });
  const { error } = (await run([item()], { parameters: parameters({ ...picked, value: 'other' }) })).data.resultData;
  expect(error?.description).toContain('AGENT_NOT_FOUND');
  await database.query('DELETE FROM elo_agents');
});

it.each(['agent', 'sessionId'])(
  'as a tool of another agent, refuses a parameter %s that a model can write',
  async (name) => {
    const parameters = { ...withTenant(tenant), [name]: "={{ $fromAI('Agent', ``, 'string') }}" };
    const finished = await run([item()], { parameters, node: { type: `${TYPE}Tool` } });
    expect(finished.data.resultData.error?.description).toContain('INPUT_INVALID');
    expect(models.received).toEqual([]);
  },
);

it.each([
  ['chosen', (): string => tenant],
  ['of another node', (): string => "={{ $('Items').item.json['tenant'].trim() }}"],
])('as a tool of another agent, runs for a tenant %s, which no model can write', async (_from, value) => {
  const finished = await run([item()], { parameters: withTenant(value()), node: { type: `${TYPE}Tool` } });
  expect(outputOf(finished, 'Agent')[0]?.json.output).toBe('to: hello');
});

it('shows warnings above the output', async () => {
  await database.query(`DELETE FROM elo_model_pricing WHERE model_id = 'qwen/qwen3-8b'`);
  const finished = await run([item({ tier: 'small' })]);
  expect(finished.data.resultData.runData.Agent?.[0]?.hints).toEqual([
    { message: expect.stringContaining('USAGE_UNPRICED') as string, type: 'warning', location: 'outputPane' },
  ]);
});

it.each(['one-agent.json', 'agent-task.json'])('runs the agent of examples/workflows/%s', async (file) => {
  const json = readFileSync(path.resolve(__dirname, '../../examples/workflows', file), 'utf8');
  const agent = (JSON.parse(json) as { nodes: INode[] }).nodes.find((node) => node.type === TYPE);
  const task = { config: { message: 'hello', agent_tier: 'pro' }, meta: { tenant_id: tenant } };
  const finished = await run([{ ...item(), ...task }], { node: { ...agent } });
  expect(outputOf(finished, agent?.name ?? '')[0]?.json).toMatchObject({ status: 'completed' });
});
