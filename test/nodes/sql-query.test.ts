import type { INode } from 'n8n-workflow';

import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';
import { createSqlRole, dropRole, type TestRole } from '../support/worlds/sql-role';

let database: TestDatabase;
let models: ModelServer;
let role: TestRole;
let tenant: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  tenant = await addTenant(database, { name: 'Alice' });
  await giveTool(database, tenant, { code: 'sql_query', transport: 'builtin' });
  role = await createSqlRole(database);
});
afterAll(async () => {
  await dropRole(database, role.name);
  await Promise.all([models.close(), database.close()]);
});

const item = { json: {} };
const node = (id: string, type: string, rest: Partial<INode> = {}) => ({
  id,
  name: id,
  type,
  typeVersion: 4,
  position: [0, 0] as [number, number],
  parameters: {},
  ...rest,
});

async function runNode(more: object): Promise<Record<string, unknown>> {
  const credentials = {
    openRouterApi: { apiKey: 'sk-node', url: models.url },
    postgres: postgresCredential(database.url),
    ...more,
  };
  const agent = node('Agent', 'n8n-nodes-universal-ai-agent.universalAiAgent', {
    parameters: {
      tenantId: { __rl: true, mode: 'id', value: tenant },
      tier: 'pro',
      message: 'Who am I?',
      options: { useSqlRole: true },
    },
    credentials: Object.fromEntries(Object.keys(credentials).map((type) => [type, { id: type, name: type }])),
  });
  const connections = { Items: { main: [[{ node: 'Agent', type: 'main' as const, index: 0 }]] } };
  const workflow = { nodes: [node('Items', 'test.items'), agent], connections };
  const [output] = outputOf(await runInEngine({ workflow, items: [item.json], credentials }), 'Agent');
  return output?.json ?? {};
}

it('a node with the credential for queries answers from the tenant’s rows', async () => {
  const query = 'SELECT name FROM elo_t_tenants';
  models.script(toolReply([{ name: 'sql_query', arguments: { query } }]), textReply('Alice'));
  await runNode({ universalAiAgentSqlApi: { secretUrl: role.url } });
  expect(models.received.at(-1)?.messages.at(-1)?.content).toContain('"rows":[["Alice"]]');
});

it('a node without it goes on without the tool', async () => {
  models.script(textReply('I do not know.'));
  expect(await runNode({})).toMatchObject({ output: 'I do not know.' });
  expect(models.received.at(-1)?.tools).toBeUndefined();
});
