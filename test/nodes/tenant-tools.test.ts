import { randomUUID } from 'node:crypto';

import type { IExecuteFunctions, INode, INodeParameters, IRun, ISupplyDataFunctions } from 'n8n-workflow';

import { TenantTools } from '../../nodes/TenantTools/TenantTools.node';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';
import { nodeAsTool, type Wire, wired } from '../support/worlds/sub-nodes';
import { given, InvokingAgent, RequestingAgent, type ScriptedCall } from '../support/worlds/tool-agents';

const TYPE = 'n8n-nodes-universal-ai-agent.tenantTools';
const MCP_TRIGGER = '@n8n/n8n-nodes-langchain.mcpTrigger';
const REVIEW = 'test.slackHitlTool';
const INVOKING = 'test.agent';
/** n8n's own, which has the engine call tools. */
const AI_AGENT = '@n8n/n8n-nodes-langchain.agent';

let database: TestDatabase;
let tools: TestServer;
let ann: string;
let bob: string;

const schema = {
  type: 'object',
  $defs: { what: { type: 'string', minLength: 1 } },
  properties: { text: { $ref: '#/$defs/what' }, tenant: { type: 'string' }, fails: { type: 'boolean' } },
  required: ['text'],
  additionalProperties: false,
};

beforeAll(async () => {
  database = await createMigratedDatabase();
  tools = await startServer(({ body }, response) => {
    const { tenant_id: tenant, arguments: input } = JSON.parse(body) as { tenant_id: string; arguments: object };
    if ('fails' in input) sendJson(response, { message: 'out of stock' }, 500);
    else sendJson(response, { tenant, input });
  });
  [ann, bob] = await Promise.all([addTenant(database, { name: 'Ann' }), addTenant(database, { name: 'Bob' })]);
  await Promise.all([
    giveTool(database, ann, { code: 'of_ann', endpoint: tools.url, schema }),
    giveTool(database, bob, { code: 'of_bob', endpoint: tools.url, schema }),
  ]);
});
afterAll(() => Promise.all([database.close(), tools.close()]));
beforeEach(() => {
  given.length = 0;
  tools.requests.length = 0;
});

interface Scene {
  readonly calls: readonly ScriptedCall[] | readonly (readonly ScriptedCall[])[];
  readonly items?: readonly object[];
  readonly tenant?: string;
  readonly parameters?: INodeParameters;
  /** Type of the agent. Default: one that calls tools itself. */
  readonly agent?: string;
  readonly version?: number;
  /** Settings of the node Tenant Tools. */
  readonly settings?: Partial<INode>;
  readonly review?: INodeParameters;
  readonly executionId?: string;
}

const agents = {
  [INVOKING]: new InvokingAgent(),
  'test.agentTool': new InvokingAgent(),
  [MCP_TRIGGER]: new InvokingAgent(),
  [AI_AGENT]: new RequestingAgent(),
  [REVIEW]: nodeAsTool(
    function (this: IExecuteFunctions) {
      const { json = {} } = this.getInputData()[0] ?? {};
      const { text } = (json.toolParameters ?? {}) as { readonly text?: string };
      // As n8n does when the time is up, of an item that says so.
      if (text === 'passed through') return Promise.resolve([[{ json: { ...json, data: { approved: true } } }]]);
      return Promise.resolve([[{ json: { data: { approved: text !== 'denied' } } }]]);
    },
    ['message'],
  ),
};

function run({ items = [{ tenant: ann }], ...scene }: Scene): Promise<IRun> {
  const { calls, agent = INVOKING, version = 1, executionId = randomUUID() } = scene;
  const root: INode = {
    ...{ id: 'agent-node', name: 'Agent', type: agent, typeVersion: version, position: [0, 0] },
    parameters: { calls: JSON.stringify(calls) },
  };
  const workflow = wired(root, wiresOf(scene));
  const credentials = { postgres: { id: '1', name: 'Postgres' } };
  const nodes = workflow.nodes.map((node) => (node.type === TYPE ? { ...node, ...scene.settings, credentials } : node));
  return runInEngine({
    workflow: { ...workflow, nodes },
    items: items as never,
    credentials: { postgres: postgresCredential(database.url) },
    nodeTypes: { ...agents, [TYPE]: new TenantTools() },
    executionId,
  });
}

