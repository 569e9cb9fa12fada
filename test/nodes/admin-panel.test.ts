import { runInNewContext } from 'node:vm';

import {
  type INode,
  type INodeCredentialDescription,
  type INodeParameters,
  type INodePropertyOptions,
  NodeHelpers,
} from 'n8n-workflow';

import { UniversalAiAgentAdmin } from '../../nodes/UniversalAiAgentAdmin/UniversalAiAgentAdmin.node';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgentAdmin';
const SCHEMA = { type: 'object', properties: { customer: { type: 'string' } }, required: ['customer'] };

let database: TestDatabase;

beforeAll(async () => {
  database = await createMigratedDatabase();
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
