import '../../support/setup/errors-of-node';

import type { Runtime } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer } from '../../support/servers/http-server';
import type { TestMcpServer } from '../../support/servers/mcp-server';
import { startRawMcpServer } from '../../support/servers/raw-mcp-server';
import { containing, withCode } from '../../support/setup/matchers';
import { echoTool } from '../../support/values/agent-fixture';
import { mcpWorld, named, type Registered, text } from '../../support/worlds/mcp-world';

const world = mcpWorld();
const { aServer, aRuntime, register, offer } = world;

const SEARCH = {
  name: 'web.search',
  description: 'Searches the web',
  inputSchema: {
    type: 'object',
    properties: { q: { type: 'string' }, limit: { type: ['integer', 'null'] }, any: {} },
    required: ['q'],
  },
};

interface Tenant extends Registered {
  readonly runtime: Runtime;
  readonly server: TestMcpServer;
}

/** A tenant with a tool of each kind: of the database, of an MCP server, and of this process. */
async function aTenant(): Promise<Tenant> {
  const hook = await startServer((_request, response) => sendJson(response, { from: 'hook' }));
  world.closeLater(hook.close);
  const server = await aServer({ tools: () => [SEARCH], answer: () => text('found') });
  const registered = await register(server.url);
  await giveTool(world.fixture().database, registered.tenantId, {
    code: `hook_of_${registered.code}`,
    endpoint: hook.url,
    description: 'Asks a hook',
    schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  });
  return { ...registered, server, runtime: aRuntime({ tools: [echoTool] }) };
}

describe('list', () => {
  it('names every tool with its type, server, description and parameters', async () => {
    const { runtime, tenantId, code } = await aTenant();
    expect(await runtime.tools.list({ tenantId })).toEqual({
      tools: [
        {
          name: `hook_of_${code}`,
          type: 'hook',
          description: 'Asks a hook',
          parameters: [{ name: 'city', type: 'string', required: true }],
        },
        {
          name: `${code}_web_search`,
          qualified_name: `${code}.web.search`,
          type: 'mcp',
          server: code,
          description: 'Searches the web',
          parameters: [
            { name: 'q', type: 'string', required: true },
            { name: 'limit', type: 'integer | null', required: false },
            { name: 'any', type: 'any', required: false },
          ],
        },
        { name: 'echo', type: 'code', description: 'Answers with its arguments', parameters: [] },
      ],
      warnings: [],
    });
  });

  it('with a tier leaves out what the tier may not use', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId, code } = await register(server.url, { allowedTiers: ['pro'] });
    const runtime = aRuntime();
    const names = async (tier?: string): Promise<readonly string[]> =>
      (await runtime.tools.list({ tenantId, tier })).tools.map(({ name }) => name);
    expect([await names('lite'), await names('pro'), await names()]).toEqual([
      [],
      [`${code}_search`],
      [`${code}_search`],
    ]);
  });

  it('shows tools that wait for approval as such', async () => {
    let description = 'Searches';
    const server = await aServer({ tools: () => [{ name: 'search', description }] });
    const { tenantId, code } = await register(server.url, { onToolChange: 'quarantine' });
    const runtime = aRuntime();
    await runtime.tools.list({ tenantId });
    description = 'Changed';
    await runtime.tools.refresh({ tenantId });
    const { tools, warnings } = await runtime.tools.list({ tenantId });
    expect(tools).toMatchObject([{ qualified_name: `${code}.search`, description: 'Changed', is_quarantined: true }]);
    expect(warnings).toMatchObject([{ code: 'MCP_TOOLS_QUARANTINED' }]);
  });

  it('shows tools that wait for approval in the answer of the refresh that found them', async () => {
    let description = 'Searches';
    const server = await aServer({ tools: () => [{ name: 'search', description }] });
    const { tenantId } = await register(server.url, { onToolChange: 'quarantine' });
    const runtime = aRuntime();
    await runtime.tools.list({ tenantId });
    description = 'Changed';
    expect((await runtime.tools.refresh({ tenantId })).tools).toMatchObject([{ is_quarantined: true }]);
  });

  it('of a tenant that does not exist is TENANT_NOT_FOUND', async () => {
    const tenantId = '00000000-0000-4000-8000-000000000000';
    await expect(aRuntime().tools.list({ tenantId })).rejects.toThrow(withCode('TENANT_NOT_FOUND'));
  });

  it('of a tenant that is not active is TENANT_INACTIVE', async () => {
    const tenantId = await addTenant(world.fixture().database, { isActive: false });
    await expect(aRuntime().tools.list({ tenantId })).rejects.toThrow(withCode('TENANT_INACTIVE'));
  });
});

