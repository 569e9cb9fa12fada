import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';

import {
  type INode,
  type INodeParameters,
  type INodeProperties,
  type INodeTypeDescription,
  NodeHelpers,
} from 'n8n-workflow';

import { UniversalAiAgent } from '../../nodes/UniversalAiAgent/UniversalAiAgent.node';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';
import { createSqlRole, dropRole, type TestRole } from '../support/worlds/sql-role';
import { aVaultKey, setSecret } from '../support/worlds/vault';

/** The commits that docs/adr/0028-node-versions.md names, with the agent node as the editor saved it then. */
const WITHOUT_OPTIONAL = 'b0aa60d';
/** All but the first had the switches, and saved them; the last one had them among its options. */
const WITH_ALL = ['5b01cba', '8aad3f8', '1afd262', '263edd99'];

const fixture = (file: string): unknown =>
  JSON.parse(readFileSync(path.join(__dirname, '..', 'fixtures', file), 'utf8'));
const savedAt = (commit: string): INode => fixture(`saved-nodes/${commit}.json`) as INode;
/** Parameters and options, which version 3 moved among one another. */
const settingsOf = ({ parameters }: INode): INodeParameters => ({
  ...parameters,
  ...(parameters.options as INodeParameters),
});

let database: TestDatabase;
let models: ModelServer;
let redis: TestRedis;
let tools: TestServer;
let role: TestRole;
let tenant: string;
const key = aVaultKey();

beforeAll(async () => {
  [database, models, redis, tools] = await Promise.all([
    createMigratedDatabase(),
    startModelServer(),
    startRedis(),
    startServer((_request, response) => sendJson(response, { done: true })),
  ]);
  tenant = await addTenant(database, { name: 'Alice' });
  role = await createSqlRole(database);
  await giveTool(database, tenant, { code: 'redis_get', transport: 'builtin' });
  await giveTool(database, tenant, { code: 'sql_query', transport: 'builtin' });
  await giveTool(database, tenant, { code: 'notify', endpoint: tools.url, authHeader: 'vault:CRM' });
  await setSecret(database, key, { tenantId: tenant, name: 'CRM', value: 'Bearer crm-7' });
  await redis.client.set(`tenant:${tenant}:cart`, 'two bells');
});
afterAll(async () => {
  await dropRole(database, role.name);
  await Promise.all([models.close(), redis.close(), tools.close(), database.close()]);
});

async function execute(node: INode): Promise<Readonly<Record<string, unknown>>> {
  const items = { id: 'items', name: 'Items', type: 'test.items', typeVersion: 1, parameters: {} };
  const run = await runInEngine({
    workflow: {
      nodes: [{ ...items, position: [0, 0] }, node],
      connections: { Items: { main: [[{ node: node.name, type: 'main', index: 0 }]] } },
    },
    items: [{ tenant, question: 'What is in my cart?' }],
    credentials: {
      openRouterApi: { apiKey: 'k', url: models.url },
      openAiApi: { apiKey: 'other', url: models.url, header: false },
      postgres: postgresCredential(database.url),
      universalAiAgentVaultApi: { secretKey: key },
      universalAiAgentSqlApi: { secretUrl: role.url },
      redis: { host: '127.0.0.1', port: redis.port, password: redis.password, user: '', database: 0, ssl: false },
    },
  });
  return outputOf(run, node.name)[0]?.json ?? {};
}

const calls = [
  { name: 'redis_get', arguments: { key: 'cart' } },
  { name: 'sql_query', arguments: { query: 'SELECT name FROM elo_t_tenants' } },
  { name: 'notify', arguments: { text: 'Hi' } },
];

it.each([WITHOUT_OPTIONAL, ...WITH_ALL])('a node of %s keeps its settings in the panel', (commit) => {
  const node = savedAt(commit);
  const { description } = new UniversalAiAgent().getNodeType(node.typeVersion);
  const kept = NodeHelpers.getNodeParameters(description.properties, node.parameters, false, false, node, description);
  const { useRedis, useSqlRole, useVaultKey } = settingsOf(node);
  const { useRedis: _redis, options, ...rest } = node.parameters;
  const { useSqlRole: _role, useVaultKey: _key, ...others } = options as INodeParameters;
  // Version 1 needs no switches.
  expect(kept).toEqual(node.typeVersion === 1 ? { ...rest, options: others } : node.parameters);
  expect([useRedis, useSqlRole, useVaultKey]).toEqual(
    commit === '5b01cba' || commit === 'b0aa60d' ? Array(3) : [true, true, true],
  );
});

