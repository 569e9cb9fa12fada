import type { ICredentialDataDecryptedObject, INode, INodeParameters } from 'n8n-workflow';

import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { startMcpServer, type TestMcpServer } from '../support/servers/mcp-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';

let database: TestDatabase;
let models: ModelServer;
let mcp: TestMcpServer;
let tenant: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  mcp = await startMcpServer({
    tools: () => [{ name: 'stock' }, { name: 'order' }],
    answer: () => ({ content: [{ type: 'text', text: '7 parts' }] }),
  });
  tenant = await addTenant(database);
});
afterAll(() => Promise.all([models.close(), mcp.close(), database.close()]));

const MORE_CREDENTIALS = {
  httpBearerAuth: { token: 'bearer-of-n8n' },
  httpHeaderAuth: { name: 'x-api-key', value: 'header-of-n8n' },
};

interface AgentOutput {
  readonly warnings: readonly { readonly code: string }[];
  readonly result: { readonly tool_calls: readonly object[] };
}

async function run(
  servers: readonly object[],
  { credentials = MORE_CREDENTIALS, tool = 'shop_stock' }: { credentials?: object; tool?: string } = {},
): Promise<AgentOutput> {
  const all: Record<string, ICredentialDataDecryptedObject> = {
    openRouterApi: { apiKey: 'sk-node', url: models.url },
    postgres: postgresCredential(database.url),
    ...(credentials as Record<string, ICredentialDataDecryptedObject>),
  };
  const node = { typeVersion: 4, position: [0, 0] as [number, number], parameters: {} };
  const parameters = {
    tenantId: tenant,
    tier: 'pro',
    message: 'hello',
    options: { mcpServers: { servers } },
  } as unknown as INodeParameters;
  const agent: INode = {
    ...node,
    id: 'agent',
    name: 'Agent',
    type: 'n8n-nodes-universal-ai-agent.universalAiAgent',
    parameters,
    credentials: Object.fromEntries(Object.keys(all).map((type) => [type, { id: type, name: type }])),
  };
  const start: INode = { ...node, id: 'start', name: 'Items', type: 'test.items' };
  const connections = { Items: { main: [[{ node: 'Agent', type: 'main' as const, index: 0 }]] } };
  models.script(toolReply([{ name: tool }]), textReply('Done'));
  models.received.length = 0;
  const ended = await runInEngine({ workflow: { nodes: [start, agent], connections }, items: [{}], credentials: all });
  const [item] = outputOf(ended, 'Agent');
  if (item === undefined) throw new Error(JSON.stringify(ended.data.resultData.error));
  return item.json as unknown as AgentOutput;
}

const shop = (more: object = {}): object => ({ name: 'shop', url: mcp.url, ...more });
const offered = (): string[] => models.received[0]?.tools?.map((tool) => tool.function.name) ?? [];

it('offers the tools of a server that stands in the workflow', async () => {
  const { warnings, result } = await run([shop()]);
  expect(warnings).toEqual([]);
  expect(offered()).toEqual(['shop_stock', 'shop_order']);
  expect(result.tool_calls).toMatchObject([{ tool: 'shop_stock', result: '7 parts' }]);
});

it.each([
  ['httpBearerAuth', { authorization: 'Bearer bearer-of-n8n' }],
  ['httpHeaderAuth', { 'x-api-key': 'header-of-n8n' }],
])('gives it the %s credential that n8n holds', async (authentication, headers) => {
  await run([shop({ authentication })]);
  expect(mcp.calls.at(-1)?.headers).toMatchObject(headers);
});

it('offers only the tools that are named', async () => {
  await run([shop({ includeTools: ' stock , other ' })]);
  expect(offered()).toEqual(['shop_stock']);
});

it('greets the server once for many executions', async () => {
  const before = mcp.handshakes.length;
  for (let count = 0; count < 3; count++) await run([shop({ includeTools: 'order' })], { tool: 'shop_order' });
  expect(mcp.handshakes.length - before).toBeLessThanOrEqual(1);
});

it.each([
  ['has no name', { name: '', url: 'http://127.0.0.1:9/mcp' }],
  ['has no URL', { name: 'shop', url: '' }],
  ['would start a program', { name: 'shop', url: '["sh","-c","id"]', transport: 'stdio' }],
])('goes on without a server that %s, and says so', async (_what, server) => {
  const { warnings } = await run([server]);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]?.code).toMatch(/^MCP_SERVER_/);
});

describe('an OAuth token that n8n keeps', () => {
  let guarded: TestServer;
  let renewals: string[];
  let accepted: string;

  beforeEach(async () => {
    renewals = [];
    accepted = 'second-token';
    guarded = await startServer((request, response) => {
      if (request.path === '/token') {
        renewals.push(request.body);
        return sendJson(response, { access_token: accepted, refresh_token: 'refresh-2', token_type: 'Bearer' });
      }
      if (request.headers.authorization !== `Bearer ${accepted}`) return sendJson(response, {}, 401);
      return answerMcp(request.body, (status, value) => sendJson(response, value, status));
    });
  });
  afterEach(() => guarded.close());

  const oauth = (): object => ({
    mcpOAuth2Api: {
      grantType: 'authorizationCode',
      clientId: 'n8n',
      clientSecret: 'secret',
      accessTokenUrl: `${guarded.url}/token`,
      authUrl: `${guarded.url}/authorize`,
      scope: '',
      authentication: 'body',
      oauthTokenData: { access_token: 'first-token', refresh_token: 'refresh-1', token_type: 'Bearer' },
    },
  });

  it('is renewed through n8n when the server refuses it, and the run goes on', async () => {
    const server = { name: 'shop', url: `${guarded.url}/mcp`, authentication: 'mcpOAuth2Api' };
    const { warnings, result } = await run([server], { credentials: oauth() });
    expect(warnings).toEqual([]);
    expect(result.tool_calls).toMatchObject([{ result: '7 parts' }]);
    expect(renewals).toHaveLength(1);
    expect(renewals[0]).toContain('refresh-1');
  });
});

/** As much of the protocol as one run needs. */
function answerMcp(body: string, send: (status: number, value: object) => void): void {
  const { id, method } = JSON.parse(body === '' ? '{}' : body) as { id?: number; method?: string };
  const results: Record<string, object> = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
    'tools/list': { tools: [{ name: 'stock', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: '7 parts' }] },
  };
  if (id === undefined) return send(202, {});
  const result = results[method ?? ''];
  return send(
    200,
    result === undefined
      ? { jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }
      : { jsonrpc: '2.0', id, result },
  );
}