describe('call', () => {
  it.each<[string, (code: string) => string, unknown]>([
    ['of an MCP server by server.tool', (code) => `${code}.web.search`, 'found'],
    ['of an MCP server by the name that the model sees', (code) => `${code}_web_search`, 'found'],
    ['of the database', (code) => `hook_of_${code}`, { from: 'hook' }],
    ['of this process', () => 'echo', { q: 'x', city: 'Oslo' }],
  ])('reaches a tool %s', async (_what, name, value) => {
    const { runtime, tenantId, code } = await aTenant();
    const input = { q: 'x', city: 'Oslo' };
    const output = await runtime.tools.call({ tenantId, tool: name(code), arguments: input });
    expect(output).toMatchObject({ isError: false, value });
  });

  it('gives the server the arguments and the tenant', async () => {
    const { runtime, tenantId, code, server } = await aTenant();
    await runtime.tools.call({ tenantId, tool: `${code}.web.search`, arguments: { q: 'x' } });
    expect(server.calls[0]).toMatchObject({ name: 'web.search', arguments: { q: 'x' } });
    expect(server.calls[0]?.meta['universal-ai-agent/context']).toMatchObject({ tenant_id: tenantId });
  });

  it('that the tool fails is an output that says so', async () => {
    const server = await aServer({ tools: named('search'), answer: () => ({ ...text('No luck'), isError: true }) });
    const { tenantId, code } = await register(server.url);
    const output = await aRuntime().tools.call({ tenantId, tool: `${code}.search`, arguments: {} });
    expect(output).toMatchObject({ isError: true, value: { code: 'TOOL_FAILED', message: containing('No luck') } });
  });

  it.each([
    { what: 'an unknown tool', tool: 'nothing', code: 'TOOL_NOT_FOUND' },
    { what: 'an unknown tool of a known server', tool: '$.nothing', code: 'TOOL_NOT_FOUND' },
    { what: 'arguments that lack one', tool: '$.web.search', code: 'INPUT_INVALID' },
    { what: 'arguments that are no object', tool: '$.web.search', input: 'text', code: 'INPUT_INVALID' },
  ])('with $what is refused, and nothing is called', async ({ tool, input = {}, code }) => {
    const tenant = await aTenant();
    const { runtime, tenantId } = tenant;
    const calling = runtime.tools.call({ tenantId, tool: tool.replace('$', tenant.code), arguments: input });
    await expect(calling).rejects.toThrow(withCode(code));
    expect(tenant.server.calls).toEqual([]);
  });
});

