import type { JsonObject } from '../../../runtime/util/json';
import { attach, node, type Part } from '../../support/workflow-builder';
import { migrated, newNode, reasons, switched } from './a-cluster';

const two = (small: JsonObject, pro: JsonObject): ReturnType<typeof switched> =>
  switched({ small: { agent: { parameters: small } }, pro: { agent: { parameters: pro } } });
const model = (modelId: string, options: JsonObject = {}): { model: Partial<Part> } => ({
  model: { parameters: { model: modelId, options } },
});

describe('tiers', () => {
  it('are one of the five only where model, temperature and tokens are all the same', () => {
    const input = switched({
      a: model('qwen/qwen3-8b', { temperature: 0.2, maxTokens: 800 }),
      b: model('qwen/qwen3-8b', { temperature: 0.2 }),
    });
    const { report, sql } = migrated(input);
    expect(report.clusters[0]?.tiers).toMatchObject([
      { code: 'small', isNew: false },
      { model: 'qwen/qwen3-8b', isNew: true },
    ]);
    expect(sql).toContain(`'qwen/qwen3-8b', NULL, 0.2)`);
  });

  it('have a code of at most 20 characters, shared by branches that are the same', () => {
    const input = switched({ a: model('x/y'), b: model('x/y'), c: model('x/z') });
    const tiers =
      migrated({ ...input, name: 'Заявки — a very long name of a workflow' }).report.clusters[0]?.tiers ?? [];
    expect(tiers[0]?.code).toBe(tiers[1]?.code);
    expect(new Set(tiers.map(({ code }) => code)).size).toBe(2);
    expect(tiers.every(({ code }) => /^[a-z0-9_]{1,20}$/.test(code))).toBe(true);
  });

  it('leave what a row cannot hold to the options of the node', () => {
    const input = switched({ a: model('x/y', { temperature: '={{ $json.t }}' }), b: model('x/z') });
    expect(newNode(input).parameters.options).toMatchObject({
      temperature: "={{ $json.tier === 'a' ? $json.t : undefined }}",
    });
  });

  it('are asked for when options are lost', () => {
    const input = switched({ a: model('x/y', { topP: 0.5 }), b: model('x/z', { topP: 1 }) });
    expect(reasons(input)).toEqual(['model-options:dropped-options']);
    expect(newNode(input, { allow: ['dropped-options'] }).parameters.tier).toContain('$json.tier');
  });

  it('need one provider and one credential', () => {
    const other = {
      type: '@n8n/n8n-nodes-langchain.lmChatOpenAi',
      typeVersion: 1.1,
      credentials: { openAiApi: { id: 'o', name: 'O' } },
    };
    expect(reasons(switched({ a: {}, b: { model: other } }))).toEqual(['several-providers:']);
    const key = { credentials: { openRouterApi: { id: 'two', name: 'OpenRouter' } } };
    expect(reasons(switched({ a: {}, b: { model: key } }))).toEqual(['several-credentials:']);
    expect(reasons(switched({ a: {}, b: { model: { ...other, typeVersion: 1.3 } } }))).toEqual(['responses-api:']);
  });
});

