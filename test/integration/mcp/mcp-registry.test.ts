import '../../support/setup/errors-of-node';

import { addTenant } from '../../support/servers/database';
import { until, untilTrue } from '../../support/values/until';
import { mcpWorld, named } from '../../support/worlds/mcp-world';

const world = mcpWorld();
const { aServer, aRuntime, register, offer, call } = world;

const query = (text: string, values: readonly unknown[]): Promise<unknown> =>
  world.fixture().database.query(text, values);

describe('a registered server', () => {
  it('offers its tools at the next run of its tenant, as they stand in its list', async () => {
    const inputSchema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };
    const server = await aServer({ tools: () => [{ name: 'search', description: 'Searches', inputSchema }] });
    const { tenantId, code } = await register(server.url);
    const { tools, codes } = await offer(aRuntime(), tenantId);
    expect(tools).toEqual([{ name: `${code}_search`, description: 'Searches', parameters: inputSchema }]);
    expect(codes).toEqual([]);
  });

  it('gives other tenants nothing', async () => {
    const server = await aServer({ tools: named('search') });
    await register(server.url);
    const other = await addTenant(world.fixture().database);
    expect((await offer(aRuntime(), other)).names).toEqual([]);
    expect(server.messages).toEqual([]);
  });

  it('with many pages offers the tools of all of them, in order', async () => {
    const names = Array.from({ length: 25 }, (_, index) => `tool${index}`);
    const server = await aServer({ tools: named(...names), pageSize: 10 });
    const { tenantId, code } = await register(server.url);
    expect((await offer(aRuntime(), tenantId)).names).toEqual(names.map((name) => `${code}_${name}`));
    expect(server.lists).toHaveLength(3);
  });

  it('stands beside the others in the order of sort_order', async () => {
    const [one, two] = [await aServer({ tools: named('a') }), await aServer({ tools: named('b') })];
    const first = await register(one.url, { sortOrder: 2 });
    const second = await register(two.url, { sortOrder: 1, tenantId: first.tenantId });
    const { names } = await offer(aRuntime(), first.tenantId);
    expect(names).toEqual([`${second.code}_b`, `${first.code}_a`]);
  });
});

describe('connections that are reset', () => {
  it('are made anew by every process, with the next run', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId, code } = await register(server.url);
    const [admin, worker] = [aRuntime(), aRuntime()];
    await call(worker, tenantId, `${code}_search`);
    await call(worker, tenantId, `${code}_search`);
    expect([server.handshakes.length, server.lists.length]).toEqual([1, 1]);
    expect(await admin.admin.mcpServer.disconnect({ tenantId, server: code })).toEqual({ disconnected: [code] });
    await call(worker, tenantId, `${code}_search`);
    expect([server.handshakes.length, server.lists.length]).toEqual([2, 2]);
  });

  it('are those of a tenant that is not active too', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId, code } = await register(server.url);
    const { admin } = aRuntime();
    await admin.tenant.deactivate({ tenantId });
    expect(await admin.mcpServer.disconnect({ tenantId })).toEqual({ disconnected: [code] });
    await expect(admin.mcpServer.disconnect({ tenantId, server: 'other' })).rejects.toThrow('other');
  });
});

describe('a list', () => {
  it('is asked for once, with one handshake, run after run', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId, code } = await register(server.url);
    const runtime = aRuntime();
    const first = await offer(runtime, tenantId);
    const second = await offer(runtime, tenantId);
    expect(first.names).toEqual([`${code}_search`]);
    expect(second.tools).toEqual(first.tools);
    expect([server.handshakes.length, server.lists.length]).toEqual([1, 1]);
  });

  it('that one process asked for is known to the others', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId, code } = await register(server.url);
    await offer(aRuntime(), tenantId);
    expect((await offer(aRuntime(), tenantId)).names).toEqual([`${code}_search`]);
    expect([server.handshakes.length, server.lists.length]).toEqual([1, 1]);
  });

  it('is asked for again once its time is over, by one run and not by the next', async () => {
    const tools = ['search'];
    const server = await aServer({ tools: () => named(...tools)() });
    const { tenantId, code } = await register(server.url);
    const runtime = aRuntime();
    await offer(runtime, tenantId);
    tools.push('fetch');
    expect((await offer(runtime, tenantId)).names).toEqual([`${code}_search`]);
    await query('UPDATE elo_t_tenant_mcp_servers SET list_expires_at = now() WHERE tenant_id = $1', [tenantId]);
    for (let count = 0; count < 2; count++) {
      expect((await offer(runtime, tenantId)).names).toEqual([`${code}_search`, `${code}_fetch`]);
    }
    expect([server.handshakes.length, server.lists.length]).toEqual([1, 2]);
  });

  it('holds as long as settings.list_ttl_seconds says', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId } = await register(server.url, { settings: { list_ttl_seconds: 0 } });
    const runtime = aRuntime();
    for (let count = 0; count < 3; count++) await offer(runtime, tenantId);
    expect([server.handshakes.length, server.lists.length]).toEqual([1, 3]);
  });

  it('that the server says has changed is asked for at the next run', async () => {
    const tools = ['search', 'fetch'];
    const server = await aServer({ tools: () => named(...tools)() });
    const { tenantId, code } = await register(server.url);
    const runtime = aRuntime();
    await offer(runtime, tenantId);
    await until(() => server.openStreams() === 1);
    tools.splice(0, 2, 'browse');
    await server.announceChange();
    // The announcement has a stream of its own, and so may arrive after the next runs began.
    await untilTrue(async () => (await offer(runtime, tenantId)).names.join() === `${code}_browse`);
    await offer(runtime, tenantId);
    expect([server.handshakes.length, server.lists.length]).toEqual([1, 2]);
  });

  it('is asked for once by many runs at once', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId } = await register(server.url);
    const runtime = aRuntime();
    await Promise.all([1, 2, 3, 4].map(() => runtime.tools.list({ tenantId })));
    expect([server.handshakes.length, server.lists.length]).toEqual([1, 1]);
  });

  it('that was empty is remembered too', async () => {
    const server = await aServer({ tools: () => [] });
    const { tenantId } = await register(server.url);
    const runtime = aRuntime();
    await offer(runtime, tenantId);
    expect((await offer(runtime, tenantId)).codes).toEqual([]);
    expect(server.lists).toHaveLength(1);
  });
});

