import type { McpServer } from '../../../runtime/contracts/tools/mcp';
import { createMcpClientPool, type McpClientPool } from '../../../runtime/mcp/client-pool';
import type { McpConnection, McpTarget } from '../../../runtime/mcp/connection';
import { anMcpServer } from '../../support/servers/an-mcp-server';
import { gate } from '../../support/values/agent-fixture';

const bearer = (token: string): McpServer => anMcpServer({ auth: { kind: 'bearer', token } });
const SERVER: McpTarget = { tenantId: 'a', server: bearer('1') };

class FakeServers {
  readonly connects: McpTarget[] = [];
  readonly open = new Set<McpConnection>();
  connectError: Error | undefined;
  loseLast: () => void = () => undefined;

  readonly connect = async (server: McpTarget, onClose: () => void): Promise<McpConnection> => {
    this.connects.push(server);
    await Promise.resolve();
    if (this.connectError !== undefined) throw this.connectError;
    const connection: McpConnection = {
      protocolVersion: '2025-11-25',
      listTools: () => Promise.resolve({ tools: [] }),
      callTool: () => Promise.resolve({}),
      ping: () => Promise.resolve(),
      secrets: () => [],
      close: () => {
        this.open.delete(connection);
        return Promise.resolve();
      },
    };
    this.open.add(connection);
    this.loseLast = onClose;
    return connection;
  };
}

let servers: FakeServers;
let pool: McpClientPool;
const use = (server = SERVER): Promise<McpConnection> => pool.use(server, (connecting) => connecting);

beforeEach(() => {
  jest.useFakeTimers();
  servers = new FakeServers();
  pool = createMcpClientPool({ connect: servers.connect, maxConnections: 2, idleMs: 10_000 });
});
afterEach(async () => {
  await pool.close();
  jest.useRealTimers();
});

it('does one handshake for many calls, also when they come at once', async () => {
  const [first, second] = await Promise.all([use(), use()]);
  expect(await use()).toBe(first);
  expect(second).toBe(first);
  expect(servers.connects).toHaveLength(1);
});

it.each([
  ['another tenant', { ...SERVER, tenantId: 'b' }],
  ['another server', { ...SERVER, server: { ...bearer('1'), url: 'http://other/' } }],
  ['another registration', { ...SERVER, server: { ...bearer('1'), id: 7 } }],
  ['another credential', { ...SERVER, server: bearer('2') }],
  ['no credential', { ...SERVER, server: anMcpServer() }],
])('shares nothing with %s', async (_what, other) => {
  expect(await use(other)).not.toBe(await use());
});

it('shares a connection whatever the order of the headers', async () => {
  const headers = (values: Record<string, string>): McpTarget => ({
    ...SERVER,
    server: anMcpServer({ auth: { kind: 'headers', headers: values } }),
  });
  const one = await use(headers({ a: '1', b: '2' }));
  expect(await use(headers({ b: '2', a: '1' }))).toBe(one);
});

it('connects anew after a handshake that failed', async () => {
  servers.connectError = new Error('refused');
  await expect(Promise.all([use(), use()])).rejects.toThrow('refused');
  servers.connectError = undefined;
  await use();
  expect(servers.connects).toHaveLength(2);
});

it('forgets and closes a connection that is dropped, and not the one after it', async () => {
  const old = await use();
  pool.drop(SERVER, old);
  await jest.advanceTimersByTimeAsync(0);
  expect(servers.open).not.toContain(old);
  const fresh = await use();
  pool.drop(SERVER, old);
  await jest.advanceTimersByTimeAsync(0);
  expect(await use()).toBe(fresh);
  expect(servers.open).toContain(fresh);
});

it('forgets a connection that the server closed', async () => {
  const lost = await use();
  servers.loseLast();
  expect(await use()).not.toBe(lost);
});

it('keeps a fresh connection when the close of the old one comes late', async () => {
  const old = await use();
  const loseOld = servers.loseLast;
  pool.drop(SERVER, old);
  await jest.advanceTimersByTimeAsync(0);
  const fresh = await use();
  loseOld();
  expect(await use()).toBe(fresh);
});

it('closes a connection that was idle for long enough, and no sooner', async () => {
  await use();
  await jest.advanceTimersByTimeAsync(9_000);
  await use();
  await jest.advanceTimersByTimeAsync(9_000);
  expect(servers.open.size).toBe(1);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(servers.open.size).toBe(0);
});

it('does not close a connection under a call that takes longer than that', async () => {
  const answer = gate();
  const call = pool.use(SERVER, async (connecting) => {
    await connecting;
    await answer.opened;
  });
  await jest.advanceTimersByTimeAsync(60_000);
  expect(servers.open.size).toBe(1);
  answer.open();
  await call;
});

it('closes the longest idle connection when there are too many, never one in use', async () => {
  const busy = gate();
  const call = pool.use({ ...SERVER, tenantId: 'busy' }, async (connecting) => {
    await connecting;
    await busy.opened;
  });
  const idle = await use({ ...SERVER, tenantId: 'idle' });
  const fresh = await use({ ...SERVER, tenantId: 'fresh' });
  await jest.advanceTimersByTimeAsync(0);
  expect(servers.open).not.toContain(idle);
  expect(servers.open).toContain(fresh);
  expect(servers.open.size).toBe(2);
  busy.open();
  await call;
});

it('closes everything at the end, twice if asked', async () => {
  await Promise.all([use(), use({ ...SERVER, tenantId: 'b' })]);
  await pool.close();
  await pool.close();
  expect(servers.open.size).toBe(0);
  expect(jest.getTimerCount()).toBe(0);
});
