import type { JsonObject } from '../../../runtime/util/json';
import { attach, node, type Part } from '../../support/workflows/workflow-builder';
import { agentNode, migrated, model, modelNode, newNode, reasons, switched } from './a-cluster';

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
    ['query_appid', 'query.appid', queries({ name: 'appid', value: '=CANARY' })],
    ['headers_X-Sig', 'headers.X-Sig', headers({ name: 'X-Sig', value: 'CANARY_9f8e7d6c5b4a3f2e1d' })],
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

  it.each([
    ['its path', { url: 'https://hooks.slack.com/services/T0000/B0000/k3J9xQ2mZ7pL5vR8tN4w' }, 'k3J9xQ2mZ7pL5vR8tN4w'],
    ['its description', { toolDescription: `Use sk-or-v1-${'0a1b'.repeat(8)}` }, '0a1b0a1b'],
  ])('stay connected with a secret in %s', (_what, parameters, secret) => {
    const { sql, report } = migrated(withTool(tool('Find Orders', parameters)));
    expect(report.clusters[0]?.connected).toEqual(['Find Orders']);
    expect(JSON.stringify([sql, report])).not.toContain(secret);
  });

  it('may have a year in their path', () => {
    const url = 'https://x.example.com/find-orders-2024-and-returns';
    expect(migrated(withTool(tool('Find Orders', { url }))).report.clusters[0]?.tools).toHaveLength(1);
  });

  it.each([
    'https://x.example.com/mcp?api_key=hunter2',
    'https://x.example.com/mcp?k=4f2a9c0d1e5b7f3a8c6d2e9b',
    'https://x.example.com/s/4f2a9c0d%2D1e5b7f3a8c6d2e9b/mcp',
  ])('of the server %s stay connected', (endpointUrl) => {
    const server = (url: string): Part => node('Shop', 'ai.mcpClientTool@1.2', { endpointUrl: url, options: {} });
    const { sql, report } = migrated(withTool(server(endpointUrl)));
    expect(report.clusters[0]?.connected).toEqual(['Shop']);
    expect(sql).not.toContain('x.example.com');
    expect(migrated(withTool(server('https://x.example.com/mcp?shop=1'))).sql).toContain('/mcp?shop=1');
  });
});
