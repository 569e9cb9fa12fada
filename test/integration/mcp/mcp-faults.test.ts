import '../../support/setup/errors-of-node';

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

import type { AgentResult, ToolCallReport } from '../../../runtime';
import { sendJson, startServer } from '../../support/servers/http-server';
import type { McpServerOptions, TestMcpServer } from '../../support/servers/mcp-server';
import { type RawMcpServer, type RpcHandlers, sending, startRawMcpServer } from '../../support/servers/raw-mcp-server';
import { containing } from '../../support/setup/matchers';
import { until } from '../../support/values/until';
import { mcpWorld, named, text } from '../../support/worlds/mcp-world';

const world = mcpWorld();
const { aServer, aRuntime, register, call, run } = world;

const NEVER = (): Promise<CallToolResult> => new Promise(() => undefined);

interface Caller {
  readonly call: () => Promise<ToolCallReport | undefined>;
  readonly run: (options: { signal?: AbortSignal; input?: object }) => Promise<AgentResult>;
}

/** A tenant whose model calls the tool `search` of this server. */
async function aCaller(url: string, settings: object = {}): Promise<Caller> {
  const { tenantId, code } = await register(url, { settings });
  const runtime = aRuntime();
  const name = `${code}_search`;
  return {
    call: () => call(runtime, tenantId, name),
    run: ({ signal, input = {} }) => run(runtime, tenantId, { calls: [{ name, arguments: input }], signal }),
  };
}

async function aRawServer(answer: RpcHandlers[string], tool: object = {}): Promise<RawMcpServer> {
  const server = await startRawMcpServer({
    'tools/list': () => ({ tools: [{ name: 'search', inputSchema: { type: 'object' }, ...tool }] }),
    'tools/call': answer,
  });
  world.closeLater(server.close);
  return server;
}

const callsOf = (server: RawMcpServer): number => server.methods().filter((method) => method === 'tools/call').length;

describe('a server that is killed in the middle of a call', () => {
  const hints: [string, object, number][] = [
    ['is not called again', {}, 1],
    ['is not called again for a tool that says it is neither read-only nor idempotent', { readOnlyHint: false }, 1],
    ['is called again for a tool that only reads', { readOnlyHint: true }, 2],
    ['is called again for a tool that is idempotent', { idempotentHint: true }, 2],
  ];

  /** A server that is killed and back at once whenever its tool is called for the first time. */
  async function aMortalServer(annotations: object): Promise<TestMcpServer> {
    const server: TestMcpServer = await aServer({
      tools: () => [{ name: 'search', annotations }],
      answer: () => {
        if (server.calls.length > 1) return text('second');
        void server.restart();
        return NEVER();
      },
    });
    return server;
  }

  it.each(hints)('%s', async (_what, annotations, times) => {
    const server = await aMortalServer(annotations);
    const caller = await aCaller(server.url);
    const report = await caller.call();
    expect(server.calls).toHaveLength(times);
    expect(report).toMatchObject(times === 2 ? { result: 'second' } : { error: { code: 'TOOL_CONNECTION_LOST' } });
  });

  it.each(hints)('before it had sent anything %s', async (_what, annotations, times) => {
    const server = await aRawServer(
      ({ response }) => {
        if (callsOf(server) > 1) return text('second');
        response.destroy();
        return undefined;
      },
      { annotations },
    );
    const caller = await aCaller(server.url);
    const report = await caller.call();
    expect(callsOf(server)).toBe(times);
    expect(report).toMatchObject(times === 2 ? { result: 'second' } : { error: { code: 'TOOL_CONNECTION_LOST' } });
  });

  it('is called twice at most', async () => {
    const server = await aRawServer(
      ({ response }) => {
        response.destroy();
        return undefined;
      },
      { annotations: { readOnlyHint: true } },
    );
    const caller = await aCaller(server.url);
    expect(await caller.call()).toMatchObject({ error: { code: 'TOOL_CONNECTION_LOST' } });
    expect(callsOf(server)).toBe(2);
  });

  it('serves the next call when it is back', async () => {
    const server = await aMortalServer({});
    const caller = await aCaller(server.url);
    await caller.call();
    expect(await caller.call()).toMatchObject({ result: 'second' });
  });
});

