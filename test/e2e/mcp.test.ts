import {
  addMcpServer,
  addTenant,
  createMigratedDatabase,
  type TestDatabase,
  useMcpServer,
} from '../support/servers/database';
import { startServer, type TestServer } from '../support/servers/http-server';
import { startMcpServer, type TestMcpServer } from '../support/servers/mcp-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import {
  addModelCredential,
  addPostgresCredential,
  agentWorkflow,
  connect,
  type Credential,
  FIELDS,
  type N8n,
} from './support/host';
import { type RealMcpServer, startEverything, startPlaywright } from './support/mcp-servers';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let page: TestServer;
let everything: RealMcpServer;
let playwright: RealMcpServer;
let own: TestMcpServer;
let tenant: string;
let credentials: Record<'openRouterApi' | 'postgres', Credential> & Record<string, Credential>;

beforeAll(async () => {
  n8n = await connect();
  database = await createMigratedDatabase();
  models = await startModelServer();
  page = await startServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<title>Parts</title><h1>Chain for 12 euro</h1>');
  });
  [everything, playwright] = await Promise.all([startEverything(), startPlaywright()]);
  own = await startMcpServer({
    tools: () => [{ name: 'stock', description: 'Counts parts' }],
    answer: ({ headers }) => ({
      content: [{ type: 'text', text: headers.authorization === 'Bearer n8n-token' ? 'known' : 'unknown' }],
    }),
  });
  credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-mcp', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
  };
  tenant = await addTenant(database);
  for (const [code, server] of Object.entries({ everything, playwright })) {
    const serverId = await addMcpServer(database, {
      code,
      url: server.url,
      settings: { discovery_timeout_ms: 60_000 },
    });
    await useMcpServer(database, { tenantId: tenant, serverId });
  }
});
afterAll(async () => {
  await Promise.all([
    everything.close(),
    playwright.close(),
    own.close(),
    models.close(),
    page.close(),
    database.close(),
  ]);
});

interface OutputItem {
  readonly output: string;
  readonly warnings: readonly object[];
  readonly result: {
    readonly tool_calls: readonly { readonly tool: string; readonly result?: unknown; readonly error?: unknown }[];
  };
}

async function activate(path: string, parameters: object = FIELDS): Promise<void> {
  const { id } = await n8n.createWorkflow(agentWorkflow({ path, parameters, credentials }));
  await n8n.activate(id);
}

async function call(path: string): Promise<OutputItem> {
  const reply = await n8n.callWebhook(path, { items: [{ tenant, tier: 'pro', message: 'hello' }] });
  if (!Array.isArray(reply.json)) throw new Error(`HTTP ${reply.status}: ${reply.text.slice(0, 1000)}`);
  return (reply.json as OutputItem[])[0] as OutputItem;
}

/** The model adds two numbers on one server, and looks at a page with the other. */
function scriptBothServers(): void {
  models.script(
    toolReply([
      { name: 'everything_get-sum', arguments: { a: 2, b: 40 } },
      { name: 'playwright_browser_navigate', arguments: { url: page.url } },
    ]),
    toolReply([{ name: 'playwright_browser_snapshot', arguments: {} }]),
    textReply('The sum is 42, and the chain costs 12 euro.'),
  );
}

it('uses two real servers in one execution, and greets none of them again in the next', async () => {
  await activate('real-servers');
  scriptBothServers();
  const first = await call('real-servers');
  expect(first.warnings).toEqual([]);
  const [sum, navigated, seen] = first.result.tool_calls;
  expect(sum).toMatchObject({ tool: 'everything_get-sum' });
  expect(JSON.stringify(sum?.result)).toContain('42');
  expect(navigated?.error).toBeUndefined();
  expect(JSON.stringify(seen?.result)).toContain('Chain for 12 euro');

  const before = { everything: everything.methods.length, playwright: playwright.methods.length };
  scriptBothServers();
  const second = await call('real-servers');
  expect(JSON.stringify(second.result.tool_calls[2]?.result)).toContain('Chain for 12 euro');
  // A server may also ask, and be answered, as often as it likes.
  const since = (server: RealMcpServer, count: number): string[] =>
    server.methods.slice(count).filter((method) => method === 'initialize' || method.startsWith('tools/'));
  expect(since(everything, before.everything)).toEqual(['tools/call']);
  expect(since(playwright, before.playwright)).toEqual(['tools/call', 'tools/call']);
});

it('offers the tools of a server that stands in the workflow, and gives it the credential that n8n holds', async () => {
  const bearer = { name: 'Own server', type: 'httpBearerAuth', data: { token: 'n8n-token' } };
  credentials.httpBearerAuth = { id: await n8n.createCredential(bearer), name: bearer.name };
  const servers = [{ name: 'own', url: own.url, transport: 'http', authentication: 'httpBearerAuth' }];
  await activate('own-server', { ...FIELDS, options: { mcpServers: { servers }, tools: ['own.stock'] } });
  models.script(toolReply([{ name: 'own_stock', arguments: {} }]), textReply('Done'));
  const result = await call('own-server');
  expect(result.result.tool_calls).toMatchObject([{ tool: 'own_stock', result: 'known' }]);
});

it('goes on without a server that is down, and finds it again without a restart of n8n', async () => {
  await activate('comes-back', {
    ...FIELDS,
    options: { mcpServers: { servers: [{ name: 'shaky', url: own.url }] }, tools: ['shaky.stock'] },
  });
  const runOnce = async (): Promise<OutputItem> => {
    models.script(toolReply([{ name: 'shaky_stock', arguments: {} }]), textReply('Done'));
    return call('comes-back');
  };
  expect((await runOnce()).result.tool_calls[0]?.result).toBe('unknown');
  await own.stop();
  expect((await runOnce()).result.tool_calls[0]?.error).toMatchObject({ code: 'TOOL_UNREACHABLE' });
  await own.restart();
  expect((await runOnce()).result.tool_calls[0]?.result).toBe('unknown');
});