describe('prompts', () => {
  it.each([
    [1.8, {}, 'You are a helpful assistant'],
    [1.9, {}, ''],
    [1.8, { systemMessage: '' }, ''],
    [3.1, { systemMessage: '=You are {{ $json.who }}' }, '=You are {{ $json.who }}'],
  ])('of version %s with %j: %s', (typeVersion, options, systemPrompt) => {
    const agent = { typeVersion, parameters: { options } };
    expect(newNode(switched({ a: { agent }, b: { agent } })).parameters).toMatchObject({
      systemPrompt,
      message: '={{ $json.chatInput }}',
      options: { maxIterations: 10, onMaxIterations: typeVersion >= 3 ? 'error' : 'partial' },
    });
  });

  it.each([
    [1, '={{ $json.input }}'],
    [1.1, '={{ $json.chat_input }}'],
    [1.2, '={{ $json.chatInput }}'],
  ])('of version %s are read from %s', (typeVersion, message) => {
    const agent = { typeVersion, parameters: { agent: 'toolsAgent', options: {} } };
    expect(newNode(switched({ a: { agent }, b: { agent } })).parameters.message).toBe(message);
  });

  it('of agents that are no tools agents are asked for; a SQL agent stays', () => {
    const agent = { typeVersion: 1.5, parameters: { options: {} } };
    expect(reasons(switched({ a: { agent }, b: { agent } }))).toEqual(['agent-kind:agent-kind']);
    const sql = { typeVersion: 1.6, parameters: { agent: 'sqlAgent' } };
    expect(reasons(switched({ a: { agent: sql }, b: { agent: sql } }), { allow: ['agent-kind'] })).toEqual([
      'sql-agent:',
    ]);
  });

  it('that differ are never averaged away', () => {
    const input = two(
      { options: { systemMessage: 'Brief' } },
      { options: { systemMessage: 'Long', maxIterations: 3 } },
    );
    expect(newNode(input).parameters).toMatchObject({
      systemPrompt: "={{ $json.tier === 'small' ? 'Brief' : 'Long' }}",
      options: { maxIterations: "={{ $json.tier === 'small' ? 10 : 3 }}" },
    });
  });

  it('that are no expression leave the agents', () => {
    expect(reasons(two({ options: { systemMessage: '={{ if (1) 2 }}' } }, { options: {} }))).toEqual(['not-carried:']);
  });
});

it.each(['returnIntermediateSteps', 'passthroughBinaryImages', 'forceToolCallOnFirstIteration'])(
  'asks for the loss of %s',
  (option) => {
    const input = two({ options: { [option]: true } }, { options: {} });
    expect(reasons(input)).toEqual(['agent-options:dropped-options']);
  },
);

it('sets no time-out, since agents had none', () => {
  expect(newNode(switched({ a: {}, b: {} })).parameters.options).toMatchObject({ timeoutSeconds: 86_400 });
});

it('leaves agents whose settings for errors differ', () => {
  expect(reasons(switched({ a: { agent: { onError: 'continueRegularOutput' } }, b: {} }))).toEqual(['error-settings:']);
});

describe('memories', () => {
  const memory = (name: string, parameters: JsonObject, version = '1.4'): Part =>
    node(name, `ai.memoryBufferWindow@${version}`, parameters);
  const withMemories = (a: Part, b: Part): ReturnType<typeof switched> =>
    switched(
      { a: {}, b: {} },
      {
        parts: [a, b],
        wires: [...attach(a.name, 'ai_memory', ['Agent a']), ...attach(b.name, 'ai_memory', ['Agent b'])],
      },
    );

  it('with the same key are one', () => {
    const input = withMemories(memory('M a', {}, '1.3'), memory('M b', {}, '1.3'));
    const { workflow, report } = migrated(input);
    expect(report.clusters[0]).toMatchObject({ connected: ['M a'] });
    expect(workflow.nodes.find(({ name }) => name === 'M a')?.parameters).toEqual({});
    expect(workflow.nodes.some(({ name }) => name === 'M b')).toBe(false);
  });

  it('whose keys n8n keeps apart by their names have the same keys afterwards', () => {
    const { workflow } = migrated(withMemories(memory('M a', {}), memory('M b', {})));
    expect(workflow.nodes.find(({ name }) => name === 'M a')?.parameters).toEqual({
      sessionIdType: 'customKey',
      sessionKey:
        "={{ $json.tier === 'a' ? ($json.sessionId ? $json.sessionId + '__M_a' : '') : ($json.sessionId ? $json.sessionId + '__M_b' : '') }}",
    });
  });

  it('of other settings leave the agents', () => {
    expect(reasons(withMemories(memory('M a', {}), memory('M b', { contextWindowLength: 9 })))).toEqual([
      'several-memories:',
    ]);
  });
});