function wiresOf({ tenant = '={{ $json.tenant }}', parameters, review }: Scene): readonly Wire[] {
  const tenantId = { __rl: true, mode: 'id', value: tenant };
  const output = 'ai_tool' as const;
  const own: Wire = { name: 'Tenant Tools', type: TYPE, output, parameters: { tenantId, ...parameters } };
  if (review === undefined) return [own];
  return [
    { ...own, to: 'Review' },
    { name: 'Review', type: REVIEW, output, parameters: review },
  ];
}

const results = (ended: IRun) => outputOf(ended, 'Agent').map(({ json }) => json);
const failureOf = (ended: IRun) => {
  const { error } = ended.data.resultData;
  return `${error?.message}: ${error?.description ?? ''}`;
};
const sent = () => tools.requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
const said = (text: string, more: object = {}): ScriptedCall => ({ tool: 'of_ann', arguments: { text, ...more } });
const readable = (ended: IRun) => results(ended).map(({ result }) => JSON.parse(result as string) as object);

describe('an agent that calls tools itself', () => {
  it('has those of the tenant, and each call is a row in Logs', async () => {
    const ended = await run({ calls: [said('one'), said('two')] });
    expect(readable(ended)).toEqual([
      { tenant: ann, input: { text: 'one' } },
      { tenant: ann, input: { text: 'two' } },
    ]);
    // Of a node that is not known to read JSON Schema.
    expect(given[0]).toMatchObject([{ name: 'of_ann', description: 'Does of_ann', schema: { replaced: true } }]);
    const row = (text: string): object => ({
      executionStatus: 'success',
      source: [{ previousNode: 'Agent', previousNodeRun: 0 }],
      inputOverride: { ai_tool: [[{ json: { text, tool: 'of_ann' } }]] },
      data: { ai_tool: [[{ json: { response: { tenant: ann, input: { text } } } }]] },
    });
    expect(ended.data.resultData.runData['Tenant Tools']).toMatchObject([row('one'), row('two')]);
  });

  it('is told of a failure, which is red in Logs', async () => {
    const ended = await run({ calls: [said('one', { fails: true }), { tool: 'of_ann', arguments: {} }] });
    expect(readable(ended)).toMatchObject([
      { error: { code: 'TOOL_HTTP_ERROR', hint: expect.any(String) as string } },
      { error: { code: 'TOOL_INVALID_ARGS' } },
    ]);
    const rows = ended.data.resultData.runData['Tenant Tools'] ?? [];
    expect(rows.map(({ executionStatus, error }) => [executionStatus, error?.message])).toEqual([
      ['error', expect.stringContaining('(TOOL_HTTP_ERROR)')],
      ['error', expect.stringContaining('text')],
    ]);
  });

  it('has one account an execution', async () => {
    const executionId = randomUUID();
    await run({ calls: [said('one'), said('two')], executionId });
    const runs = 'SELECT root_task_id, task_id FROM elo_agent_runs WHERE tenant_id = $1 AND root_task_id LIKE $2';
    const ofThis = () => database.query(runs, [ann, `n8n:${executionId}:%`]);
    const [one, two] = await ofThis();
    expect([one?.root_task_id, one?.task_id === two?.task_id]).toEqual([two?.root_task_id, false]);
    expect(one?.root_task_id).toMatch(/:agent-node:0$/u);
    // Of another n8n on the same database, which has come to the same number.
    await run({ calls: [said('one')], executionId });
    expect(new Set((await ofThis()).map(({ root_task_id: root }) => root)).size).toBe(2);
  });

  it('gets no tools where its items are of two tenants, and those of several items of one', async () => {
    const items = [{ tenant: ann }, { tenant: ann }];
    expect(results(await run({ calls: [said('one')], items }))).toHaveLength(1);
    const ended = await run({ calls: [said('one')], items: [...items, { tenant: bob }] });
    expect(failureOf(ended)).toContain('Loop Over Items');
    expect(sent()).toHaveLength(1);
  });

  it('is told what is wrong with the tenant', async () => {
    expect(failureOf(await run({ calls: [], tenant: 'nobody' }))).toContain('Error in sub-node Tenant Tools');
    expect(failureOf(await run({ calls: [], tenant: randomUUID() }))).toContain('TENANT_NOT_FOUND');
  });
});

