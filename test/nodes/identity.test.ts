import type { ICredentialDataDecryptedObject, ILoadOptionsFunctions, INode, INodeParameters, IRun } from 'n8n-workflow';

import { searchTenants } from '../../nodes/shared/panel/pickers';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import {
  addTenant,
  createDatabase,
  createMigratedDatabase,
  giveTool,
  type TestDatabase,
} from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';

let database: TestDatabase;
let models: ModelServer;
let hook: TestServer;
let isHookUp: boolean;
let tenant: string;
let credentials: Record<string, ICredentialDataDecryptedObject>;

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  hook = await startServer((_request, response) => sendJson(response, { ok: isHookUp }, isHookUp ? 200 : 500));
  tenant = await addTenant(database, { settings: { default_tier: 'pro' } });
  await giveTool(database, tenant, { code: 'find_orders', endpoint: `${hook.url}/` });
  credentials = {
    openRouterApi: { apiKey: 'sk-node', url: models.url },
    postgres: postgresCredential(database.url),
  };
});
afterAll(() => Promise.all([models.close(), hook.close(), database.close()]));
beforeEach(() => {
  isHookUp = true;
  hook.requests.length = 0;
  models.received.length = 0;
  models.script(toolReply([{ name: 'find_orders' }]), textReply('Done'));
});

function run(parameters: INodeParameters, node: Partial<INode> = {}): Promise<IRun> {
  const common = { typeVersion: 4, position: [0, 0] as [number, number] };
  const agent: INode = {
    ...common,
    id: 'agent',
    name: 'Agent',
    type: TYPE,
    parameters: { tenantId: { __rl: true, mode: 'id', value: tenant }, message: 'hello', ...parameters },
    credentials: Object.fromEntries(Object.keys(credentials).map((name) => [name, { id: name, name }])),
    ...node,
  };
  const start: INode = { ...common, id: 'start', name: 'Items', type: 'test.items', parameters: {} };
  return runInEngine({
    workflow: {
      nodes: [start, agent],
      connections: { Items: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] } },
    },
    items: [{ user: 7, session: 's1' }],
    credentials,
  });
}

const sentMeta = (): unknown => (JSON.parse(hook.requests[0]?.body ?? '{}') as { meta?: object }).meta;

it('reaches the tools from the fields of the node; what an expression did not find is left out', async () => {
  const identity = {
    clientId: 'c1',
    dialogId: '={{ $json.nothing }}',
    userId: '={{ $json.user }}',
    sessionId: '={{ $json.session }}',
  };
  await run({ options: { identity } });
  expect(sentMeta()).toEqual({
    client_id: 'c1',
    user_id: '7',
    session_id: 's1',
    task_id: expect.stringContaining('n8n:') as string,
    trace_id: expect.any(String) as string,
  });
});

it.each([
  ['$json', { userId: '={{ $json.user }}' }],
  ['$fromAI', { clientId: "={{ $fromAI('client') }}" }],
])('is refused as a tool of another agent where it comes from %s', async (_from, identity) => {
  const finished = await run({ options: { identity } }, { type: `${TYPE}Tool` });
  expect(finished.data.resultData.error?.description).toContain('IDENTITY_UNTRUSTED');
  expect(models.received).toEqual([]);
});

it('is not taken from an expression for the whole of it, which n8n drops', async () => {
  await run({ options: { identity: '={{ { userId: $json.user } }}' } }, { type: `${TYPE}Tool` });
  expect(sentMeta()).not.toHaveProperty('user_id');
});

it.each([
  ['typed in', 'u1', 'u1'],
  ['of another node', "={{ $('Items').item.json.user }}", '7'],
])('is taken as a tool of another agent when it is %s', async (_from, userId, sent) => {
  await run({ options: { identity: { userId } } }, { type: `${TYPE}Tool` });
  expect(sentMeta()).toMatchObject({ user_id: sent });
});

it.each([undefined, '', '{}', '={{ {} }}'])('an empty Context (%j) says nothing to the model', async (context) => {
  await run(context === undefined ? {} : { options: { context } });
  expect(models.received[0]?.messages.at(-1)?.content).toBe('hello');
});

it.each(['{"order": 1099511627776123401}', '1099511627776123401'])(
  'shows the model all digits of the Context %s',
  async (context) => {
    await run({ options: { context } });
    expect(models.received[0]?.messages.at(-1)?.content).toContain('1099511627776123401');
  },
);

it('a tool that failed is told above the output', async () => {
  isHookUp = false;
  const finished = await run({});
  expect(outputOf(finished, 'Agent')[0]?.json).toMatchObject({
    status: 'completed',
    warnings: [
      { code: 'TOOL_FAILED', message: expect.stringContaining('1 of 1 calls of find_orders failed') as string },
    ],
  });
  expect(finished.data.resultData.runData.Agent?.[0]?.hints).toEqual([
    {
      message: expect.stringMatching(/failed: .+ Tool: Execute .+\(TOOL_FAILED\)$/) as string,
      type: 'warning',
      location: 'outputPane',
    },
  ]);
});

it('a list of tenants that cannot be loaded says what to do about it', async () => {
  const empty = await createDatabase();
  const context = {
    getCredentials: () => Promise.resolve(postgresCredential(empty.url)),
    getNode: () => ({ name: 'Agent', type: TYPE }),
  } as unknown as ILoadOptionsFunctions;
  await expect(searchTenants.call(context)).rejects.toThrow('universal-ai-agent diagnostics prepare-database');
  await empty.close();
});
