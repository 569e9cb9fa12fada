import '../../support/setup/errors-of-node';

import { addTenant, useMcpServer } from '../../support/servers/database';
import type { McpServerOptions, TestMcpServer } from '../../support/servers/mcp-server';
import { containing } from '../../support/setup/matchers';
import { mcpWorld, named, type Registered, text } from '../../support/worlds/mcp-world';

const world = mcpWorld();
const { aServer, aRuntime, register, offer, call } = world;

const bearer = (token: string): object => ({ kind: 'bearer', token });

const query = (statement: string, values: readonly unknown[]): Promise<unknown> =>
  world.fixture().database.query(statement, values);

/** One registration, used by two tenants, each with a credential of its own. */
async function twoTenants(
  options: Partial<McpServerOptions>,
  credentials: readonly [object | undefined, object | undefined],
): Promise<{ readonly server: TestMcpServer; readonly code: string; readonly tenants: readonly [string, string] }> {
  const server = await aServer(options);
  const { database } = world.fixture();
  const { serverId, code, tenantId } = await register(server.url, { ownAuth: credentials[0] });
  const other = await addTenant(database);
  await useMcpServer(database, { tenantId: other, serverId, auth: credentials[1] });
  return { server, code, tenants: [tenantId, other] };
}

describe('two tenants of one server', () => {
  it.each<[string, [object | undefined, object | undefined]]>([
    ['the same credential', [bearer('shared-token'), bearer('shared-token')]],
    ['no credential', [undefined, undefined]],
  ])('with %s have a connection each all the same', async (_what, credentials) => {
    const { server, tenants } = await twoTenants({ tools: named('search') }, credentials);
    const runtime = aRuntime();
    for (const tenantId of tenants) await offer(runtime, tenantId);
    expect([server.openSessions(), server.lists.length]).toEqual([2, 2]);
  });

  it('are given what the server has for each of them, also at once and the second time', async () => {
    const { code, tenants } = await twoTenants(
      { tools: ({ authorization }) => named(authorization === 'Bearer alpha1' ? 'of_one' : 'of_two')() },
      [bearer('alpha1'), bearer('beta22')],
    );
    const runtime = aRuntime();
    const lists = await Promise.all(tenants.map((tenantId) => runtime.tools.list({ tenantId })));
    expect(lists.map(({ tools }) => tools.map(({ name }) => name))).toEqual([[`${code}_of_one`], [`${code}_of_two`]]);
    expect((await offer(runtime, tenants[0])).names).toEqual([`${code}_of_one`]);
    expect((await offer(runtime, tenants[1])).names).toEqual([`${code}_of_two`]);
  });
});

describe('a credential', () => {
  it('of the server is used by tenants that have none of their own', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId } = await register(server.url, { auth: bearer('token-of-all') });
    await offer(aRuntime(), tenantId);
    expect(server.lists[0]?.authorization).toBe('Bearer token-of-all');
  });

  it('of the tenant stands in for that of the server, also when it is "none"', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId } = await register(server.url, { auth: bearer('token-of-all'), ownAuth: { kind: 'none' } });
    await offer(aRuntime(), tenantId);
    expect(server.lists[0]?.authorization).toBeUndefined();
  });

  it('may be any headers', async () => {
    const server = await aServer({ tools: named('search') });
    const ownAuth = { kind: 'headers', headers: { 'X-Api-Key': 'key-of-one', 'X-Team': 'team-one' } };
    const { tenantId } = await register(server.url, { ownAuth });
    await offer(aRuntime(), tenantId);
    expect(server.lists[0]).toMatchObject({ 'x-api-key': 'key-of-one', 'x-team': 'team-one' });
  });

  it.each([
    ['of a kind that does not exist', { kind: 'magic', token: 'CANARY-token' }],
    ['without a token', { kind: 'bearer', tocken: 'CANARY-token' }],
    ['in a vault that is not there', { kind: 'bearer', token: 'vault:not-there' }],
  ])('%s makes the server unusable, and is not shown', async (_what, ownAuth) => {
    const server = await aServer({ tools: named('search') });
    const { tenantId } = await register(server.url, { ownAuth });
    const { codes, result } = await offer(aRuntime(), tenantId);
    expect(codes).toEqual(['MCP_SERVER_INVALID']);
    expect(JSON.stringify(result)).not.toContain('CANARY');
    expect(server.messages).toEqual([]);
  });
});

describe('a token that the server echoes', () => {
  const TOKEN = 'CANARY-mcp-token';
  const echo = (authorization: string | undefined): string => `You sent ${String(authorization)}`;

  async function anEcho(options: Partial<McpServerOptions>): Promise<Registered> {
    const server = await aServer({ tools: named('search'), ...options });
    return register(server.url, { ownAuth: bearer(TOKEN) });
  }

  it('in structured content is redacted, also as a key and with escapes', async () => {
    const { tenantId, code } = await anEcho({
      answer: () => ({ content: [], structuredContent: { [TOKEN]: { nested: [`a"${TOKEN}`] } } }),
    });
    const report = await call(aRuntime(), tenantId, `${code}_search`);
    expect(JSON.stringify(report)).not.toContain('CANARY');
    expect(report?.result).toEqual({ '[redacted]': { nested: ['a"[redacted]'] } });
  });

  it('in a failure is redacted', async () => {
    const { tenantId, code } = await anEcho({
      answer: ({ headers }) => ({ ...text(echo(headers.authorization)), isError: true }),
    });
    const report = await call(aRuntime(), tenantId, `${code}_search`);
    expect(report?.error).toMatchObject({ code: 'TOOL_FAILED', message: containing('You sent Bearer [redacted]') });
  });

  it('in a protocol error is redacted', async () => {
    const { tenantId, code } = await anEcho({
      answer: ({ headers }) => Promise.reject(new Error(echo(headers.authorization))),
    });
    const report = await call(aRuntime(), tenantId, `${code}_search`);
    expect(report?.error).toMatchObject({ code: 'TOOL_FAILED', message: containing('You sent Bearer [redacted]') });
  });

  it('in the error of a list is redacted in the warning', async () => {
    const { tenantId } = await anEcho({
      tools: ({ authorization }) => {
        throw new Error(echo(authorization));
      },
    });
    const { result, codes } = await offer(aRuntime(), tenantId);
    expect(codes).toEqual(['MCP_SERVER_SKIPPED']);
    expect(result.warnings[0]?.message).toContain('You sent Bearer [redacted]');
  });

  it('in the list itself reaches neither the model nor the database', async () => {
    const { tenantId } = await anEcho({
      tools: ({ authorization }) => [
        {
          name: 'search',
          description: echo(authorization),
          inputSchema: { type: 'object', description: echo(authorization) },
        },
      ],
    });
    const { tools } = await offer(aRuntime(), tenantId);
    expect(tools).toHaveLength(1);
    expect(JSON.stringify(tools)).not.toContain('CANARY');
    const stored = await query('SELECT * FROM elo_t_tenant_mcp_tools WHERE tenant_id = $1', [tenantId]);
    expect(JSON.stringify(stored)).not.toContain('CANARY');
  });
});
