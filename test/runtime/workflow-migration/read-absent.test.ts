import { migrateWorkflow as fromLibrary } from '../../../runtime';
import type { Workflow } from '../../../runtime/workflow-migration/contract';
import { attach, chain, node, workflow } from '../../support/workflows/workflow-builder';
import { agentNode, migrated, modelNode, newNode, newNodes, reasons, switched } from './a-cluster';

const DEFINED = { promptType: 'define', text: '={{ $json.message }}' };
const ABSENT = [null, ''] as const;
/** All that a new node has where its model has none. */
const POSTGRES = { postgres: { id: 'pg', name: 'Postgres' } };

/** Two lone agents with a model each, and a node that is none of our business. */
const two = (): Workflow =>
  workflow('Two', {
    parts: [
      ...[node('Start', 'base.manualTrigger@1'), node('Other', 'base.set@3.4', { a: '=plain' })],
      ...[agentNode('One'), agentNode('Two'), modelNode('Model 1'), modelNode('Model 2')],
    ],
    wires: [
      ...chain('Start', 'One', 'Two', 'Other'),
      ...attach('Model 1', 'ai_languageModel', ['One']),
      ...attach('Model 2', 'ai_languageModel', ['Two']),
    ],
  });

/** The same with fields of the workflow, or of each node, in place of what they are. */
const changed = (input: Workflow, ofWorkflow: object, ofNode: object = {}): Workflow => ({
  ...input,
  ...(ofWorkflow as Partial<Workflow>),
  nodes: input.nodes.map((one) => ({ ...one, ...ofNode })),
});

it.each(ABSENT)('%j is absent in every field of a workflow', (value) => {
  const fields = ['pinData', 'staticData', 'meta', 'settings', 'activeVersionId', 'tags', 'description'];
  const given = Object.fromEntries(fields.map((name) => [name, value]));
  const { workflow: after } = migrated(changed(two(), given));
  expect(after).toMatchObject(given);
  expect(after.nodes).toEqual(migrated(two()).workflow.nodes);
});

it.each(ABSENT)('%j is absent in every field of a node, and other nodes stay as they were', (value) => {
  const fields = { notes: value, onError: value, credentials: value, retryOnFail: value, disabled: value };
  const input = changed(two(), {}, fields);
  const { workflow: after } = migrated(input);
  expect(after.nodes.find(({ name }) => name === 'Other')).toEqual(input.nodes.find(({ name }) => name === 'Other'));
  for (const made of newNodes(after)) {
    expect(Object.keys(fields).filter((name) => Object.hasOwn(made, name))).toEqual(['credentials']);
    expect(made.credentials).toEqual(POSTGRES);
  }
});

it('a credential that is null is none', () => {
  const { workflow: after } = migrated(changed(two(), {}, { credentials: { openRouterApi: null } }));
  expect(newNodes(after).map(({ credentials }) => credentials)).toEqual([POSTGRES, POSTGRES]);
});

it.each(['', null, undefined, 'the same'])('new nodes have ids of their own where the old ones had the id %j', (id) => {
  const [one, other] = newNodes(migrated(changed(two(), {}, { id })).workflow);
  expect(one?.id).toMatch(/^[0-9a-f-]{36}$/);
  expect(other?.id).not.toBe(one?.id);
});