describe('an agent that has the engine call tools', () => {
  const agent = AI_AGENT;

  it('is shown tools under their own schema', async () => {
    await run({ agent, calls: [] });
    expect(given[0]).toMatchObject([{ name: 'of_ann', schema }]);
  });

  it('is not offered a tool whose argument n8n would take for its own', async () => {
    const tenant = await addTenant(database);
    const properties = { tool: { type: 'string' } };
    await giveTool(database, tenant, { code: 'hammer', endpoint: tools.url, schema: { type: 'object', properties } });
    await run({ agent, version: 3, tenant, calls: [] });
    await run({ tenant, calls: [] });
    expect(given.map((toolkit) => toolkit.map(({ name }) => name))).toEqual([[], ['hammer']]);
  });

  it('is not made to try a failed call again by Retry On Fail', async () => {
    const settings = { retryOnFail: true, maxTries: 3, waitBetweenTries: 0 };
    const ended = await run({ agent, settings, calls: [[said('one', { fails: true })]] });
    expect(results(ended)).toMatchObject([{ response: { error: { code: 'TOOL_HTTP_ERROR' } } }]);
    expect(sent()).toHaveLength(1);
  });

  it('gets what the tool gives, and continues after a failure', async () => {
    const ended = await run({ agent, calls: [[said('one'), said('two', { fails: true })], [said('three')]] });
    expect(results(ended)).toMatchObject([
      { response: { tenant: ann, input: { text: 'one' } } },
      { error: expect.stringContaining('(TOOL_HTTP_ERROR)') as string },
      { response: { tenant: ann, input: { text: 'three' } } },
    ]);
  });

  it('cannot write over the tenant, and no field of the item goes to the tool', async () => {
    const items = [{ tenant: ann, text: 'of the item', secret: 'of the item' }];
    const ended = await run({ agent, items, calls: [[said('one', { tenant: bob }), said('two', { secret: 'x' })]] });
    expect(results(ended)).toMatchObject([
      { response: { tenant: ann, input: { text: 'one', tenant: bob } } },
      { error: expect.stringContaining('secret') as string },
    ]);
    expect(sent()).toHaveLength(1);
  });

  it('is for the same tenant however many calls there were', async () => {
    const items = [{ list: [ann, bob] }];
    const calls = [
      [said('one'), said('two')],
      [said('three'), { tool: 'of_bob', arguments: { text: 'x' } }],
    ];
    const ended = await run({ agent, items, tenant: '={{ $json.list[$runIndex] }}', calls });
    expect(sent().map(({ tenant_id: tenant }) => tenant)).toEqual([ann, ann, ann]);
    expect(results(ended)[3]).toMatchObject({ error: expect.stringContaining('of_bob') as string });
  });

  it('is refused the tools of another tenant', async () => {
    const ended = await run({ agent, calls: [[{ tool: 'of_bob', arguments: { text: 'x', tenant: bob } }]] });
    expect(results(ended)).toMatchObject([{ error: expect.stringContaining('of_bob') as string }]);
    expect(sent()).toEqual([]);
  });

  it('is refused a call where n8n does not tell what it is for', async () => {
    const ended = await run({
      agent,
      calls: [[{ ...said('one'), arguments: { text: 'one' }, tool: 7 as unknown as string }]],
    });
    expect(results(ended)).toMatchObject([{ error: expect.stringContaining('does not tell') as string }]);
  });
});

describe('a parameter in which a model could have a say', () => {
  const request = () => [
    { tenant: ann, user: { tenant: ann, name: 'clerk' }, headers: { tenant: ann }, body: { tenant: bob } },
  ];
  const trusted = '={{ $("Items").first().json.tenant }}';

  it.each([
    ['test.agentTool', '={{ $json.tenant }}'],
    ['test.agentTool', '={{ $json.headers.tenant }}'],
    ['test.agentTool', '={{ $("Items").item.json.tenant }}'],
    [INVOKING, '={{ $fromAI("tenant") }}'],
    [AI_AGENT, '={{ $tool?.parameters?.tenant || $json.tenant }}'],
    [MCP_TRIGGER, '={{ $json.body.tenant }}'],
    [MCP_TRIGGER, '={{ $json.headers[$json.body.tenant] }}'],
    [MCP_TRIGGER, '={{ this["$json"].body.tenant }}'],
    [MCP_TRIGGER, '={{ $input.first().json.user.tenant }}'],
  ])('is refused below %s: %s', async (agent, tenant) => {
    const ended = await run({ agent, version: 2.1, tenant, items: request(), calls: [said('one')] });
    expect(failureOf(ended)).toContain('TENANT_UNTRUSTED');
    expect(sent()).toEqual([]);
  });

  it.each([
    ['test.agentTool', trusted],
    [MCP_TRIGGER, '={{ $json.user.tenant }}'],
    [MCP_TRIGGER, '={{ $json.headers["tenant"] }}'],
    [MCP_TRIGGER, '={{ ({ clerk: $json.headers.tenant })[$json.user.name] }}'],
  ])('is none below %s: %s', async (agent, tenant) => {
    const ended = await run({ agent, version: 2.1, tenant, items: request(), calls: [said('one')] });
    expect(readable(ended)).toMatchObject([{ tenant: ann }]);
  });

  it.each([1, 1.1, 2])('is refused below an MCP trigger %s, whose item is the request', async (version) => {
    const scene = { agent: MCP_TRIGGER, version, tenant: '={{ $json.user.tenant }}', items: request() };
    expect(failureOf(await run({ ...scene, calls: [said('one')] }))).toContain('TENANT_UNTRUSTED');
  });

  it('is refused below a tool of an agent with several items, whichever that are', async () => {
    const items = [...request(), ...request()];
    const scene = { agent: 'test.agentTool', items, calls: [said('one')] };
    expect(failureOf(await run({ ...scene, tenant: trusted }))).toContain('Loop Over Items');
    expect(readable(await run({ ...scene, tenant: ann }))).toMatchObject([{ tenant: ann }]);
  });

  it('is refused as an ID too', async () => {
    const parameters = { options: { identity: { userId: '={{ $json.tenant }}' } } };
    const scene = { agent: 'test.agentTool', tenant: trusted, items: request(), parameters, calls: [said('one')] };
    expect(failureOf(await run(scene))).toContain('TENANT_UNTRUSTED');
  });
});

