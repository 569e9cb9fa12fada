import { readFileSync } from 'node:fs';
import path from 'node:path';
import { runInNewContext } from 'node:vm';

import {
  type INode,
  type INodeCredentialDescription,
  type INodeParameters,
  type INodeProperties,
  type INodePropertyOptions,
  NodeHelpers,
} from 'n8n-workflow';

import { TenantModel } from '../../nodes/TenantModel/TenantModel.node';
import { TenantTools } from '../../nodes/TenantTools/TenantTools.node';
import { UniversalAiAgent } from '../../nodes/UniversalAiAgent/UniversalAiAgent.node';
import { UniversalAiAgentAdmin } from '../../nodes/UniversalAiAgentAdmin/UniversalAiAgentAdmin.node';
import { UniversalAiAgentTrigger } from '../../nodes/UniversalAiAgentTrigger/UniversalAiAgentTrigger.node';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { containing } from '../support/setup/matchers';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgentAdmin';
const SCHEMA = { type: 'object', properties: { customer: { type: 'string' } }, required: ['customer'] };

/** The parameters of each operation at 263edd99; those of a collection as `additionalFields.name`. */
const SAVED = JSON.parse(
  readFileSync(path.join(__dirname, '..', 'fixtures/panels/admin-263edd99.json'), 'utf8'),
) as Readonly<Record<string, readonly string[]>>;

let database: TestDatabase;
let tenant: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  tenant = await addTenant(database);
});
afterAll(() => database.close());

/** Executes an operation on tools; what is not named has the panel's default. */
async function operate(parameters: INodeParameters): Promise<object | undefined> {
  const common = { position: [0, 0] as [number, number], typeVersion: 1 };
  const node: INode = {
    ...common,
    id: 'admin',
    name: 'Admin',
    type: TYPE,
    onError: 'continueRegularOutput',
    parameters: { resource: 'tool', ...parameters },
    credentials: { postgres: { id: '1', name: 'Postgres' } },
  };
  const run = await runInEngine({
    workflow: {
      nodes: [{ ...common, id: 'items', name: 'Items', type: 'test.items', parameters: {} }, node],
      connections: { Items: { main: [[{ node: 'Admin', type: 'main', index: 0 }]] } },
    },
    items: [{}],
    credentials: { postgres: postgresCredential(database.url) },
    nodeTypes: { [TYPE]: new UniversalAiAgentAdmin() },
  });
  return outputOf(run, 'Admin')[0]?.json;
}

it('has words for the canvas for each operation', () => {
  const { properties, subtitle = '' } = new UniversalAiAgentAdmin().description;
  const expression = /^=\{\{ (.+) \}\}$/.exec(subtitle)?.[1] ?? '';
  const wordsOf = (parameters: object): unknown => runInNewContext(expression, { $parameter: parameters });
  const operations = properties.filter(({ name }) => name === 'operation');
  for (const { displayOptions, options = [] } of operations) {
    for (const { value: operation, action } of options as INodePropertyOptions[]) {
      expect(wordsOf({ resource: displayOptions?.show?.resource?.[0], operation })).toBe(action);
      expect(action).toMatch(/^[A-Z][a-z]+ /);
    }
  }
  expect(operations).toHaveLength(16);
});

it.each([
  ['tool', 'set', { schemaMode: 'fields' }, false],
  ['tool', 'execute', {}, true],
  ['secret', 'set', {}, true],
])('offers the vault key for %s: %s with %j: %s', (...[resource, operation, more, isOffered]) => {
  const { credentials = [] } = new UniversalAiAgentAdmin().description;
  const vault = credentials.find(({ name }) => name === 'universalAiAgentVaultApi') as INodeCredentialDescription;
  expect(NodeHelpers.displayParameter({ resource, operation, ...more }, vault, null, null)).toBe(isOffered);
});

it.each(['workflow', 'rest', 'hook'])(
  'Create or Update leaves a %s tool as it is but for what is filled in',
  async (transport) => {
    const code = `a_${transport}`;
    const made = await operate({
      operation: 'create',
      code,
      transport,
      endpoint: 'http://127.0.0.1:9/x',
      description: 'Old',
      schemaMode: 'json',
      parametersSchema: JSON.stringify(SCHEMA),
      additionalFields: { name: 'A tool' },
    });
    expect(made).toMatchObject({ transport, parameters_schema: SCHEMA });
    expect(await operate({ operation: 'set', code, description: 'New' })).toEqual({ ...made, description: 'New' });
  },
);

it('Create or Update makes a hook without arguments of a code alone and its address', async () => {
  const made = await operate({ operation: 'set', code: 'ping', endpoint: 'http://127.0.0.1:9/ping' });
  expect(made).toMatchObject({ code: 'ping', transport: 'hook' });
});