it.each([404, 400] as const)(
  'a server that answers HTTP %i since it was restarted is shaken hands with again, and its list is still known',
  async (lostSessionStatus) => {
    const server = await aServer({ tools: named('search'), lostSessionStatus });
    const caller = await aCaller(server.url);
    await caller.call();
    await server.restart();
    expect(await caller.call()).toMatchObject({ result: '3 days' });
    expect([server.calls.length, server.handshakes.length, server.lists.length]).toEqual([2, 2, 1]);
  },
);

it('a server that was restarted after its list grew old is asked for it in a new session', async () => {
  const server = await aServer({ tools: named('search') });
  const caller = await aCaller(server.url, { list_ttl_seconds: 0 });
  await caller.call();
  await server.restart();
  expect(await caller.run({})).toMatchObject({ warnings: [], result: { tool_calls: [{ result: '3 days' }] } });
});

it('a server that is down at the time of a call leaves the run going', async () => {
  const server = await aServer({ tools: named('search') });
  const caller = await aCaller(server.url);
  await caller.call();
  await server.stop();
  expect(await caller.run({})).toMatchObject({
    ...{ status: 'completed', iterations: 2, warnings: [{ code: 'TOOL_FAILED' }] },
    result: { tool_calls: [{ error: { code: 'TOOL_UNREACHABLE', message: containing('ECONNREFUSED') } }] },
  });
});

describe('the time-out of a call', () => {
  it('starts anew with every sign of progress', async () => {
    const server = await aServer({
      tools: named('search'),
      answer: async ({ progress }) => {
        for (let count = 0; count < 8; count++) {
          await new Promise((resolve) => setTimeout(resolve, 200));
          await progress();
        }
        return text('at last');
      },
    });
    const caller = await aCaller(server.url, { call_timeout_ms: 1000 });
    expect(await caller.call()).toMatchObject({ result: 'at last' });
  });

  it('ends a call whose server is silent, tells the server, and does not call again', async () => {
    const server = await aServer({
      tools: () => [{ name: 'search', annotations: { readOnlyHint: true } }],
      answer: NEVER,
    });
    const caller = await aCaller(server.url, { call_timeout_ms: 300 });
    expect(await caller.call()).toMatchObject({ error: { code: 'TOOL_TIMEOUT', message: containing('300 ms') } });
    await until(() => server.messages.includes('notifications/cancelled'));
    expect(server.calls).toHaveLength(1);
  });

  it('leaves the connection to the other calls', async () => {
    const options: Partial<McpServerOptions> = {
      tools: named('search'),
      answer: ({ arguments: { n } }) => (n === 1 ? NEVER() : text('3 days')),
    };
    const server = await aServer(options);
    const caller = await aCaller(server.url, { call_timeout_ms: 500 });
    await caller.run({ input: { n: 1 } });
    expect(await caller.call()).toMatchObject({ result: '3 days' });
    expect(server.handshakes).toHaveLength(1);
  });
});

it('a run that is cancelled says so to the server', async () => {
  const server = await aServer({ tools: named('search'), answer: NEVER });
  const caller = await aCaller(server.url);
  const controller = new AbortController();
  const running = caller.run({ signal: controller.signal });
  await until(() => server.calls.length === 1);
  controller.abort();
  await expect(running).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
  await until(() => server.messages.includes('notifications/cancelled'));
});

