import { randomUUID } from 'node:crypto';

import type { INode, INodeParameters, IRun } from 'n8n-workflow';

import { TenantTools } from '../../nodes/TenantTools/TenantTools.node';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';
import { nodeAsTool, wired } from '../support/worlds/sub-nodes';
import { given, InvokingAgent, RequestingAgent, type ScriptedCall } from '../support/worlds/tool-agents';

const TYPE = 'n8n-nodes-universal-ai-agent.tenantTools';
const MCP_TRIGGER = '@n8n/n8n-nodes-langchain.mcpTrigger';
const REVIEW = 'test.slackHitlTool';

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
  readonly review?: INodeParameters;
  readonly executionId?: string;
}

const agents = {
  'test.agent': new InvokingAgent(),
  'test.agentTool': new InvokingAgent(),
  [MCP_TRIGGER]: new InvokingAgent(),
  'test.agentV3': new RequestingAgent(),
  [REVIEW]: nodeAsTool(() => Promise.resolve([[{ json: { approved: true } }]]), ['message']),
};

function run({ calls, items = [{ tenant: ann }], tenant = '={{ $json.tenant }}', ...scene }: Scene): Promise<IRun> {
  const { agent = 'test.agent', parameters = {}, review, executionId } = scene;
  const root: INode = {
    ...{ id: 'agent-node', name: 'Agent', type: agent, typeVersion: 1, position: [0, 0] },
    parameters: { calls: JSON.stringify(calls) },
  };
  const tenantId = { __rl: true, mode: 'id', value: tenant };
  const own = { name: 'Tenant Tools', type: TYPE, output: 'ai_tool' as const, parameters: { tenantId, ...parameters } };
  const workflow = wired(root, [
    ...(review === undefined ? [own] : [{ ...own, to: 'Review' }]),
    ...(review === undefined
      ? []
      : [{ name: 'Review', type: REVIEW, output: 'ai_tool' as const, parameters: review }]),
  ]);
  const nodes = workflow.nodes.map((node) =>
    node.type === TYPE ? { ...node, credentials: { postgres: { id: '1', name: 'Postgres' } } } : node,
  );
  return runInEngine({
    workflow: { ...workflow, nodes },
    items: items as never,
    credentials: { postgres: postgresCredential(database.url) },
    nodeTypes: { ...agents, [TYPE]: new TenantTools() },
    executionId: executionId ?? randomUUID(),
  });
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
  it('has those of the tenant, under their own schema, and each call is a row in Logs', async () => {
    const ended = await run({ calls: [said('one'), said('two')] });
    expect(readable(ended)).toEqual([
      { tenant: ann, input: { text: 'one' } },
      { tenant: ann, input: { text: 'two' } },
    ]);
    expect(given[0]).toMatchObject([{ name: 'of_ann', description: 'Does of_ann', schema }]);
    const rows = ended.data.resultData.runData['Tenant Tools'] ?? [];
    expect(rows.map(({ executionStatus, source }) => [executionStatus, source[0]?.previousNode])).toEqual([
      ['success', 'Agent'],
      ['success', 'Agent'],
    ]);
    expect(rows[0]?.inputOverride?.ai_tool?.[0]?.[0]?.json).toEqual({ tool: 'of_ann', text: 'one' });
    expect(rows[0]?.data?.ai_tool?.[0]?.[0]?.json).toEqual({ response: { tenant: ann, input: { text: 'one' } } });
  });

  it('is told of a failure, which is red in Logs', async () => {
    const ended = await run({ calls: [said('one', { fails: true }), { tool: 'of_ann', arguments: {} }] });
    expect(readable(ended)).toMatchObject([
      { error: { code: 'TOOL_HTTP_ERROR', hint: expect.any(String) as string } },
      { error: { code: 'INPUT_INVALID' } },
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
    const rows = await database.query(runs, [ann, `%${executionId}%`]);
    expect(rows.map(({ root_task_id: root }) => root)).toEqual(Array(2).fill(`n8n:${executionId}:agent-node:0`));
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
  const agent = 'test.agentV3';

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
  const request = () => [{ tenant: ann, user: { tenant: ann }, headers: { tenant: ann }, body: { tenant: bob } }];
  const trusted = '={{ $("Items").first().json.tenant }}';

  it.each([
    ['test.agentTool', '={{ $json.tenant }}'],
    ['test.agentTool', '={{ $json.headers.tenant }}'],
    ['test.agent', '={{ $fromAI("tenant") }}'],
    [MCP_TRIGGER, '={{ $json.body.tenant }}'],
    [MCP_TRIGGER, '={{ $json.headers[$json.body.tenant] }}'],
  ])('is refused below %s: %s', async (agent, tenant) => {
    const ended = await run({ agent, tenant, items: request(), calls: [said('one')] });
    expect(failureOf(ended)).toContain('TENANT_UNTRUSTED');
    expect(sent()).toEqual([]);
  });

  it.each([
    ['test.agentTool', trusted],
    [MCP_TRIGGER, '={{ $json.user.tenant }}'],
    [MCP_TRIGGER, '={{ $json.headers["tenant"] }}'],
  ])('is none below %s: %s', async (agent, tenant) => {
    const ended = await run({ agent, tenant, items: request(), calls: [said('one')] });
    expect(readable(ended)).toMatchObject([{ tenant: ann }]);
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
  const scene = { agent: 'test.agentV3', review };
  const asks = (parameters: object, more: Partial<ScriptedCall> = {}): ScriptedCall => ({
    ...{ node: 'Review', tool: 'of_ann', arguments: { toolParameters: { ...parameters } } },
    ...more,
  });
  const approved = (call: ScriptedCall): ScriptedCall => ({ ...call, approvedBy: 'Review' });

  it('a tool is shown with its parameters and those of the question', async () => {
    await run({ ...scene, calls: [] });
    const [tool] = given[0] ?? [];
    expect(tool?.metadata.originalSchema).toEqual({
      type: 'object',
      properties: {
        toolParameters: schema,
        hitlParameters: { type: 'object', properties: { reason: { type: 'string', description: 'Why it is needed' } } },
      },
      required: ['toolParameters', 'hitlParameters'],
    });
  });

  it('the approved call is made with its arguments', async () => {
    const ended = await run({ ...scene, calls: [[asks({ text: 'one' })], [approved(said('one'))]] });
    expect(results(ended)[1]).toMatchObject({ response: { input: { text: 'one' } } });
  });

  it.each([
    ['with other arguments', asks({ text: 'one' }), said('two')],
    ['whose name was written over', asks({ text: 'one', tool: 'of_ann' }), said('one')],
    ['that was shown as another one', asks({ text: 'one' }, { shownAs: 'harmless' }), said('one')],
  ])('a call %s is not made', async (_what, asked, made) => {
    const ended = await run({ ...scene, calls: [[asked], [approved(made)]] });
    expect(results(ended)[1]).toMatchObject({ error: expect.stringContaining('what was approved') as string });
    expect(sent()).toEqual([]);
  });
});
