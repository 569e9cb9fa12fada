import path from 'node:path';

import { createRuntime, type Runtime } from '../../../runtime';
import { addMcpServer, addTenant, useMcpServer } from '../../support/servers/database';
import { startSseServer, startWebSocketServer } from '../../support/servers/old-mcp-servers';
import { type AgentFixture, startAgentFixture } from '../../support/values/agent-fixture';
import { until } from '../../support/values/until';

const STDIO = [process.execPath, path.resolve(__dirname, '../../support/servers/stdio-mcp-server.cjs')];

let fixture: AgentFixture;
let tenantId: string;
const open: (() => Promise<void>)[] = [];

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [] }));
});
beforeEach(async () => {
  tenantId = await addTenant(fixture.database);
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});
afterAll(() => fixture.close());

function aRuntime(stdioCommands: string[][] = []): Runtime {
  const runtime = createRuntime({
    database: { url: fixture.database.url, maxConnections: 2 },
    model: { apiKey: 'sk-test-key', baseUrl: fixture.models.url },
    mcp: { stdioCommands },
  });
  open.push(runtime.close);
  return runtime;
}

let nextName = 0;

async function register(transport: string, url: string, auth = {}): Promise<string> {
  const code = `old${nextName++}`;
  const serverId = await addMcpServer(fixture.database, { code, url, transport });
  await useMcpServer(fixture.database, { tenantId, serverId, auth });
  return code;
}

const BEARER = { kind: 'bearer', token: 'old-token' };

it('speaks to old servers over server-sent events', async () => {
  const server = await startSseServer();
  open.push(server.close);
  const code = await register('sse', server.url, BEARER);
  const { tools } = aRuntime();
  expect(await tools.call({ tenantId, tool: `${code}.stock`, arguments: {} })).toMatchObject({ value: '7 parts' });
  expect(server.authorizations).toEqual(['Bearer old-token']);
});

it('speaks to servers over a WebSocket, with their credential', async () => {
  const server = await startWebSocketServer();
  open.push(server.close);
  const code = await register('websocket', server.url, BEARER);
  const { tools } = aRuntime();
  expect(await tools.call({ tenantId, tool: `${code}.stock`, arguments: {} })).toMatchObject({ value: '7 parts' });
  await tools.call({ tenantId, tool: `${code}.stock`, arguments: {} });
  expect(server.authorizations).toEqual(['Bearer old-token']);
});

it('opens another WebSocket when the first one was lost', async () => {
  const server = await startWebSocketServer();
  open.push(server.close);
  const code = await register('websocket', server.url);
  const { tools } = aRuntime();
  await tools.call({ tenantId, tool: `${code}.stock`, arguments: {} });
  server.drop();
  await until(() => server.authorizations.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await tools.call({ tenantId, tool: `${code}.stock`, arguments: {} })).toMatchObject({ value: '7 parts' });
  expect(server.authorizations).toHaveLength(2);
});

it('says that a WebSocket server is down', async () => {
  const code = await register('websocket', 'ws://127.0.0.1:9');
  const { warnings } = await aRuntime().tools.list({ tenantId });
  expect(warnings).toMatchObject([{ code: 'MCP_SERVER_SKIPPED' }]);
  expect(warnings[0]?.message).toContain(code);
});

describe('a server that is a program', () => {
  it('is started when its command line is allowed, without the secrets of our environment', async () => {
    process.env.SECRET_OF_THE_HOST = 'canary';
    const code = await register('stdio', JSON.stringify(STDIO));
    const { tools } = aRuntime([STDIO]);
    const output = await tools.call({ tenantId, tool: `${code}.stock`, arguments: {} });
    expect(output).toMatchObject({ value: '7 parts and no secret' });
    delete process.env.SECRET_OF_THE_HOST;
  });

  it.each([
    ['no command line is', []],
    ['another one is', [[process.execPath, '--version']]],
    ['only its beginning is', [STDIO.slice(0, 1)]],
  ])('is not started when %s allowed', async (_what, allowed) => {
    await register('stdio', JSON.stringify(STDIO));
    const { tools, warnings } = await aRuntime(allowed).tools.list({ tenantId });
    expect(tools).toEqual([]);
    expect(warnings[0]?.message).toContain('not in the list of those that may be started');
  });

  it('is not started through a shell', async () => {
    await register('stdio', `${STDIO.join(' ')} && touch /tmp/never`);
    const { warnings } = await aRuntime([STDIO]).tools.list({ tenantId });
    expect(warnings).toMatchObject([{ code: 'MCP_SERVER_SKIPPED' }]);
  });
});