/** Parameters of the older panels that have changed since 263edd99, each with the reason. */
const CHANGED: Readonly<Record<string, string>> = {
  'options.outputField': 'its text is the same for all versions, so it no longer names Output: Simplify',
  tenantTools: 'its list stayed the same when another tenant was chosen',
  'options.tools': 'the same',
  'options.disabledTools': 'the same',
  'options.skills': 'the same',
};

/** A digest of each credential, parameter and option, in the order of the panel. */
function panelOf({ credentials = [], properties }: INodeTypeDescription): Readonly<Record<string, string>> {
  const all: Record<string, string> = {};
  const add = (name: string, value: unknown): void => {
    let key = name;
    for (let number = 2; Object.hasOwn(all, key); number++) key = `${name} ${number}`;
    all[key] = createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
  };
  for (const one of credentials) add(`credential ${one.name}`, one);
  for (const property of properties) {
    const { options = [], ...rest } = property;
    add(property.name, property.type === 'collection' ? rest : property);
    if (property.type !== 'collection') continue;
    for (const option of options as INodeProperties[]) add(`${property.name}.${option.name}`, option);
  }
  return all;
}

it.each([1, 2, 3])('the panel of version %i is the one of 263edd99', (version) => {
  const then = (fixture('panels/263edd99.json') as Readonly<Record<number, Readonly<Record<string, string>>>>)[version];
  const now = panelOf(new UniversalAiAgent().getNodeType(version).description);
  const unchanged = (panel: object = {}): readonly unknown[] =>
    Object.entries(panel).filter(([name]) => !Object.hasOwn(CHANGED, name.replace(/ \d+$/, '')));
  expect(unchanged(now)).toEqual(unchanged(then));
  expect(Object.keys(now)).toEqual(Object.keys(then ?? {}));
});

it.each([
  [1, { inputMode: 'item', options: {} }],
  [2, { inputMode: 'item', options: {} }],
  [3, { options: { inputMode: 'item' } }],
  [4, { options: { inputMode: 'item' } }],
])(
  'a node of version %i has the options of a whole item, and none of the fields',
  (typeVersion, { options, ...rest }) => {
    const { description } = new UniversalAiAgent().getNodeType(typeVersion);
    const set = { ...options, callbackHosts: 'app.example.com', writeCallback: false, temperature: 0.1 };
    const fields = { identity: { userId: 'u' }, context: '{"a": 1}' };
    const given = {
      ...rest,
      ...(typeVersion < 3 ? fields : {}),
      options: { ...set, ...(typeVersion < 3 ? {} : fields) },
    };
    const kept = NodeHelpers.getNodeParameters(
      description.properties,
      given,
      false,
      false,
      { typeVersion },
      description,
    );
    expect(kept).toEqual({ ...rest, options: set });
  },
);

it('a node without optional credentials answers, with its options', async () => {
  models.script(textReply('Two bells.'));
  const item = await execute(savedAt(WITHOUT_OPTIONAL));
  expect(item).toMatchObject({ output: 'Two bells.', agent_tier: 'pro', trace: expect.any(Array) as unknown });
  const sent = models.received.at(-1);
  expect(sent).toMatchObject({ temperature: 0.2 });
  expect(JSON.stringify(sent?.messages)).toContain('c-1');
});

it.each(WITH_ALL)('a node of %s uses its vault key, its SQL role and its Redis', async (commit) => {
  models.script(toolReply(calls), textReply('Done.'));
  const item = await execute(savedAt(commit));
  expect(item).toMatchObject({
    result: {
      tool_calls: [
        { tool: 'redis_get', result: { value: 'two bells' } },
        { tool: 'sql_query', result: { rows: [['Alice']] } },
        { tool: 'notify', result: { done: true } },
      ],
    },
  });
  expect(tools.requests.at(-1)?.headers.authorization).toBe('Bearer crm-7');
  const { modelProvider, identity } = settingsOf(savedAt(commit));
  expect(models.requests.at(-1)?.headers.authorization).toBe(`Bearer ${modelProvider ? 'other' : 'k'}`);
  expect(JSON.stringify(models.received.at(-2)?.messages)).toContain('c-1');
  const [call] = await database.query('SELECT user_id FROM elo_tool_executions ORDER BY id DESC LIMIT 1');
  expect(call?.user_id).toBe(identity ? 'u-7' : null);
});

it('a new node ignores the same credentials until their switches are set', async () => {
  models.script(textReply('I cannot see it.'));
  const node: INode = { ...savedAt('5b01cba'), typeVersion: new UniversalAiAgent().currentVersion };
  await execute(node);
  expect(models.received.at(-1)?.tools).toBeUndefined();
});
