import { randomUUID } from 'node:crypto';

import type { ICredentialDataDecryptedObject, INode, IRun } from 'n8n-workflow';

import { TenantTools } from '../../nodes/TenantTools/TenantTools.node';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../support/servers/model-server';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';
import { type Wire, wired } from '../support/worlds/sub-nodes';
import { given, InvokingAgent, RequestingAgent, type ScriptedCall } from '../support/worlds/tool-agents';

const TYPE = 'n8n-nodes-universal-ai-agent.tenantTools';
const INVOKING = 'test.agent';
/** n8n's own, which has the engine call tools. */
const AI_AGENT = '@n8n/n8n-nodes-langchain.agent';

let database: TestDatabase;
let models: ModelServer;
let ann: string;
let credentials: Record<string, ICredentialDataDecryptedObject>;

beforeAll(async () => {
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  ann = await addTenant(database, { settings: { default_tier: 'pro' } });
  await database.query(
    `INSERT INTO elo_agents (tenant_id, name, system_prompt, sub_agents) VALUES
       ($1, 'lead', NULL, '{billing}'), ($1, 'billing', 'You bill.', NULL)`,
    [ann],
  );
  credentials = {
    openRouterApi: { apiKey: 'sk-router', url: models.url },
    openAiApi: { apiKey: 'sk-openai', url: models.url },
    postgres: postgresCredential(database.url),
  };
});
afterAll(() => Promise.all([database.close(), models.close()]));
beforeEach(() => {
  given.length = 0;
  models.requests.length = 0;
});

interface Scene {
  readonly options?: object;
  readonly agent?: string;
  readonly calls?: readonly ScriptedCall[] | readonly (readonly ScriptedCall[])[];
  readonly executionId?: string;
}

const ASKS: ScriptedCall = { tool: 'ask_billing', arguments: { message: 'What is due?' } };
const offered = () => given.at(-1)?.map(({ name }) => name);

function run({ options = {}, agent = INVOKING, calls = [], executionId = randomUUID() }: Scene): Promise<IRun> {
  const root: INode = {
    ...{ id: 'agent-node', name: 'Agent', type: agent, typeVersion: agent === AI_AGENT ? 3 : 1, position: [0, 0] },
    parameters: { calls: JSON.stringify(calls) },
  };
  const parameters = { tenantId: { __rl: true, mode: 'id', value: ann }, agent: 'lead', options };
  const own: Wire = { name: 'Tenant Tools', type: TYPE, output: 'ai_tool', parameters: parameters as never };
  const { nodes, connections } = wired(root, [own]);
  const chosen = Object.fromEntries(Object.keys(credentials).map((type) => [type, { id: type, name: type }]));
  return runInEngine({
    workflow: { nodes: nodes.map((node) => ({ ...node, credentials: chosen })), connections },
    items: [{}],
    credentials,
    nodeTypes: { [INVOKING]: new InvokingAgent(), [AI_AGENT]: new RequestingAgent(), [TYPE]: new TenantTools() },
    executionId,
  });
}

it.each([INVOKING, AI_AGENT])('%s asks an agent of the tenant, on one line of the bill', async (agent) => {
  const executionId = randomUUID();
  models.script(textReply('Seven.'));
  const calls = agent === AI_AGENT ? [[ASKS]] : [ASKS];
  const ended = await run({ agent, options: { modelProvider: 'openRouter' }, calls, executionId });
  expect(offered()).toEqual(['ask_billing']);
  expect(JSON.stringify(outputOf(ended, 'Agent'))).toContain('Seven.');
  expect(models.received.at(-1)?.messages[0]).toEqual({ role: 'system', content: 'You bill.' });
  const bill = 'SELECT task_type, model_calls FROM elo_t_token_usage WHERE tenant_id = $1 AND task_id LIKE $2';
  expect(await database.query(bill, [ann, `n8n:${executionId}:%`])).toEqual([
    { task_type: 'tenant_tools', model_calls: 1 },
  ]);
});

it('the provider is the one that was chosen, and without one no agent is offered', async () => {
  models.script(textReply('Seven.'));
  await run({ options: { modelProvider: 'openAiCompatible' }, calls: [ASKS] });
  expect(models.requests.at(-1)?.headers.authorization).toBe('Bearer sk-openai');
  await run({});
  expect(offered()).toEqual([]);
});

it('a provider that is none is told', async () => {
  const { error } = (await run({ options: { modelProvider: '={{ "openRouter" }}' } })).data.resultData;
  expect(`${error?.message}: ${error?.description ?? ''}`).toContain('Provider must be chosen');
});
