import type { JsonObject } from '../../../runtime/util/json';
import { attach, node, type Part } from '../../support/workflow-builder';
import { agentNode, migrated, modelNode, newNode, reasons, switched } from './a-cluster';

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

  it('have no limit of tokens where the model has none', () => {
    const input = switched({ a: model('x/y', { maxTokens: -1 }), b: model('x/z') });
    expect(newNode(input).parameters.options).not.toHaveProperty('maxTokens');
    expect(migrated(input).sql).toContain(`'x/y', NULL, NULL)`);
  });

  it('leave a number that a row may not hold to the options of the node', () => {
    const input = switched({ a: model('x/y', { temperature: 2.5, maxTokens: 1.5 }), b: model('x/z') });
    expect(newNode(input).parameters.options).toMatchObject({
      temperature: "={{ $json.tier === 'a' ? 2.5 : undefined }}",
      maxTokens: "={{ $json.tier === 'a' ? 1.5 : undefined }}",
    });
    expect(migrated(input).sql).toContain(`'x/y', NULL, NULL)`);
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

  it.each([
    ['guardrails', '={{ $json.guardrailsInput }}'],
    ['auto', '={{ $json.chatInput }}'],
    ['define', 'Hello'],
  ])('of the type %s are %s', (promptType, message) => {
    const agent = { parameters: { promptType, text: 'Hello', options: {} } };
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

it.each([51, 0, 1.5])('leaves agents that may take %s iterations', (maxIterations) => {
  const options = { maxIterations };
  expect(reasons(two({ options }, { options }))).toEqual(['max-iterations:']);
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

  it('that another agent reads too keep their keys, and others are asked for', () => {
    const input = switched(
      { a: {}, b: {} },
      {
        parts: [memory('M a', {}), memory('M b', {}), agentNode('Other'), modelNode('Model o')],
        wires: [
          ...attach('M a', 'ai_memory', ['Agent a', 'Other']),
          ...attach('M b', 'ai_memory', ['Agent b']),
          ...attach('Model o', 'ai_languageModel', ['Other']),
        ],
      },
    );
    expect(reasons(input)).toEqual(['memory-keys:memory-keys']);
  });

  it.each([
    [2.2, true, true],
    [2.2, false, false],
    [3, true, false],
  ])('of version %s with tools (%s) keep tool calls from now on: %s', (typeVersion, hasTools, isTold) => {
    const agents = ['Agent a', 'Agent b'];
    const tools = hasTools ? attach('Calculator', 'ai_tool', agents) : [];
    const input = switched(
      { a: { agent: { typeVersion } }, b: { agent: { typeVersion } } },
      {
        parts: [memory('M', {}), node('Calculator', 'ai.toolCalculator@1')],
        wires: [...attach('M', 'ai_memory', agents), ...tools],
      },
    );
    const notes = migrated(input).report.notes.map(({ text }) => text);
    expect(notes.some((text) => text.includes('keeps tool calls'))).toBe(isTold);
  });

  it('of other settings leave the agents', () => {
    expect(reasons(withMemories(memory('M a', {}), memory('M b', { contextWindowLength: 9 })))).toEqual([
      'several-memories:',
    ]);
  });
});

it('takes output parsers for one only where nothing is wired to them', () => {
  const agent = { parameters: { hasOutputParser: true, options: {} } };
  const withParsers = (wires: ReturnType<typeof attach>): ReturnType<typeof switched> =>
    switched(
      { a: { agent }, b: { agent } },
      {
        parts: ['a', 'b'].flatMap((name) => [
          node(`Parser ${name}`, 'ai.outputParserAutofixing@1'),
          modelNode(`Fixer ${name}`, { parameters: { model: `x/${name}` } }),
        ]),
        wires: [
          ...['a', 'b'].flatMap((name) => attach(`Parser ${name}`, 'ai_outputParser', [`Agent ${name}`])),
          ...wires,
        ],
      },
    );
  expect(migrated(withParsers([])).report.clusters[0]?.connected).toEqual(['Parser a']);
  const fixers = ['a', 'b'].flatMap((name) => attach(`Fixer ${name}`, 'ai_languageModel', [`Parser ${name}`]));
  expect(reasons(withParsers(fixers))).toEqual(['several-parsers:']);
});

const POST = { method: 'POST', sendBody: true, specifyBody: 'json' };
const headers = (...parameters: JsonObject[]): JsonObject => ({ sendHeaders: true, headerParameters: { parameters } });
const queries = (...parameters: JsonObject[]): JsonObject => ({ sendQuery: true, queryParameters: { parameters } });

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

  it('of the first kind say which arguments the model may leave out', () => {
    const value = (name: string, valueProvider: string): JsonObject => ({ name, valueProvider });
    const parametersQuery = { values: [value('city', 'modelRequired'), value('day', 'modelOptional')] };
    const part = node('weather', 'ai.toolHttpRequest@1.1', {
      toolDescription: 'Gives the weather',
      url: 'https://x.example.com/weather',
      sendQuery: true,
      parametersQuery,
    });
    expect(migrated(withTool(part)).sql).toContain(
      '"properties":{"city":{"type":"string"},"day":{"type":"string"}},"required":["city"]',
    );
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
    ['a POST without a body', { method: 'POST' }],
    ['a GET with a body', { ...POST, method: 'GET', jsonBody: '{"a":1}' }],
    ['a header of the model', headers({ name: 'X', value: "={{ $fromAI('x') }}" })],
    ['a secret put together', queries({ name: 'api_key', value: "=sk-{{ $fromAI('x') }}" })],
    ['a secret number', { ...POST, jsonBody: '{"login":{"password":123456}}' }],
    ['the name of a secret of the vault', { ...POST, jsonBody: '{"a":[{"b":" Bearer vault:shared"}]}' }],
    ["a key of a channel's account", queries({ name: 'q', value: 'channel:telegram.token' })],
    ['two secrets of one name', headers({ name: 'A-Key!', value: 's' }, { name: 'A-Key#', value: 't' })],
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

  it('that another agent has too stay connected to both', () => {
    const input = switched(
      { a: {}, b: {} },
      {
        parts: [tool('Find Orders'), agentNode('Other'), modelNode('Model o')],
        wires: [
          ...attach('Find Orders', 'ai_tool', ['Agent a', 'Agent b', 'Other']),
          ...attach('Model o', 'ai_languageModel', ['Other']),
        ],
      },
    );
    const { workflow, report } = migrated(input);
    expect(report.clusters.map(({ connected, tools }) => [connected, tools])).toEqual([
      [['Find Orders'], []],
      [['Find Orders'], []],
    ]);
    expect(workflow.connections['Find Orders']?.ai_tool?.[0]).toHaveLength(2);
  });

  it('of an MCP server have the transport of their version', () => {
    const sqlOf = (version: string, more: JsonObject): string =>
      migrated(withTool(node('Shop', `ai.mcpClientTool@${version}`, { ...more, options: {} }))).sql;
    expect(sqlOf('1', { sseEndpoint: 'https://m.example.com' })).toContain("'https://m.example.com', 'sse'");
    expect(sqlOf('1.1', { endpointUrl: 'https://m.example.com' })).toContain("'https://m.example.com', 'sse'");
    expect(sqlOf('1.2', { endpointUrl: 'https://m.example.com' })).toContain("'https://m.example.com', 'http'");
  });

  it('hold a secret by name only', () => {
    const part = {
      ...tool('Find Orders', { authentication: 'genericCredentialType', genericAuthType: 'httpBearerAuth' }),
      credentials: { httpBearerAuth: { id: 'b', name: "Bearer'; --" } },
    };
    const { sql, report } = migrated(withTool(part));
    expect(sql).toContain(`'Bearer vault:Find_Orders_auth'`);
    const notes = report.notes.map(({ text }) => text).join('\n');
    expect(notes).toContain('Choose its Vault Key credential');
    expect(notes).toContain("of the credential Bearer'; -- into the vault under the name Find_Orders_auth.");
    expect(JSON.stringify(migrated(withTool(tool('Find Orders'))).report)).not.toContain('Vault Key');
  });

  it.each([
    ['headers_X-Api-Key', 'headers.X-Api-Key', headers({ name: 'X-Api-Key', value: 'CANARY' })],
    ['headers_X-Other', 'headers.X-Other', headers({ name: 'X-Other', value: 'Bearer CANARY-CANARY' })],
    ['query_api_key', 'query.api_key', queries({ name: 'api_key', value: 'CANARY' })],
    ['query_q', 'query.q', queries({ name: 'q', value: 'sk-CANARY-CANARY' })],
    ['body_login_password', 'body.login.password', { ...POST, jsonBody: '{"login":{"password":"CANARY"}}' }],
    ['body_auth_0', 'body.auth.0', { ...POST, jsonBody: '{"auth":["CANARY"]}' }],
    [
      'body_token',
      'body.token',
      { method: 'POST', sendBody: true, bodyParameters: { parameters: [{ name: 'token', value: 'CANARY' }] } },
    ],
  ])('leave the secret %s to the vault', (name, place, parameters) => {
    const { sql, report, workflow } = migrated(withTool(tool('Find Orders', parameters)));
    expect(sql).toContain(`"vault:Find_Orders_${name}"`);
    expect(report.notes).toContainEqual({
      node: 'Find Orders',
      text: `Put the value of ${place} into the vault under the name Find_Orders_${name}.`,
    });
    expect(JSON.stringify([sql, report, workflow])).not.toContain('CANARY');
  });

  it('send what the model gives, and what is no secret, as before', () => {
    const given = queries(
      { name: 'key', value: "={{ $fromAI('key') }}" },
      { name: 'keywords', value: 'shoes' },
      { name: 'max_tokens', value: '500' },
      { name: 'plan', value: 'basic monthly' },
      { name: 'locale', value: 'sk-SK' },
    );
    const { sql } = migrated(withTool(tool('Find Orders', given)));
    expect(sql).toContain(
      '"query":{"key":"{{key}}","keywords":"shoes","max_tokens":"500","plan":"basic monthly","locale":"sk-SK"}',
    );
    expect(sql).not.toContain('"vault:');
  });

  it('of an MCP server whose address holds a secret stay connected', () => {
    const server = (endpointUrl: string): Part => node('Shop', 'ai.mcpClientTool@1.2', { endpointUrl, options: {} });
    const sqlOf = (part: Part): string => migrated(withTool(part)).sql;
    expect(sqlOf(server('https://mcp.example.com/mcp?apiKey=CANARY'))).not.toContain('CANARY');
    expect(sqlOf(server('https://mcp.example.com/mcp?shop=1'))).toContain('/mcp?shop=1');
  });
});
