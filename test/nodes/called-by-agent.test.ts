import type { INode, INodeParameters, INodeType, IRun } from 'n8n-workflow';

import { UniversalAiAgent } from '../../nodes/UniversalAiAgent/UniversalAiAgent.node';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../support/servers/model-server';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';
import { wired } from '../support/worlds/sub-nodes';
import { InvokingAgent, RequestingAgent } from '../support/worlds/tool-agents';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgentTool';
const INVOKING = 'test.agent';
const REQUESTING = '@n8n/n8n-nodes-langchain.agent';
const BELOW = 'test.agentTool';

const { description, execute } = new UniversalAiAgent().getNodeType(3);
/** As n8n makes a tool of it. */
const TOOL: INodeType = {
  description: {
    ...{ ...description, inputs: [], outputs: ['ai_tool'] },
    properties: [
      ...description.properties,
      { displayName: 'Description', name: 'toolDescription', type: 'string', default: '' },
    ],
  },
  execute,
};

let database: TestDatabase;
let models: ModelServer;
let ann: string;
let bob: string;

beforeAll(async () => {
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  [ann, bob] = await Promise.all([addTenant(database), addTenant(database)]);
});
afterAll(() => Promise.all([models.close(), database.close()]));
beforeEach(async () => {
  await database.query('DELETE FROM elo_agent_runs');
  models.always(({ messages }) => textReply(`to: ${messages.at(-1)?.content ?? ''}`).body);
});

interface Scene {
  readonly agent: string;
  readonly tenants: readonly string[];
  /** The items that calls are for, in turn. */
  readonly calls: readonly number[];
  readonly parameters?: INodeParameters;
}

const OF_ITEM = "={{ $('Items').item.json.tenant }}";
const located = (value: string): INodeParameters => ({ tenantId: { __rl: true, mode: 'id', value } });

function run({ agent, tenants, calls, parameters = located(OF_ITEM) }: Scene): Promise<IRun> {
  const written = (itemIndex: number): object => ({
    ...{ tool: 'Desk', node: 'Desk', itemIndex },
    // A model that knows of another tenant.
    arguments: { message: 'hello', input: 'hello', tenant: tenants.at(-1), user: 'a model' },
  });
  const root: INode = {
    ...{ id: 'agent-node', name: 'Agent', type: agent, typeVersion: 3.1, position: [0, 0] },
    parameters: { calls: JSON.stringify(agent === REQUESTING ? [calls.map(written)] : calls.map(written)) },
  };
  const output = 'ai_tool' as const;
  const own: INodeParameters = {
    toolDescription: 'Asks the desk',
    message: "={{ $fromAI('message', ``, 'string') }}",
    ...parameters,
  };
  const { nodes, connections } = wired(root, [{ name: 'Desk', type: TYPE, output, parameters: own }]);
  const chosen = { openRouterApi: { id: '1', name: 'Models' }, postgres: { id: '2', name: 'Postgres' } };
  return runInEngine({
    workflow: { nodes: nodes.map((node) => (node.type === TYPE ? asTool(node, chosen) : node)), connections },
    items: tenants.map((tenant) => ({ tenant })),
    credentials: {
      openRouterApi: { apiKey: 'sk-node', url: models.url },
      postgres: postgresCredential(database.url),
    },
    nodeTypes: {
      [TYPE]: TOOL,
      [INVOKING]: new InvokingAgent(),
      [BELOW]: new InvokingAgent(),
      [REQUESTING]: new RequestingAgent(),
    },
  });
}

const asTool = (node: INode, credentials: INode['credentials']): INode => ({ ...node, typeVersion: 4, credentials });

const runs = async (): Promise<readonly string[]> => {
  const rows = await database.query('SELECT tenant_id FROM elo_agent_runs');
  return rows.map(({ tenant_id: tenant }) => (tenant === ann ? 'ann' : 'bob')).sort();
};
const told = (ended: IRun) => JSON.stringify(outputOf(ended, 'Agent').map(({ json }) => json));

it('answers for the tenant of the item that an AI Agent of version 3 asks for', async () => {
  const ended = await run({ agent: REQUESTING, tenants: [ann, bob], calls: [1, 1, 1] });
  expect(told(ended)).toContain('to: hello');
  expect(await runs()).toEqual(['bob', 'bob', 'bob']);
});

it('gives options and IDs of that item too, and what a model wrote where it may', async () => {
  const options = { identity: { userId: OF_ITEM }, maxTokens: '={{ $json.most }}' };
  await run({ agent: REQUESTING, tenants: [ann, bob], calls: [1], parameters: { ...located(OF_ITEM), options } });
  expect(await database.query('SELECT user_id FROM elo_agent_runs')).toEqual([{ user_id: bob }]);
});

it.each([
  ['an agent that calls it itself has several items', INVOKING, (): string[] => [ann, bob]],
  ['the agent is itself a tool', BELOW, (): string[] => [ann]],
])('refuses a tenant of the item where %s', async (_when, agent, tenants) => {
  const ended = await run({ agent, tenants: tenants(), calls: [0] });
  expect(`${told(ended)} ${JSON.stringify(ended.data.resultData)}`).toContain('ITEMS_DIFFER');
  expect(await runs()).toEqual([]);
});

it('takes the only item of an agent that calls it itself, and an item that is named', async () => {
  await run({ agent: INVOKING, tenants: [ann], calls: [0] });
  const first = located("={{ $('Items').first().json.tenant }}");
  await run({ agent: INVOKING, tenants: [bob, ann], calls: [1], parameters: first });
  expect(await runs()).toEqual(['ann', 'bob']);
});
