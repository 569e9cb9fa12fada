import '../../support/setup/errors-of-node';

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

import { type AgentResult, createRuntime, type Runtime, type ToolCallReport } from '../../../runtime';
import { addTenant, addTool, enableTool, giveTool, type TestTool } from '../../support/servers/database';
import { type McpServerOptions, startMcpServer, type TestMcpServer } from '../../support/servers/mcp-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, gate, startAgentFixture } from '../../support/values/agent-fixture';
import { until } from '../../support/values/until';

const open: (() => Promise<void>)[] = [];
let fixture: AgentFixture;
let nextCode = 0;

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [] }));
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});
afterAll(() => fixture.close());

async function aServer(options: Partial<McpServerOptions> = {}): Promise<TestMcpServer> {
  const server = await startMcpServer({ answer: () => text('3 days'), ...options });
  open.push(server.close);
  return server;
}

/** A runtime of its own, so that a test sees its own connections only. */
function aRuntime(): Runtime {
  const runtime = createRuntime({
    database: { url: fixture.database.url, maxConnections: 2 },
    model: { apiKey: 'sk-test-key', baseUrl: fixture.models.url, maxRetries: 0 },
  });
  open.push(runtime.close);
  return runtime;
}

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

interface Caller {
  readonly code: string;
  readonly tenantId: string;
  /** One run in which the model calls the tool once for each of these arguments, all in one step. */
  readonly run: (inputs?: readonly object[], options?: { signal?: AbortSignal }) => Promise<AgentResult>;
  readonly call: (input?: object) => Promise<ToolCallReport | undefined>;
}

async function aCaller(runtime: Runtime, url: string, tool: Partial<TestTool> = {}): Promise<Caller> {
  const code = `mcp_tool_${nextCode++}`;
  const tenantId = await addTenant(fixture.database);
  await giveTool(fixture.database, tenantId, { code, endpoint: url, transport: 'mcp', ...tool });
  return callerFor(runtime, tenantId, code);
}

function callerFor(runtime: Runtime, tenantId: string, code: string): Caller {
  const run: Caller['run'] = (inputs = [{}], options) => {
    const calls = inputs.map((input) => ({ name: code, arguments: input }));
    fixture.models.script(toolReply(calls), textReply('Done'));
    return runtime.run(aTask(tenantId), options);
  };
  return { code, tenantId, run, call: async (input = {}) => (await run([input])).result.tool_calls[0] };
}

it('does one handshake for many calls, at once and run after run', async () => {
  const server = await aServer();
  const caller = await aCaller(aRuntime(), server.url);
  await caller.run([{ n: 1 }, { n: 2 }, { n: 3 }]);
  await caller.run([{ n: 4 }]);
  expect(server.calls.map((call) => call.arguments.n)).toEqual(expect.arrayContaining([1, 2, 3, 4]));
  expect(server.handshakes).toHaveLength(1);
});

