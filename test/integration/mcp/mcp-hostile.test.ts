import '../../support/setup/errors-of-node';

import { sendJson, startServer } from '../../support/servers/http-server';
import type { ServedTool } from '../../support/servers/mcp-server';
import { startRawMcpServer } from '../../support/servers/raw-mcp-server';
import { eventually } from '../../support/values/agent-fixture';
import { until } from '../../support/values/until';
import { mcpWorld, named, type Offer } from '../../support/worlds/mcp-world';

const world = mcpWorld();
const { aServer, aRuntime, register, offer, run } = world;

const HARMLESS: ServedTool = { name: 'search' };

/** What a run is offered by a server with these tools and a harmless one. */
async function offerOf(...tools: readonly ServedTool[]): Promise<Offer & { readonly bare: readonly string[] }> {
  const server = await aServer({ tools: () => [...tools, HARMLESS] });
  const { tenantId, code } = await register(server.url);
  const offered = await offer(aRuntime(), tenantId);
  return { ...offered, bare: offered.names.map((name) => name.slice(code.length + 1)) };
}

it('of five thousand tools the first 256 are offered, and one warning says so', async () => {
  const names = Array.from({ length: 5000 }, (_, index) => `tool${index}`);
  const server = await aServer({ tools: named(...names) });
  const { tenantId, code } = await register(server.url);
  const { names: offered, codes, result } = await offer(aRuntime(), tenantId);
  expect(offered).toEqual(names.slice(0, 256).map((name) => `${code}_${name}`));
  expect(codes).toEqual(['MCP_TOOLS_SKIPPED']);
  expect(result.warnings[0]?.message.length).toBeLessThan(500);
});

it('with include_tools, a tool is found behind five thousand others', async () => {
  const names = Array.from({ length: 5001 }, (_, index) => `tool${index}`);
  const server = await aServer({ tools: named(...names) });
  const { tenantId, code } = await register(server.url, { includeTools: ['tool5000'] });
  expect(await offer(aRuntime(), tenantId)).toMatchObject({ names: [`${code}_tool5000`], codes: [] });
});

it.each<[string, ServedTool]>([
  ['a description of a megabyte', { name: 'long', description: 'x'.repeat(1_000_000) }],
  ['a schema of a megabyte', { name: 'wide', inputSchema: { type: 'object', title: 'x'.repeat(1_000_000) } }],
  ['a schema that is very deep', { name: 'deep', inputSchema: nested(500) }],
  ['a schema that is none', { name: 'wrong', inputSchema: { type: 'object', properties: { a: { type: 'thing' } } } }],
  ['a $ref into nothing', { name: 'lost', inputSchema: withA({ $ref: '#/$defs/nothing' }) }],
])('%s takes one tool away and leaves the others', async (_what, tool) => {
  const { bare, codes } = await offerOf(tool);
  expect({ bare, codes }).toEqual({ bare: ['search'], codes: ['MCP_TOOLS_SKIPPED'] });
});