it('an MCP server gets a failure as an object, which it knows as an error', async () => {
  const ended = await run({ agent: MCP_TRIGGER, tenant: ann, calls: [said('one', { fails: true })] });
  expect(results(ended)).toMatchObject([{ result: { error: { message: expect.any(String) as string } } }]);
});

it('tools get who the call is for beside their arguments', async () => {
  const parameters = { options: { identity: { userId: '={{ $json.user }}', clientId: 'c-1' } } };
  await run({ calls: [said('one')], items: [{ tenant: ann, user: 'u-7' }], parameters });
  expect(sent()).toMatchObject([{ meta: { user_id: 'u-7', client_id: 'c-1' } }]);
});

describe('behind a node that asks a person', () => {
  const review = { message: '={{ $fromAI("reason", "Why it is needed") }}' };
  const scene = { agent: AI_AGENT, review };
  const asks = (
    parameters: object,
    { more = {}, ...given }: Partial<ScriptedCall> & { more?: object } = {},
  ): ScriptedCall => ({
    ...{ node: 'Review', tool: 'of_ann', arguments: { toolParameters: { ...parameters }, reason: 'r', ...more } },
    ...given,
  });
  const approved = (call: ScriptedCall): ScriptedCall => ({ ...call, approvedBy: 'Review' });

  it('a tool is shown with its parameters and those of the question', async () => {
    await run({ ...scene, calls: [] });
    const [tool] = given[0] ?? [];
    expect(tool?.metadata.originalSchema).toEqual({
      type: 'object',
      properties: {
        toolParameters: schema,
        hitlParameters: {
          type: 'object',
          properties: { reason: { type: 'string', description: 'Why it is needed' } },
          additionalProperties: false,
        },
      },
      required: ['toolParameters', 'hitlParameters'],
      additionalProperties: false,
    });
  });

  it('the approved call is made with its arguments', async () => {
    const ended = await run({ ...scene, calls: [[asks({ text: 'one' })], [approved(said('one'))]] });
    expect(results(ended)[1]).toMatchObject({ response: { input: { text: 'one' } } });
  });

  it('a call without parameters is one, and a name among those of another one is no harm', async () => {
    const tenant = await addTenant(database);
    await giveTool(database, tenant, { code: 'list', endpoint: tools.url, schema: { type: 'object' } });
    const stray = asks({ text: 'one', tool: 'of_ann' });
    const bare: ScriptedCall = { node: 'Review', tool: 'list', arguments: {} };
    const made = approved({ tool: 'list', arguments: {} });
    const ended = await run({ ...scene, tenant, calls: [[stray], [bare], [made]] });
    expect(results(ended)[2]).toMatchObject({ response: { input: {} } });
  });

  it('one approval is for one call', async () => {
    const made = [approved(said('one')), approved(said('one'))];
    const ended = await run({ ...scene, calls: [[asks({ text: 'one' })], made] });
    expect(results(ended)).toMatchObject([
      { data: { approved: true } },
      { response: { input: { text: 'one' } } },
      { error: expect.stringContaining('what was approved') as string },
    ]);
    const twice = [asks({ text: 'one' }), asks({ text: 'one' })];
    expect(results(await run({ ...scene, calls: [twice, made] }))[3]).toMatchObject({ response: {} });
  });

  it('an approved call that the rules change is not made', async () => {
    const tenant = await addTenant(database, {
      settings: { tool_config: { tool_permissions: { pay: { limits: { sum: { max: 5 } } } } } },
    });
    const properties = { sum: { type: 'number' } };
    await giveTool(database, tenant, { code: 'pay', endpoint: tools.url, schema: { type: 'object', properties } });
    const pay = (sum: number): ScriptedCall[][] => [
      [{ node: 'Review', tool: 'pay', arguments: { toolParameters: { sum } } }],
      [approved({ tool: 'pay', arguments: { sum } })],
    ];
    const ended = await run({ ...scene, tenant, calls: pay(9) });
    expect(results(ended)[1]).toMatchObject({ error: expect.stringContaining('{"sum":5}') as string });
    expect(results(await run({ ...scene, tenant, calls: pay(5) }))[1]).toMatchObject({
      response: { input: { sum: 5 } },
    });
    expect(sent()).toHaveLength(1);
  });

  it.each([
    ['with other arguments', asks({ text: 'one' }), said('two')],
    ['that was denied', asks({ text: 'denied' }), said('denied')],
    ['whose name was written over', asks({ text: 'one', tool: 'of_ann' }), said('one')],
    ['that nobody was asked for', asks({ text: 'passed through' }), said('passed through')],
    ['that was shown as another one', asks({ text: 'one' }, { shownAs: 'harmless' }), said('one')],
    ['that $tool shows as another one', asks({ text: 'one' }, { more: { query: { tool: 'harmless' } } }), said('one')],
    ['that was shown with more', asks({ text: 'one' }, { more: { note: 'harmless' } }), said('one')],
  ])('a call %s is not made', async (_what, asked, made) => {
    const ended = await run({ ...scene, calls: [[asked], [approved(made)]] });
    expect(results(ended)[1]).toMatchObject({ error: expect.stringContaining('what was approved') as string });
    expect(sent()).toEqual([]);
  });
});