describe('a call that the server turns down', () => {
  const refusals: [string, RpcHandlers[string], object][] = [
    [
      'with isError',
      () => ({ ...text('No such city'), isError: true }),
      { code: 'TOOL_FAILED', message: containing('No such city') },
    ],
    ['with HTTP 401', status(401), { code: 'MCP_CREDENTIAL_REFUSED' }],
    ['with HTTP 403', status(403), { code: 'MCP_CREDENTIAL_REFUSED' }],
    ['with HTTP 500', status(500), { code: 'TOOL_HTTP_ERROR' }],
  ];

  function status(code: number): RpcHandlers[string] {
    return sending((response) => response.writeHead(code).end('no'));
  }

  it.each(refusals)('%s is made once and told to the model', async (_what, answer, error) => {
    const server = await aRawServer(answer);
    const caller = await aCaller(server.url);
    expect((await caller.call())?.error).toMatchObject(error);
    expect(callsOf(server)).toBe(1);
  });

  it('with a redirect to another address goes nowhere else', async () => {
    const target = await startServer((_request, response) => sendJson(response, {}));
    world.closeLater(target.close);
    const server = await aRawServer(sending((response) => response.writeHead(308, { location: target.url }).end()));
    const caller = await aCaller(server.url);
    expect((await caller.call())?.error).toMatchObject({ code: 'TOOL_HTTP_ERROR' });
    expect(callsOf(server)).toBe(1);
    expect(target.requests).toEqual([]);
  });

  it('with an error of JSON-RPC leaves the connection as it is', async () => {
    const server = await aServer({ tools: named('search'), answer: () => Promise.reject(new Error('Unknown: x')) });
    const caller = await aCaller(server.url);
    expect(await caller.call()).toMatchObject({ error: { code: 'TOOL_FAILED', message: containing('Unknown: x') } });
    await caller.call();
    expect(server.handshakes).toHaveLength(1);
  });

  it('because of its arguments never leaves us', async () => {
    const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const server = await aServer({ tools: () => [{ name: 'search', inputSchema }] });
    const caller = await aCaller(server.url);
    expect(await caller.call()).toMatchObject({ error: { code: 'TOOL_INVALID_ARGS', message: containing('city') } });
    expect(server.calls).toEqual([]);
  });
});

describe('an answer', () => {
  const data = Buffer.from('picture').toString('base64');
  const answers: [string, object, unknown][] = [
    ['of JSON in text', text('{"days":3}'), { days: 3 }],
    ['with structured content', { ...text('three'), structuredContent: { days: 3 } }, 'three\n{"days":3}'],
    ['with structured content that is a list', { content: [], structuredContent: [1, 2] }, [1, 2]],
    ['of an image', { content: [{ type: 'image', data, mimeType: 'image/png' }] }, '[image image/png 7 bytes]'],
    ['of sound', { content: [{ type: 'audio', data, mimeType: 'audio/wav' }] }, /^\[audio audio\/wav \d+ bytes\]$/],
    [
      'of a text resource',
      { content: [{ type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'Hello' } }] },
      '[resource file:///a text/plain]\nHello',
    ],
    [
      'of a binary resource',
      { content: [{ type: 'resource', resource: { uri: 'file:///a', blob: data } }] },
      /^\[resource file:\/\/\/a \d+ bytes\]$/,
    ],
    [
      'of a link',
      { content: [{ type: 'resource_link', name: 'Report', uri: 'file:///r.pdf', mimeType: 'application/pdf' }] },
      '[resource_link Report file:///r.pdf application/pdf]',
    ],
    ['of JSON, as early servers sent it', { content: [{ type: 'json', json: { days: 3 } }] }, { days: 3 }],
    ['of text between other parts', { content: [...text('a').content, { type: 'hologram' }] }, 'a\n[hologram]'],
    ['without content', {}, null],
  ];

  it.each(answers)('%s is given to the model as it can be read', async (_what, answer, expected) => {
    const server = await aRawServer(() => answer);
    const caller = await aCaller(server.url);
    const report = await caller.call();
    if (expected instanceof RegExp) expect(report?.result).toMatch(expected);
    else expect(report?.result).toEqual(expected);
  });

  it('of three megabytes is cut and marked', async () => {
    const server = await aRawServer(() => text('x'.repeat(3_000_000)));
    const caller = await aCaller(server.url);
    expect(await caller.call()).toMatchObject({ result: { warning: { code: 'TOOL_OUTPUT_TRUNCATED' } } });
  });

  it('with a part whose text is a number leaves the run going', async () => {
    const server = await aRawServer(() => ({ content: [{ type: 'text', text: 5 }] }));
    const caller = await aCaller(server.url);
    expect(await caller.run({})).toMatchObject({ status: 'completed', iterations: 2 });
  });
});