describe('the panels of all nodes', () => {
  const panels = [
    new UniversalAiAgentAdmin().description,
    ...[1, 2, 3, 4].map((version) => new UniversalAiAgent().getNodeType(version).description),
    new UniversalAiAgentTrigger().description,
    new TenantTools().description,
    new TenantModel().description,
  ];

  // n8n keeps the field of a name where another parameter takes its place in the open panel, and loads no list for it.
  it.each(panels)('%# load a list anew where another field of its name was shown before', ({ properties }) => {
    const kind = ({ type, typeOptions }: INodeProperties): string => `${type} ${typeOptions?.loadOptionsMethod ?? ''}`;
    const lists = properties.filter(({ typeOptions }) => typeOptions?.loadOptionsMethod !== undefined);
    const stale = lists.filter(
      (list) =>
        properties.some((other) => other.name === list.name && kind(other) !== kind(list)) &&
        list.typeOptions?.loadOptionsDependsOn?.includes('operation') !== true,
    );
    expect(stale.map(({ name }) => name)).toEqual([]);
  });

  // n8n compares the values as texts, and every locator is [object Object].
  it.each(panels)(
    '%# load a list anew when another entry is chosen in the one that it depends on',
    ({ properties }) => {
      const all = properties.flatMap((one) => [one, ...((one.options ?? []) as INodeProperties[])]);
      const locators = all.filter(({ type }) => type === 'resourceLocator').map(({ name }) => name);
      const names = all.flatMap(({ typeOptions }) => typeOptions?.loadOptionsDependsOn ?? []);
      expect(names.filter((name) => locators.includes(name))).toEqual([]);
    },
  );
});

it('sends no number, rule or text that nobody has given', () => {
  const { properties } = new UniversalAiAgentAdmin().description;
  const sent = properties.filter(
    ({ name, type, default: given }) =>
      ['number', 'string', 'json'].includes(type) &&
      !['', '{}', '[]'].includes(typeof given === 'string' ? given : JSON.stringify(given)) &&
      name !== 'limit',
  );
  // A new tool needs a schema; the id of a run comes from the node before.
  expect([...new Set(sent.map(({ name }) => name))]).toEqual(['runId', 'parametersSchema']);
});

it('has every parameter that a node of 263edd99 may have saved', () => {
  const { properties } = new UniversalAiAgentAdmin().description;
  const namesOf = ({ name, type, options = [] }: INodeProperties): readonly string[] =>
    type === 'collection' ? options.map((option) => `${name}.${option.name}`) : [name];
  for (const [operation, names] of Object.entries(SAVED)) {
    const [resource, verb] = operation.split('.');
    const shown = properties.filter(
      ({ displayOptions: { show } = {} }) => show?.resource?.includes(resource) && show.operation?.includes(verb),
    );
    expect(names.filter((name) => !shown.flatMap(namesOf).includes(name))).toEqual([]);
  }
});

describe('Set Limits', () => {
  const tenantId = (): INodeParameters => ({ tenantId: { __rl: true, mode: 'id', value: tenant } });
  const setLimits = (parameters: INodeParameters): Promise<object | undefined> =>
    operate({ operation: 'setLimits', code: 'pay', ...tenantId(), ...parameters });
  const row = async (): Promise<object | undefined> =>
    (
      await database.query(
        `SELECT usage_limit_daily, custom_config FROM elo_t_tenant_tools
         JOIN elo_agent_tools AS tool ON tool.id = tool_id WHERE code = 'pay'`,
      )
    )[0];

  beforeAll(async () => {
    await operate({
      ...{ operation: 'create', code: 'pay', endpoint: 'http://127.0.0.1:9/pay' },
      fields: { field: ['amount', 'mail'].map((name) => ({ name, type: name === 'mail' ? 'string' : 'number' })) },
      enableFor: { __rl: true, mode: 'id', value: tenant },
    });
  });

  it('writes what is given and nothing else', async () => {
    await setLimits({ permissions: '{ "decision": "ask" }' });
    expect(await row()).toEqual({ usage_limit_daily: null, custom_config: { permissions: { decision: 'ask' } } });
    await setLimits({ dailyLimit: 50 });
    expect(await row()).toMatchObject({ usage_limit_daily: 50, custom_config: { permissions: { decision: 'ask' } } });
  });

  it('lays a rule from the form over those that there are', async () => {
    await setLimits({ rules: { rate_limit_per_minute: 3 } });
    const permissions = { decision: 'ask', rate_limit_per_minute: 3 };
    expect(await row()).toMatchObject({ custom_config: { permissions } });
  });

  it('takes rules from the form, over those of the JSON', async () => {
    await setLimits({
      permissions: '{ "decision": "deny", "rate_limit_per_day": 9 }',
      rules: {
        ...{ decision: 'ask', max_calls_per_run: 1, timeout_seconds: 5 },
        limits: { of: [{ argument: 'amount', min: '', max: '100' }] },
        allowed_patterns: {
          of: [
            { argument: 'mail', pattern: '*@example.com' },
            { argument: 'mail', pattern: 'a*' },
          ],
        },
        fixed_arguments: { of: [{ argument: 'mail', value: 'ada@example.com' }] },
      },
    });
    expect(await row()).toMatchObject({
      custom_config: {
        permissions: {
          ...{ decision: 'ask', rate_limit_per_day: 9, max_calls_per_run: 1, timeout_seconds: 5 },
          limits: { amount: { max: 100 } },
          allowed_patterns: { mail: ['*@example.com', 'a*'] },
          fixed_arguments: { mail: 'ada@example.com' },
        },
      },
    });
  });

  it.each([
    [{ rules: { limits: { of: [{ argument: 'amount', max: 'much' }] } } }, '"much" is not a number'],
    [{ rules: { limits: { of: [{ argument: 'amount', min: '', max: ' ' }] } } }, 'no minimum and no maximum'],
    [{ dailyLimit: 5, additionalFields: { clear: ['dailyLimit'] } }, 'Clear names dailyLimit, which is given as well'],
    [{ permissions: '{' }, 'Rules (JSON) is not valid JSON'],
    [{ rules: { allowed_patterns: { of: [{ argument: 'male', pattern: '*' }] } } }, 'male'],
  ])('refuses %j', async (parameters, message) => {
    expect(await setLimits(parameters)).toMatchObject({ error: { message: containing(message) } });
  });

  it('takes limit and rules away if they are to be cleared', async () => {
    await setLimits({ additionalFields: { clear: '={{ "dailyLimit, permissions" }}' } });
    expect(await row()).toEqual({ usage_limit_daily: null, custom_config: {} });
  });
});