describe('rules that an expression chooses', () => {
  const withTools = (toolsOf: string) => ({ options: { tools: toolsOf } });

  it('hold, and no tool is offered where the list is empty', async () => {
    const items = [{ tenant: ann, tools: ['of_a*'], none: [] }];
    await run({ items, calls: [], parameters: withTools('={{ $json.tools }}') });
    await run({ items, calls: [], parameters: withTools('={{ $json.none }}') });
    expect(given.map((toolkit) => toolkit.map(({ name }) => name))).toEqual([['of_ann'], []]);
  });

  it.each([
    ['Offer Only', withTools('={{ $json.missing }}')],
    ['Offer Only', withTools('={{ $json.tenant }}')],
    ['Agent', { agent: { __rl: true, mode: 'name', value: '={{ $json.missing }}' } }],
    ['Tier', { tier: '={{ $json }}' }],
  ])('are not dropped: %s', async (name, parameters) => {
    expect(failureOf(await run({ calls: [said('one')], parameters }))).toContain(`${name}: the expression gives no`);
    expect(sent()).toEqual([]);
  });
});

it('a call of an execution that was stopped ends the agent', async () => {
  const stopped = new AbortController();
  const { supplyData } = new TenantTools();
  const context = {
    getNode: () => ({ ...{ name: 'Tenant Tools', type: TYPE }, parameters: { tenantId: ann }, credentials: {} }),
    getExecutionId: () => 'stopped',
    getExecutionCancelSignal: () => stopped.signal,
    getCredentials: () => Promise.resolve(postgresCredential(database.url)),
    addInputData: () => ({ index: 0 }),
    addOutputData: () => undefined,
    addExecutionHints: () => undefined,
    helpers: {},
    ...{ parentNode: { id: 'a', name: 'A', type: INVOKING }, connectionInputData: [{ json: {} }], runIndex: 0 },
    workflow: { connectionsBySourceNode: {} },
  };
  const { response } = await supplyData.call(context as unknown as ISupplyDataFunctions);
  const [tool] = (response as { readonly tools: (typeof given)[number] }).tools;
  stopped.abort();
  // An agent may bring a signal of its own, which knows nothing of the execution.
  for (const own of [undefined, new AbortController().signal]) {
    await expect(tool?.invoke({ text: 'one' }, { signal: own })).rejects.toThrow('stopped');
  }
});