describe('what is not offered', () => {
  it.each([
    ['a link that is disabled', { isEnabled: false }],
    ['a server that is not active', { isActive: false }],
    ['a server for other tiers', { allowedTiers: ['enterprise'] }],
    ['a server with an empty list of tiers', { allowedTiers: [] }],
  ])('%s is not even asked', async (_what, registration) => {
    const server = await aServer({ tools: named('search') });
    const { tenantId } = await register(server.url, registration);
    expect(await offer(aRuntime(), tenantId)).toMatchObject({ names: [], codes: [] });
    expect(server.messages).toEqual([]);
  });

  it.each([
    ['tools that are excluded', { excludeTools: ['fetch'] }, ['search', 'browse']],
    ['tools that are not included', { includeTools: ['fetch'] }, ['fetch']],
    ['tools both included and excluded', { includeTools: ['fetch', 'search'], excludeTools: ['fetch'] }, ['search']],
    ['any tool, where the list of included ones is empty', { includeTools: [] }, []],
  ])('%s', async (_what, registration, left) => {
    const server = await aServer({ tools: named('search', 'fetch', 'browse') });
    const { tenantId, code } = await register(server.url, registration);
    const { names, codes } = await offer(aRuntime(), tenantId);
    expect(names).toEqual(left.map((name) => `${code}_${name}`));
    expect(codes).toEqual([]);
  });

  it('a tool that was excluded since the list was asked for', async () => {
    const server = await aServer({ tools: named('search', 'fetch') });
    const { tenantId, code, serverId } = await register(server.url);
    const runtime = aRuntime();
    await offer(runtime, tenantId);
    await query("UPDATE elo_agent_mcp_servers SET exclude_tools = '{fetch}' WHERE id = $1", [serverId]);
    expect((await offer(runtime, tenantId)).names).toEqual([`${code}_search`]);
    expect(server.lists).toHaveLength(1);
  });

  it('a tool whose exclusion was lifted comes back with the next list', async () => {
    const server = await aServer({ tools: named('search', 'fetch') });
    const { tenantId, code, serverId } = await register(server.url, { excludeTools: ['fetch'] });
    const runtime = aRuntime();
    await offer(runtime, tenantId);
    await query("UPDATE elo_agent_mcp_servers SET exclude_tools = '{}' WHERE id = $1", [serverId]);
    await runtime.tools.refresh({ tenantId });
    expect((await offer(runtime, tenantId)).names).toEqual([`${code}_search`, `${code}_fetch`]);
  });
});

describe('an allow-list', () => {
  it.each([
    ['server.tool', (code: string) => `${code}.web.search`],
    ['the name that the model sees', (code: string) => `${code}_web_search`],
  ])('may name a tool as %s', async (_what, write) => {
    const server = await aServer({ tools: named('web.search', 'fetch') });
    const { tenantId, code } = await register(server.url);
    const { names, codes } = await offer(aRuntime(), tenantId, { tools: [write(code)] });
    expect(names).toEqual([`${code}_web_search`]);
    expect(codes).toEqual([]);
  });

  it('that names no tool of a server makes no connection to it', async () => {
    const [one, two] = [await aServer({ tools: named('search') }), await aServer({ tools: named('search') })];
    const first = await register(one.url);
    await register(two.url, { tenantId: first.tenantId });
    const { names } = await offer(aRuntime(), first.tenantId, { tools: [`${first.code}.search`] });
    expect(names).toEqual([`${first.code}_search`]);
    expect(two.messages).toEqual([]);
  });

  it.each([[[]], [['echo']]])('of %j asks no server at all', async (tools) => {
    const server = await aServer({ tools: named('search') });
    const { tenantId } = await register(server.url);
    expect((await offer(aRuntime(), tenantId, { tools })).names).toEqual([]);
    expect(server.messages).toEqual([]);
  });

  it('warns of a tool that its server does not have', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId, code } = await register(server.url);
    const { names, codes } = await offer(aRuntime(), tenantId, { tools: [`${code}.nothing`] });
    expect({ names, codes }).toEqual({ names: [], codes: ['TOOL_NOT_LOADED'] });
  });
});
