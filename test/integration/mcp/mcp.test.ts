import '../../support/setup/errors-of-node';

import type { Runtime, ToolCallReport } from '../../../runtime';
import { addTenant, addTool, enableTool, giveTool, type TestTool } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { aTask } from '../../support/values/agent-fixture';
import { until } from '../../support/values/until';
import { mcpWorld } from '../../support/worlds/mcp-world';

// Rows of the catalogue that name an MCP server: their calls go the way of those to registered ones (mcp-faults).
const world = mcpWorld();
const { aServer, aRuntime, run } = world;
let nextCode = 0;

interface Caller {
  readonly code: string;
  readonly tenantId: string;
  /** One run in which the model calls the tool once for each of these arguments, all in one step. */
  readonly call: (...inputs: readonly object[]) => Promise<readonly ToolCallReport[]>;
}

async function aCaller(runtime: Runtime, url: string, tool: Partial<TestTool> = {}): Promise<Caller> {
  const { database } = world.fixture();
  const code = `mcp_tool_${nextCode++}`;
  const tenantId = await addTenant(database);
  await giveTool(database, tenantId, { code, endpoint: url, transport: 'mcp', ...tool });
  const call: Caller['call'] = async (...inputs) => {
    const calls = inputs.map((input) => ({ name: code, arguments: input }));
    return (await run(runtime, tenantId, { calls })).result.tool_calls;
  };
  return { code, tenantId, call };
}

it('calls the tool by its name on the server, with the credential, and the trusted facts in _meta', async () => {
  const server = await aServer();
  const runtime = aRuntime();
  const caller = await aCaller(runtime, server.url, { mcpTool: 'delivery.estimate', authHeader: 'Bearer mcp-secret' });
  const { models } = world.fixture();
  models.script(toolReply([{ name: caller.code, arguments: { city: 'Oslo', tenant_id: 'other' } }]), textReply('Done'));
  const task = aTask(caller.tenantId);
  await runtime.run({ ...task, meta: { ...task.meta, client_id: 'c1' } });
  const [call] = server.calls;
  expect(call).toMatchObject({ name: 'delivery.estimate', arguments: { city: 'Oslo' } });
  expect(call?.meta['universal-ai-agent/context']).toEqual({
    tenant_id: caller.tenantId,
    client_id: 'c1',
    task_id: task.task_id,
    trace_id: 'trace-1',
  });
  expect(call?.headers.authorization).toBe('Bearer mcp-secret');
  expect(server.handshakes[0]?.authorization).toBe('Bearer mcp-secret');
});

it('a server that was restarted is shaken hands with once, however many calls find out at once', async () => {
  const server = await aServer();
  const { call } = await aCaller(aRuntime(), server.url);
  await call({});
  await server.restart();
  const calls = await call({ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 });
  expect(calls.map(({ result }) => result)).toEqual(Array(4).fill('3 days'));
  expect(server.handshakes).toHaveLength(2);
});

it('a server that is down is found again when it is back', async () => {
  const server = await aServer();
  const { call } = await aCaller(aRuntime(), server.url);
  await call({});
  await server.stop();
  expect(await call({})).toMatchObject([{ error: { code: 'TOOL_UNREACHABLE' } }]);
  await server.restart();
  expect(await call({})).toMatchObject([{ result: '3 days' }]);
});

it('a server that hangs in its handshake is TOOL_TIMEOUT', async () => {
  const server = await aServer({ ignores: ({ rpcMethod }) => rpcMethod === 'initialize' });
  const { call } = await aCaller(aRuntime(), server.url, { timeoutMs: 200 });
  expect(await call({})).toMatchObject([{ error: { code: 'TOOL_TIMEOUT' } }]);
});

it.each<[string, readonly (string | undefined)[]]>([
  ['tokens', ['Bearer tenant-one', 'Bearer tenant-two']],
  ['no tokens', [undefined, undefined]],
])('two tenants with %s share no connection, nor their credentials', async (_what, tokens) => {
  const server = await aServer();
  const runtime = aRuntime();
  const { database } = world.fixture();
  const name = `mcp_shared_${nextCode++}`;
  const toolId = await addTool(database, { code: name, endpoint: server.url, transport: 'mcp' });
  for (const token of tokens) {
    const tenantId = await addTenant(database);
    await enableTool(database, { tenantId, toolId, customConfig: token === undefined ? {} : { auth_header: token } });
    await run(runtime, tenantId, { calls: [{ name }] });
  }
  expect(server.handshakes.map(({ authorization }) => authorization)).toEqual(tokens);
  expect(server.calls.map(({ headers }) => headers.authorization)).toEqual(tokens);
  expect(new Set(server.calls.map(({ headers }) => headers['mcp-session-id'])).size).toBe(2);
  expect(server.openSessions()).toBe(2);
});

describe('a runtime that is closed', () => {
  it('leaves nothing open on the server', async () => {
    const server = await aServer();
    const runtime = aRuntime();
    await (await aCaller(runtime, server.url)).call({});
    await until(() => server.openStreams() === 1);
    expect(server.openSessions()).toBe(1);
    await runtime.close();
    await runtime.close();
    await until(() => server.openSessions() === 0 && server.openStreams() === 0);
  });

  it('does not wait for a server that hangs at the end of its session', async () => {
    const server = await aServer({ ignores: (request) => request.method === 'DELETE' });
    const runtime = aRuntime();
    await (await aCaller(runtime, server.url)).call({});
    await runtime.close();
    await until(() => server.openStreams() === 0);
  });
});