describe('refresh', () => {
  it('gives the list with what the server added, and so do later runs', async () => {
    const tools = ['search'];
    const server = await aServer({ tools: () => named(...tools)() });
    const { tenantId, code } = await register(server.url);
    const runtime = aRuntime();
    expect((await runtime.tools.list({ tenantId })).tools).toHaveLength(1);
    tools.push('fetch');
    expect((await runtime.tools.list({ tenantId })).tools).toHaveLength(1);
    expect((await runtime.tools.refresh({ tenantId })).tools.map(({ name }) => name)).toEqual([
      `${code}_search`,
      `${code}_fetch`,
    ]);
    expect((await offer(aRuntime(), tenantId)).names).toEqual([`${code}_search`, `${code}_fetch`]);
    expect([server.handshakes.length, server.lists.length]).toEqual([1, 2]);
  });

  it('of one server leaves the others alone', async () => {
    const [one, two] = [await aServer({ tools: named('a') }), await aServer({ tools: named('b') })];
    const { tenantId, code } = await register(one.url);
    await register(two.url, { tenantId });
    const runtime = aRuntime();
    await runtime.tools.list({ tenantId });
    await runtime.tools.refresh({ tenantId, server: code });
    expect([one.lists.length, two.lists.length]).toEqual([2, 1]);
  });

  it('of a server that is down says so, and a later one finds it', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId } = await register(server.url);
    const runtime = aRuntime();
    await server.stop();
    const { warnings } = await runtime.tools.refresh({ tenantId });
    expect(warnings).toMatchObject([{ code: 'MCP_SERVER_SKIPPED' }]);
    await server.restart();
    expect(await runtime.tools.refresh({ tenantId })).toMatchObject({ tools: [{ type: 'mcp' }], warnings: [] });
  });

  it('of a server whose list is known and that is down now says so, and keeps what is known', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId } = await register(server.url);
    const runtime = aRuntime();
    await runtime.tools.list({ tenantId });
    await server.stop();
    const { tools, warnings } = await runtime.tools.refresh({ tenantId });
    expect(warnings).toMatchObject([{ code: 'MCP_SERVER_SKIPPED' }]);
    expect(tools).toHaveLength(1);
  });

  it.each(['refresh', 'health'] as const)('%s of an unknown server is MCP_SERVER_UNKNOWN', async (method) => {
    const { runtime, tenantId } = await aTenant();
    await expect(runtime.tools[method]({ tenantId, server: 'nobody' })).rejects.toThrow(withCode('MCP_SERVER_UNKNOWN'));
  });
});

describe('health', () => {
  it('tells servers that are up from those that are down', async () => {
    const [up, down] = [await aServer({ tools: named('a', 'b') }), await aServer()];
    await down.stop();
    const first = await register(up.url);
    const second = await register(down.url, { tenantId: first.tenantId });
    const health = await aRuntime().tools.health({ tenantId: first.tenantId });
    expect(health).toMatchObject([
      { server: first.code, state: 'up', tools: 2, protocol: '2025-11-25', warnings: [] },
      { server: second.code, state: 'down', tools: 0, warnings: [{ code: 'MCP_SERVER_SKIPPED' }] },
    ]);
  });

  it.each([
    ['hangs', 'http'],
    ['cannot be used', 'telepathy'],
  ])('calls a server down that %s', async (_what, transport) => {
    const server = await aServer({ ignores: () => true });
    const { tenantId } = await register(server.url, { transport, settings: { discovery_timeout_ms: 300 } });
    expect(await aRuntime().tools.health({ tenantId })).toMatchObject([{ state: 'down', warnings: [{}] }]);
  });

  it('takes any answer for a sign of life, also that of a server that knows no ping', async () => {
    const server = await startRawMcpServer({
      ping: ({ id, response }) => {
        sendJson(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
        return undefined;
      },
      'tools/list': () => ({ tools: [{ name: 'search', inputSchema: { type: 'object' } }] }),
    });
    world.closeLater(server.close);
    const { tenantId } = await register(server.url);
    expect(await aRuntime().tools.health({ tenantId })).toMatchObject([{ state: 'up', tools: 1, warnings: [] }]);
  });

  it('finds a server up that was restarted since', async () => {
    const server = await aServer({ tools: named('a') });
    const { tenantId } = await register(server.url);
    const runtime = aRuntime();
    await runtime.tools.health({ tenantId });
    await server.restart();
    expect(await runtime.tools.health({ tenantId })).toMatchObject([{ state: 'up', tools: 1, warnings: [] }]);
  });

  it('sees a server that went down since its list was asked for', async () => {
    const server = await aServer({ tools: named('a') });
    const { tenantId } = await register(server.url);
    const runtime = aRuntime();
    expect(await runtime.tools.health({ tenantId })).toMatchObject([{ state: 'up' }]);
    await server.stop();
    expect(await runtime.tools.health({ tenantId })).toMatchObject([{ state: 'down' }]);
    await server.restart();
    expect(await runtime.tools.health({ tenantId })).toMatchObject([{ state: 'up' }]);
  });
});