it('calls the tool by its name on the server, with the credential, and the trusted facts in _meta', async () => {
  const server = await aServer();
  const runtime = aRuntime();
  const caller = await aCaller(runtime, server.url, { mcpTool: 'delivery.estimate', authHeader: 'Bearer mcp-secret' });
  fixture.models.script(
    toolReply([{ name: caller.code, arguments: { city: 'Oslo', tenant_id: 'other' } }]),
    textReply('Done'),
  );
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

describe('an answer', () => {
  const image = { type: 'image' as const, data: Buffer.from('png').toString('base64'), mimeType: 'image/png' };
  const answers: [string, CallToolResult, object][] = [
    ['of text', text('3 days'), { result: '3 days' }],
    ['of JSON in text', text('{"days":3}'), { result: { days: 3 } }],
    ['with structured content', { ...text('{"days":3}'), structuredContent: { days: 3 } }, { result: { days: 3 } }],
    ['of several parts', { content: [...text('a').content, ...text('b').content] }, { result: 'a\nb' }],
    ['of an image', { content: [image] }, { result: '[image image/png 3 bytes]' }],
    ['of nothing', { content: [] }, { result: null }],
    [
      'that is a failure',
      { ...text('No such city'), isError: true },
      { error: { code: 'TOOL_FAILED', message: containing('No such city') } },
    ],
  ];

  it.each(answers)('%s', async (_what, answer, report) => {
    const server = await aServer({ answer: () => answer });
    const caller = await aCaller(aRuntime(), server.url);
    expect(await caller.call()).toMatchObject(report);
  });

  it('of three megabytes is cut and marked', async () => {
    const server = await aServer({ answer: () => text('x'.repeat(3_000_000)) });
    const caller = await aCaller(aRuntime(), server.url);
    expect(await caller.call()).toMatchObject({ result: { warning: { code: 'TOOL_OUTPUT_TRUNCATED' } } });
  });

  it('that is a protocol error is told to the model and leaves the connection as it is', async () => {
    const server = await aServer({
      answer: () => {
        throw new Error('Unknown tool: x');
      },
    });
    const caller = await aCaller(aRuntime(), server.url);
    expect(await caller.call()).toMatchObject({ error: { message: containing('Unknown tool: x') } });
    await caller.call();
    expect(server.handshakes).toHaveLength(1);
  });

  it('that quotes the credential is redacted', async () => {
    const server = await aServer({ answer: (call) => text(`You sent ${String(call.headers.authorization)}`) });
    const caller = await aCaller(aRuntime(), server.url, { authHeader: 'Bearer CANARY-mcp-token' });
    expect(await caller.call()).toMatchObject({ result: 'You sent [redacted]' });
  });
});

describe('a server that was restarted', () => {
  it.each([[404], [400]] as const)(
    'and answers HTTP %i for its lost sessions is called again at once',
    async (status) => {
      const server = await aServer({ lostSessionStatus: status });
      const caller = await aCaller(aRuntime(), server.url);
      await caller.call({ n: 1 });
      await server.restart();
      expect(await caller.call({ n: 2 })).toMatchObject({ result: '3 days' });
      expect(server.calls.map((call) => call.arguments.n)).toEqual([1, 2]);
      expect(server.handshakes).toHaveLength(2);
    },
  );

  it('is shaken hands with once, however many calls find out at once', async () => {
    const server = await aServer();
    const caller = await aCaller(aRuntime(), server.url);
    await caller.call();
    await server.restart();
    const { result } = await caller.run([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
    expect(result.tool_calls.map((call) => call.result)).toEqual(Array(4).fill('3 days'));
    expect(server.handshakes).toHaveLength(2);
  });
});

describe('a server that is down', () => {
  it('is TOOL_UNREACHABLE, and the run goes on', async () => {
    const server = await aServer();
    await server.stop();
    const caller = await aCaller(aRuntime(), server.url);
    const result = await caller.run();
    expect(result).toMatchObject({ status: 'completed', iterations: 2, warnings: [{ code: 'TOOL_FAILED' }] });
    expect(result.result.tool_calls[0]?.error).toMatchObject({
      code: 'TOOL_UNREACHABLE',
      message: containing('ECONNREFUSED'),
    });
  });

  it('is found again when it is back', async () => {
    const server = await aServer();
    const caller = await aCaller(aRuntime(), server.url);
    await caller.call();
    await server.stop();
    expect(await caller.call()).toMatchObject({ error: { code: 'TOOL_UNREACHABLE' } });
    await server.restart();
    expect(await caller.call()).toMatchObject({ result: '3 days' });
  });
});

describe('a server that hangs', () => {
  it.each([['initialize'], ['tools/call']])('in %s is TOOL_TIMEOUT, and the run goes on', async (rpcMethod) => {
    const server = await aServer({ ignores: (request) => request.rpcMethod === rpcMethod });
    const caller = await aCaller(aRuntime(), server.url, { timeoutMs: 200 });
    const result = await caller.run();
    expect(result.status).toBe('completed');
    expect(result.result.tool_calls[0]?.error).toMatchObject({ code: 'TOOL_TIMEOUT' });
  });

  it('does not keep a run that is cancelled', async () => {
    const called = gate();
    const server = await aServer({
      answer: () => {
        called.open();
        return new Promise(() => undefined);
      },
    });
    const caller = await aCaller(aRuntime(), server.url);
    const controller = new AbortController();
    const running = caller.run([{}], { signal: controller.signal });
    await called.opened;
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: 'RUN_CANCELLED', result: { status: 'cancelled' } });
  });

  it('at the end of a session does not keep the runtime from closing', async () => {
    const server = await aServer({ ignores: (request) => request.method === 'DELETE' });
    const runtime = aRuntime();
    const caller = await aCaller(runtime, server.url);
    await caller.call();
    await runtime.close();
    await until(() => server.openStreams() === 0);
  });
});

it('shares no connection between two tenants, nor their credentials', async () => {
  const server = await aServer();
  const runtime = aRuntime();
  const toolId = await addTool(fixture.database, { code: 'mcp_shared', endpoint: server.url, transport: 'mcp' });
  for (const token of ['Bearer tenant-one', 'Bearer tenant-two']) {
    const tenantId = await addTenant(fixture.database);
    await enableTool(fixture.database, { tenantId, toolId, customConfig: { auth_header: token } });
    await callerFor(runtime, tenantId, 'mcp_shared').run();
  }
  expect(server.handshakes.map((headers) => headers.authorization)).toEqual(['Bearer tenant-one', 'Bearer tenant-two']);
  expect(server.calls.map((call) => call.headers.authorization)).toEqual(['Bearer tenant-one', 'Bearer tenant-two']);
  expect(new Set(server.calls.map((call) => call.headers['mcp-session-id'])).size).toBe(2);
});

it('shares none between two tenants without credentials either', async () => {
  const server = await aServer();
  const runtime = aRuntime();
  const toolId = await addTool(fixture.database, { code: 'mcp_open', endpoint: server.url, transport: 'mcp' });
  for (let count = 0; count < 2; count++) {
    const tenantId = await addTenant(fixture.database);
    await enableTool(fixture.database, { tenantId, toolId });
    await callerFor(runtime, tenantId, 'mcp_open').run();
  }
  expect(server.openSessions()).toBe(2);
});

it('leaves nothing open on the server when the runtime is closed', async () => {
  const server = await aServer();
  const runtime = aRuntime();
  const caller = await aCaller(runtime, server.url);
  await caller.call();
  await until(() => server.openStreams() === 1);
  expect(server.openSessions()).toBe(1);
  await runtime.close();
  await runtime.close();
  await until(() => server.openSessions() === 0 && server.openStreams() === 0);
});