describe('tools', () => {
  const tool = (name: string, more: JsonObject = {}): Part =>
    node(name, 'base.httpRequestTool@4.2', {
      toolDescription: 'Finds orders',
      url: "=https://shop.example.com/orders/{{ $fromAI('id', 'The order', 'string') }}",
      ...more,
    });
  const withTool = (part: Part, agents: readonly string[] = ['Agent a', 'Agent b']): ReturnType<typeof switched> =>
    switched({ a: model('x/y'), b: model('x/z') }, { parts: [part], wires: attach(part.name, 'ai_tool', agents) });

  it('become rows that look the same to the model', () => {
    const { sql, report, workflow } = migrated(withTool(tool('Find Orders')));
    expect(report.clusters[0]?.tools).toEqual([{ node: 'Find Orders', code: 'Find_Orders' }]);
    expect(sql).toContain('"path":"/orders/{{id}}"');
    expect(sql).toContain('"properties":{"id":{"type":"string","description":"The order"}},"required":["id"]');
    expect(workflow.nodes.some(({ name }) => name === 'Find Orders')).toBe(false);
  });

  it('have as much time as in n8n, and none that no row has', () => {
    const withTime = (timeout: JsonObject['timeout']): Part => tool('Find Orders', { options: { timeout } });
    expect(migrated(withTool(tool('Find Orders'))).sql).toContain('NULL, 300000,');
    expect(migrated(withTool(withTime(5000))).sql).toContain('NULL, 5000,');
    for (const timeout of ['={{ $json.t }}', 0, 900_000]) {
      expect(migrated(withTool(withTime(timeout))).report.clusters[0]?.connected).toEqual(['Find Orders']);
    }
  });

  it('are the only ones that the node may use', () => {
    expect(newNode(withTool(tool('Find Orders'))).parameters.options).toMatchObject({ tools: ['Find_Orders'] });
    expect(newNode(switched({ a: {}, b: {} })).parameters.options).toMatchObject({ tools: [] });
  });

  it('of some branches are for their tiers, or leave the agents', () => {
    const input = withTool(tool('Find Orders'), ['Agent a']);
    const { sql, report } = migrated(input);
    expect(sql).toContain(`ARRAY['${report.clusters[0]?.tiers[0]?.code ?? ''}']`);
    expect(reasons(input, { tools: 'connected' })).toEqual(['several-toolsets:']);
  });

  it.each([
    ['a host of the model', { url: "=https://{{ $fromAI('host') }}/x" }],
    ['a query in the URL', { url: 'https://x.example.com/?key=1' }],
    [
      'a secret in a header',
      { sendHeaders: true, headerParameters: { parameters: [{ name: 'X-Api-Key', value: 's' }] } },
    ],
    ['an expression', { url: '={{ $json.url }}' }],
    ['a credential that only n8n knows', { authentication: 'predefinedCredentialType' }],
    ['options', { options: { redirect: {} } }],
    ['a way out of the path', { url: 'https://x.example.com/a/../b' }],
  ])('stay connected with %s', (_what, parameters) => {
    const { report, workflow } = migrated(withTool(tool('Find Orders', parameters)));
    expect(report.clusters[0]?.connected).toEqual(['Find Orders']);
    expect(report.notes.map(({ node: name }) => name)).toContain('Find Orders');
    expect(workflow.connections['Find Orders']?.ai_tool).toEqual([
      [{ node: 'Universal AI Agent', type: 'ai_tool', index: 0 }],
    ]);
  });

  it('hold a secret by name only', () => {
    const part = {
      ...tool('Find Orders', { authentication: 'genericCredentialType', genericAuthType: 'httpBearerAuth' }),
      credentials: { httpBearerAuth: { id: 'b', name: "Bearer'; --" } },
    };
    expect(migrated(withTool(part)).sql).toContain(`'Bearer vault:find_orders_auth'`);
  });
});
