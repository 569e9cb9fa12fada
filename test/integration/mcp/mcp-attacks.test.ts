import '../../support/setup/errors-of-node';

import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

import { textReply } from '../../support/servers/model-server';
import { type RawMcpServer, sending, startRawMcpServer } from '../../support/servers/raw-mcp-server';
import { aTask } from '../../support/values/agent-fixture';
import { startCli } from '../../support/worlds/cli';
import { mcpWorld, named, text } from '../../support/worlds/mcp-world';

const world = mcpWorld();
const { aServer, aRuntime, register, offer, call } = world;

const search = (more: object = {}): object => ({
  tools: [{ name: 'search', inputSchema: { type: 'object' }, ...more }],
});

async function aRawServer(answers: Parameters<typeof startRawMcpServer>[0]): Promise<RawMcpServer> {
  const server = await startRawMcpServer(answers);
  world.closeLater(server.close);
  return server;
}

const callsTo = (server: RawMcpServer): number => server.methods().filter((method) => method === 'tools/call').length;

describe('a call whose stream of events breaks off', () => {
  const breakOff = sending((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': here it comes\n\n');
    setTimeout(() => response.destroy(), 50);
  });

  it('is TOOL_CONNECTION_LOST, and is not made again', async () => {
    const server = await aRawServer({ 'tools/list': () => search(), 'tools/call': breakOff });
    const { tenantId, code } = await register(server.url);
    expect(await call(aRuntime(), tenantId, `${code}_search`)).toMatchObject({
      error: { code: 'TOOL_CONNECTION_LOST' },
    });
    expect(callsTo(server)).toBe(1);
  });

  it('is made again once when the tool only reads', async () => {
    const tools = search({ annotations: { readOnlyHint: true } });
    const server = await aRawServer({ 'tools/list': () => tools, 'tools/call': breakOff });
    const { tenantId, code } = await register(server.url);
    await call(aRuntime(), tenantId, `${code}_search`);
    expect(callsTo(server)).toBe(2);
  });
});

it.each([
  [404, 'not found'],
  [400, 'no checkout session for this customer'],
])('a call that a server without sessions answers with HTTP %i is not made again', async (status, body) => {
  const refuse = sending((response) => response.writeHead(status).end(body));
  const server = await aRawServer({ 'tools/list': () => search(), 'tools/call': refuse });
  const { tenantId, code } = await register(server.url);
  expect(await call(aRuntime(), tenantId, `${code}_search`)).toMatchObject({ error: { code: 'TOOL_HTTP_ERROR' } });
  expect(callsTo(server)).toBe(1);
});

it('a token that an answer hides behind escapes does not reach the model', async () => {
  const hidden = 'secret-token-99'.replace(/./g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
  const server = await aServer({ tools: named('search'), answer: () => text(`{"told": "${hidden}"}`) });
  const { tenantId, code } = await register(server.url, { ownAuth: { kind: 'bearer', token: 'secret-token-99' } });
  expect(await call(aRuntime(), tenantId, `${code}_search`)).toMatchObject({ result: { told: '[redacted]' } });
});

it.each([
  ['NUL', '\u0000'],
  ['half a character', '\ud800'],
])('a schema with %s costs a server that tool only', async (_what, char) => {
  const bad = { name: 'bad', inputSchema: { type: 'object', properties: { a: { const: `x${char}y` } } } };
  const good = { name: 'good', inputSchema: { type: 'object', properties: { a: { const: '\\u0000' } } } };
  const server = await aRawServer({ 'tools/list': () => ({ tools: [bad, good] }) });
  const { tenantId, code } = await register(server.url);
  expect(await offer(aRuntime(), tenantId)).toMatchObject({ names: [`${code}_good`], codes: ['MCP_TOOLS_SKIPPED'] });
});

it('two servers of one name keep all their tools', async () => {
  const [first, second] = [
    await aServer({ tools: named('search') }),
    await aServer({ tools: named('search', 'order') }),
  ];
  const { tenantId, code } = await register(first.url);
  const { models } = world.fixture();
  models.script(textReply('Done'));
  models.received.length = 0;
  await aRuntime().run(aTask(tenantId), { mcpServers: [{ name: code, url: second.url }] });
  const names = models.received[0]?.tools?.map((tool) => tool.function.name) ?? [];
  expect(new Set(names).size).toBe(3);
  expect(names).toContain(`${code}_order`);
});

it('a list that holds for ever, as its server says, holds for a day', async () => {
  const server = await aRawServer({ 'tools/list': () => ({ ...search(), ttlMs: 9e15 }) });
  const { tenantId } = await register(server.url);
  await offer(aRuntime(), tenantId);
  const [row] = await world.fixture().database.query<{ days: number }>(
    `SELECT extract(epoch FROM list_expires_at - now())::float8 / 86400 AS days
       FROM elo_t_tenant_mcp_servers WHERE tenant_id = $1`,
    [tenantId],
  );
  expect(row?.days).toBeLessThanOrEqual(1);
});

it.each(['http', 'sse', 'websocket'])(
  'a server that accepts and says nothing over %s lets the process end',
  async (transport) => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => sockets.add(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const scheme = transport === 'websocket' ? 'ws' : 'http';
    const settings = { discovery_timeout_ms: 500 };
    const { tenantId } = await register(`${scheme}://127.0.0.1:${port}/mcp`, { transport, settings });
    const env = { DATABASE_URL: world.fixture().database.url };
    const { exitCode, stdout } = await startCli(['mcp-server', 'health', '--tenant', tenantId], { env }).ended;
    expect(exitCode).toBe(1);
    expect(stdout).toContain('did not answer within 500 ms');
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  },
);