it('a schema too deep to be read at all ends in one warning', async () => {
  const schema = `${'{"type":"object","properties":{"a":'.repeat(100_000)}{}${'}}'.repeat(100_000)}`;
  const server = await startRawMcpServer({
    'tools/list': ({ id, response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"deep","inputSchema":${schema}}]}}`);
      return undefined;
    },
  });
  world.closeLater(server.close);
  const { tenantId } = await register(server.url);
  expect(await offer(aRuntime(), tenantId)).toMatchObject({ names: [], codes: ['MCP_SERVER_SKIPPED'] });
});

it('control characters of a description are blanked', async () => {
  const { tools } = await offerOf({ name: 'sly', description: 'Reads\u0000\u001B[8mhidden\u0007 lines\n\tof text' });
  expect(tools[0]?.description).toBe('Reads  [8mhidden  lines\n\tof text');
});

it('a schema that refers to itself is offered, and arguments are checked by it', async () => {
  const tree = {
    type: 'object',
    properties: { name: { type: 'string' }, child: { $ref: '#' } },
    required: ['name'],
  };
  const server = await aServer({ tools: () => [{ name: 'tree', inputSchema: tree }] });
  const { tenantId, code } = await register(server.url);
  const name = `${code}_tree`;
  const calls = [
    { name, arguments: { name: 'a', child: { name: 'b' } } },
    { name, arguments: { name: 'a', child: {} } },
  ];
  const { result } = await run(aRuntime(), tenantId, { calls });
  expect(result.tool_calls).toMatchObject([{ result: '3 days' }, { error: { code: 'TOOL_INVALID_ARGS' } }]);
  expect(server.calls).toHaveLength(1);
});

it('a schema that refers to nothing but itself harms nobody', async () => {
  const loop = {
    $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
    ...withA({ $ref: '#/$defs/a' }),
  };
  const server = await aServer({ tools: () => [{ name: 'loop', inputSchema: loop }, HARMLESS] });
  const { tenantId, code } = await register(server.url);
  const calls = [
    { name: `${code}_loop`, arguments: { a: 1 } },
    { name: `${code}_search`, arguments: {} },
  ];
  const outcome = await run(aRuntime(), tenantId, { calls });
  expect(outcome.status).toBe('completed');
  expect(outcome.result.tool_calls[1]).toMatchObject({ result: '3 days' });
});

it('a remote $ref is not fetched', async () => {
  const target = await startServer((_request, response) => sendJson(response, { type: 'string' }));
  world.closeLater(target.close);
  const { bare, codes } = await offerOf({ name: 'remote', inputSchema: withA({ $ref: `${target.url}/schema.json` }) });
  expect({ bare, codes }).toEqual({ bare: ['search'], codes: ['MCP_TOOLS_SKIPPED'] });
  expect(target.requests).toEqual([]);
});

it('a schema whose check would never end does not stop the process', async () => {
  const server = await aServer({
    tools: () => [{ name: 'bomb', inputSchema: fanOut(30) }, HARMLESS],
  });
  const { tenantId, code } = await register(server.url);
  const runtime = aRuntime();
  const { codes } = await offer(runtime, tenantId);
  expect(codes).toEqual(['MCP_TOOLS_SKIPPED']);
  const { result } = await run(runtime, tenantId, { calls: [{ name: `${code}_bomb`, arguments: { a: 1 } }] });
  expect(result.tool_calls[0]?.error).toMatchObject({ code: 'TOOL_NOT_FOUND' });
});

it('a server that announces changes without end is asked once a run', async () => {
  const server = await aServer({ tools: named('search') });
  const { tenantId } = await register(server.url);
  const runtime = aRuntime();
  await offer(runtime, tenantId);
  await until(() => server.openStreams() === 1);
  for (let count = 0; count < 100; count++) await server.announceChange();
  for (let count = 0; count < 3; count++) await offer(runtime, tenantId);
  expect(server.lists.length).toBeLessThanOrEqual(4);
});

it('a server that announces changes all the time is heard all the same', async () => {
  const tools = ['search'];
  const server = await aServer({ tools: () => named(...tools)() });
  const { tenantId } = await register(server.url);
  const runtime = aRuntime();
  await offer(runtime, tenantId);
  await until(() => server.openStreams() === 1);
  tools.push('fetch');
  const names = await eventually(async () => {
    await server.announceChange();
    const offered = await offer(runtime, tenantId);
    return offered.names.length > 1 ? offered.names : undefined;
  });
  expect(names).toHaveLength(2);
});

function withA(schema: object): { readonly type: 'object'; readonly properties: object } {
  return { type: 'object', properties: { a: schema } };
}

function nested(depth: number): object {
  let schema: object = { type: 'object' };
  for (let level = 0; level < depth; level++) schema = { type: 'object', properties: { a: schema } };
  return schema;
}

/** A few hundred bytes that ask for 2^depth checks of one value. */
function fanOut(depth: number): object {
  const defs: Record<string, object> = { [`d${depth}`]: { type: 'number' } };
  for (let level = 0; level < depth; level++) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    defs[`d${level}`] = { allOf: [next, next] };
  }
  return { ...withA({ $ref: '#/$defs/d0' }), $defs: defs };
}

/** Within every bound that a single schema has by its length. */
function manyPatterns(tool: number): ServedTool {
  const properties = Object.fromEntries(
    Array.from({ length: 1100 }, (_, index) => [`p${index}`, { type: 'string', pattern: `^a${index}b${tool}$` }]),
  );
  return { name: `patterns${tool}`, inputSchema: { type: 'object', properties } };
}

describe('tools of 1,100 patterns each', () => {
  const tools = Array.from({ length: 40 }, (_, index) => manyPatterns(index));

  it('forty of them are more than is read of one message', async () => {
    const server = await aServer({ tools: () => [HARMLESS, ...tools] });
    const { tenantId } = await register(server.url);
    expect(await offer(aRuntime(), tenantId)).toMatchObject({ names: [], codes: ['MCP_SERVER_SKIPPED'] });
  });

  it('are left out with one warning, and nothing of them is stored', async () => {
    const server = await aServer({ tools: () => [HARMLESS, ...tools.slice(0, 10)] });
    const { tenantId, code } = await register(server.url);
    expect(await offer(aRuntime(), tenantId)).toMatchObject({
      names: [`${code}_search`],
      codes: ['MCP_TOOLS_SKIPPED'],
    });
    const rows = await world
      .fixture()
      .database.query<{ name: string }>('SELECT name FROM elo_t_tenant_mcp_tools WHERE tenant_id = $1', [tenantId]);
    expect(rows).toEqual([{ name: 'search' }]);
  });

  it('are left out where an earlier version has stored them', async () => {
    const server = await aServer({ tools: () => [HARMLESS] });
    const { tenantId, serverId, code } = await register(server.url);
    await offer(aRuntime(), tenantId);
    await world.fixture().database.query(
      `INSERT INTO elo_t_tenant_mcp_tools (tenant_id, server_id, name, description, input_schema, is_repeatable, hash, approved_hash, position)
       SELECT $1, $2, name, name, schema, false, repeat('0', 64), repeat('0', 64), 1
       FROM json_to_recordset($3) AS tool (name TEXT, schema JSON)`,
      [tenantId, serverId, JSON.stringify(tools.map(({ name, inputSchema }) => ({ name, schema: inputSchema })))],
    );
    const { names, codes, result } = await offer(aRuntime(), tenantId);
    expect(names).toEqual([`${code}_search`]);
    expect(codes).toHaveLength(40);
    expect(result.warnings[0]?.message).toContain('its patterns are larger than');
  });
});