it('new nodes have ids that no other node has, whatever that was called', () => {
  const input = two();
  const named = input.nodes.map((one) => ({
    ...one,
    id: { One: undefined, Two: 'One' }[one.name] ?? (one.name === 'One' ? undefined : one.id),
  }));
  const ids = migrated({ ...input, nodes: named }).workflow.nodes.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

it.each([0, {}, [], null])('a workflow may be called %j', (name) => {
  expect(migrated({ ...two(), name: name as never }).workflow.name).toEqual(name);
});

it('text that begins with == keeps what n8n makes of it', () => {
  const parameters = { ...DEFINED, options: { systemMessage: '==== ROLE ===' } };
  const input = changed(two(), {});
  const nodes = input.nodes.map((one) => (one.name === 'One' ? { ...one, parameters } : one));
  expect(newNodes(migrated({ ...input, nodes }).workflow)[0]?.parameters).toMatchObject({
    systemPrompt: '==== ROLE ===',
  });
});

it('a router whose rules are changed keeps its other fields', () => {
  const { workflow: after } = migrated(changed(switched({ a: {}, b: {} }), {}, { id: 'the same', notes: '' }));
  const router = after.nodes.find(({ type }) => type.endsWith('switch'));
  expect(router).toMatchObject({ id: 'the same', notes: '' });
});

it('text behind = without braces is that text', () => {
  const tool = node('Orders', 'ai.toolHttpRequest@1.1', {
    ...{ toolDescription: 'Gets the lines of an order', method: 'GET' },
    url: '=https://desk.example.com/orders/{id}/lines',
  });
  const input = workflow('Tool', {
    parts: [node('Start', 'base.manualTrigger@1'), agentNode('Helper'), modelNode('Model'), tool],
    wires: [
      ...chain('Start', 'Helper'),
      ...attach('Model', 'ai_languageModel', ['Helper']),
      ...attach('Orders', 'ai_tool', ['Helper']),
    ],
  });
  const { sql, report } = migrated(input);
  expect(report.clusters[0]?.connected).toEqual([]);
  expect(sql).toContain('/orders/{{id}}/lines');
});

describe('a chat that streams', () => {
  const chat = (agent: object, model: object = {}): Workflow =>
    workflow('Chat', {
      parts: [
        node('Start', 'ai.chatTrigger@1.4', { options: { responseMode: 'streaming' } }),
        ...[agentNode('Helper', agent), modelNode('Model', model)],
      ],
      wires: [...chain('Start', 'Helper'), ...attach('Model', 'ai_languageModel', ['Helper'])],
    });
  const options = (input: Workflow) => newNode(input).parameters.options;

  it('goes on to do so', () => {
    expect(options(chat({ typeVersion: 2.2 }))).not.toHaveProperty('enableStreaming');
  });

  it('goes by what was computed', () => {
    const enableStreaming = '={{ $json.live }}';
    const agent = { typeVersion: 2.2, parameters: { ...DEFINED, options: { enableStreaming } } };
    expect(options(chat(agent))).toMatchObject({ enableStreaming });
  });

  it('asks where the branches differ', () => {
    const off = { agent: { typeVersion: 2.2, parameters: { ...DEFINED, options: { enableStreaming: false } } } };
    const input = switched({ a: { agent: { typeVersion: 2.2 } }, b: off });
    const start = node('Start', 'ai.chatTrigger@1.4', { options: { responseMode: 'streaming' } });
    const nodes = input.nodes.map((one) => (one.type.endsWith('Trigger') ? { ...one, ...start, name: one.name } : one));
    expect(reasons({ ...input, nodes })).toContain('streaming:dropped-options');
  });

  it.each([{ typeVersion: 2 }, { typeVersion: 2.2, parameters: { options: { enableStreaming: false } } }])(
    'does not begin to: %j',
    (agent) => {
      expect(options(chat(agent))).toMatchObject({ enableStreaming: false });
    },
  );
});

describe('tells of what is newer than what is known', () => {
  const newer = (input: Workflow, typeVersion?: number): readonly string[] => {
    const nodes = input.nodes.map((one) => ({ ...one, typeVersion: typeVersion ?? one.typeVersion }));
    const { notes } = migrated({ ...input, nodes }).report;
    return notes.flatMap(({ text }) => /^"?(.+?)"? is of version 9, read as/.exec(text)?.[1] ?? []);
  };

  it('agents and models', () => {
    expect(newer(two(), 9)).toEqual(['One', 'Model 1', 'Two', 'Model 2']);
    expect(newer(two())).toEqual([]);
  });

  it('the router', () => {
    const input = switched({ a: {}, b: {} });
    const nodes = input.nodes.map((one) => (one.type.endsWith('.switch') ? { ...one, typeVersion: 9 } : one));
    expect(newer({ ...input, nodes })).toEqual([input.nodes.find(({ type }) => type.endsWith('.switch'))?.name]);
  });

  it('a tool that becomes a row, and none that stays connected', () => {
    const url = 'https://api.example.com/orders';
    const parts = [
      node('Orders', 'base.httpRequestTool@9', { toolDescription: 'Finds', url }),
      node('Count', 'ai.toolCalculator@9'),
    ];
    const wires = parts.flatMap(({ name }) => attach(name, 'ai_tool', ['Agent a', 'Agent b']));
    const input = switched({ a: {}, b: {} }, { parts, wires });
    expect(newer(input)).toEqual(['Orders']);
  });
});

it.each(['maxIterations', 'temperature', 'maxTokens'])(
  'an option %s that somebody has emptied has its default',
  (name) => {
    const options = { options: { [name]: '' } };
    const emptied = two().nodes.map((one) => ({ ...one, parameters: { ...one.parameters, ...options } }));
    const made = newNodes(migrated({ ...two(), nodes: emptied }).workflow);
    expect(made).toEqual(newNodes(migrated(two()).workflow));
  },
);

it('a model without a name is to be selected', () => {
  expect(reasons(switched({ a: { model: { parameters: { model: '' } } }, b: {} }))).toContain('no-model:');
});

it.each([{ tools: 'all' }, { allow: ['everything'] }, { dropRouters: true }, { tierMap: { a: 'b' } }])(
  'the library refuses options that it does not know: %j',
  async (options) => {
    await expect(fromLibrary(two(), options as never)).rejects.toMatchObject({ code: 'ADMIN_INPUT_INVALID' });
  },
);

it('the library has defaults', async () => {
  const migration = await fromLibrary(two());
  expect(migration.kind).toBe('migrated');
  expect(JSON.stringify(migration)).toContain('{{ $json.tenant_id }}');
  await expect(fromLibrary(two(), {})).resolves.toEqual(migration);
  for (const value of [undefined, null]) {
    const options = { allow: value, tools: value, tenant: value } as never;
    await expect(fromLibrary(two(), options)).resolves.toEqual(migration);
  }
});