it('clears what an agent once had', async () => {
  const agent = { resource: 'agent', name: 'guide', tenantId: { __rl: true, mode: 'id', value: tenant } };
  await operate({ ...agent, operation: 'create', systemPrompt: 'Be kind.', additionalFields: { maxIterations: 3 } });
  const cleared = { operation: 'update', additionalFields: { clear: ['systemPrompt', 'maxIterations'] } };
  expect(await operate({ ...agent, ...cleared })).toMatchObject({ system_prompt: null, max_iterations: null });
});

describe('a tool of the transport REST', () => {
  const create = (code: string, parameters: INodeParameters): Promise<object | undefined> =>
    operate({ operation: 'create', code, transport: 'request', ...parameters });
  const row = async (code: string): Promise<object | undefined> =>
    (await database.query('SELECT * FROM elo_agent_tools WHERE code = $1', [code]))[0];

  it('is asked with GET, and all that its URL names', async () => {
    await create('get_order', { requestUrl: 'http://127.0.0.1:9/orders/{number}?lang=en' });
    expect(await row('get_order')).toMatchObject({
      transport: 'rest',
      mcp_endpoint: 'http://127.0.0.1:9',
      transport_config: { method: 'GET', path: '/orders/{{number}}', query: { lang: 'en' } },
    });
  });

  it('has query, body and what else the JSON says', async () => {
    await create('add_order', {
      requestMethod: 'POST',
      fields: { field: ['language', 'customer'].map((name) => ({ name, type: 'string' })) },
      requestUrl: 'http://127.0.0.1:9/orders',
      requestQuery: { field: [{ name: 'lang', value: '{language}' }] },
      requestBody: { field: [{ name: 'note', value: 'For {customer}' }] },
      additionalFields: { transportConfig: '{ "result_path": "data" }' },
    });
    expect(await row('add_order')).toMatchObject({
      transport_config: {
        ...{ method: 'POST', path: '/orders', query: { lang: '{{language}}' } },
        ...{ body: { note: 'For {{customer}}' }, result_path: 'data' },
      },
    });
  });

  it('keeps its other settings when its request changes', async () => {
    const code = 'add_order';
    const change = { operation: 'update', code, transport: 'request', requestUrl: 'http://127.0.0.1:9/new' };
    await operate({ ...change, additionalFields: {} });
    expect(await row(code)).toMatchObject({ transport_config: { method: 'GET', path: '/new', result_path: 'data' } });
    expect((await row(code)) as object).not.toHaveProperty('transport_config.body');
  });

  it('takes a field of a form once', async () => {
    const requestQuery = { field: ['a', 'b'].map((value) => ({ name: 'status', value })) };
    const made = await create('twice', { requestUrl: 'http://127.0.0.1:9/', requestQuery });
    expect(made).toMatchObject({ error: { message: containing('"status" is there twice') } });
  });

  it.each(['orders', 'ftp://127.0.0.1/', 'http://{host}/orders'])('refuses the URL "%s"', async (requestUrl) => {
    expect(await create('bad', { requestUrl })).toMatchObject({ error: { code: 'ADMIN_INPUT_INVALID' } });
  });

  it('stays as JSON says it in a node that was saved so', async () => {
    const saved = { transport: 'rest', endpoint: 'http://127.0.0.1:9', additionalFields: { transportConfig: '{}' } };
    await operate({ operation: 'create', code: 'old', ...saved });
    expect(await row('old')).toMatchObject({ transport: 'rest', transport_config: {} });
  });
});
