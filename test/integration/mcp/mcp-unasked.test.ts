import '../../support/setup/errors-of-node';

import type { ServerResponse } from 'node:http';

import type { ToolCallReport } from '../../../runtime';
import { startServer } from '../../support/servers/http-server';
import { type RawMcpServer, type RpcHandlers, startRawMcpServer } from '../../support/servers/raw-mcp-server';
import { containing } from '../../support/setup/matchers';
import { until } from '../../support/values/until';
import { mcpWorld, text } from '../../support/worlds/mcp-world';

const world = mcpWorld();
const { aRuntime, register, call, run, offer } = world;

const TOO_MUCH = { error: { code: 'TOOL_CONNECTION_LOST', message: containing('too many unsolicited messages') } };

interface Caller {
  readonly server: RawMcpServer;
  /** Calls the tool in a run, so many times at once. */
  readonly calls: (count: number, signal?: AbortSignal) => Promise<readonly ToolCallReport[]>;
  readonly offer: () => Promise<unknown>;
}

/** A tenant whose model calls the tool `search`, which only says `tools/call`. */
async function aCaller(handlers: RpcHandlers): Promise<Caller> {
  const server = await startRawMcpServer({
    'tools/list': () => ({ tools: [{ name: 'search', inputSchema: { type: 'object' } }] }),
    ...handlers,
  });
  world.closeLater(server.close);
  const { tenantId, code } = await register(server.url);
  const runtime = aRuntime();
  const name = `${code}_search`;
  return {
    server,
    calls: async (count, signal) => {
      const calls = Array.from({ length: count }, () => ({ name }));
      return (await run(runtime, tenantId, { calls, signal })).result.tool_calls;
    },
    offer: () => offer(runtime, tenantId),
  };
}

/** A stream of events with these messages in it. */
function streams(response: ServerResponse, ...messages: readonly object[]): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(messages.map((message) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`).join(''));
}

const sampling = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, id) => ({
    id: `mine${id}`,
    method: 'sampling/createMessage',
    params: { messages: [], maxTokens: 1 },
  }));

const progress = (count: number): readonly object[] =>
  Array.from({ length: count }, () => ({
    method: 'notifications/progress',
    params: { progressToken: 'none', progress: 1 },
  }));

describe('requests that a server makes of us', () => {
  it('are answered while a call is open', async () => {
    const caller = await aCaller({
      'tools/call': ({ id, response }) => {
        streams(response, ...sampling(3));
        void until(() => caller.server.answers() === 3).then(() => {
          streams(response, { id, result: text('3 days') });
          response.end();
        });
        return undefined;
      },
    });
    expect(await caller.calls(1)).toMatchObject([{ result: '3 days' }]);
    expect(caller.server.requests.at(-1)?.body).toContain('Method not found');
  });

  it.each([1, 2])('close the connection when they are too many, which loses %i calls', async (count) => {
    const open: ServerResponse[] = [];
    const caller = await aCaller({
      'tools/call': ({ response }) => {
        open.push(response);
        streams(response);
        if (open.length === count) streams(response, ...sampling(200));
        return undefined;
      },
    });
    expect(await caller.calls(count)).toMatchObject(Array(count).fill(TOO_MUCH));
    expect(caller.server.answers()).toBeLessThan(50);
    await until(() => open.every((response) => response.closed));
  });

  it('are not answered while a few answers wait for the server', async () => {
    const waiting: ServerResponse[] = [];
    const caller = await aCaller({
      answer: ({ response }) => void waiting.push(response),
      'tools/call': ({ id, response }) => {
        streams(response, ...sampling(10));
        void until(() => waiting.length === 4).then(() => {
          streams(response, { id, result: text('3 days') });
          response.end();
        });
        return undefined;
      },
    });
    expect(await caller.calls(1)).toMatchObject([{ result: '3 days' }]);
    await caller.offer();
    expect(waiting).toHaveLength(4);
  });

  it('are not answered after the run', async () => {
    let stream: ServerResponse | undefined;
    const caller = await aCaller({
      GET: ({ response }) => {
        streams(response);
        stream = response;
        return undefined;
      },
      initialize: () => ({
        protocolVersion: '2025-06-18',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'raw', version: '1.0.0' },
      }),
      'tools/call': () => text('3 days'),
    });
    await caller.calls(1);
    await until(() => stream !== undefined);
    const lists = (): number => caller.server.methods().filter((method) => method === 'tools/list').length;
    const before = lists();
    // What comes later in the stream has been read when the list is asked for.
    streams(stream as ServerResponse, ...sampling(5), { method: 'notifications/tools/list_changed' });
    await until(() => lists() > before);
    expect(caller.server.answers()).toBe(0);
  });
});

it('a flood of notifications closes the connection', async () => {
  const caller = await aCaller({
    'tools/call': ({ response }) => {
      streams(response, ...progress(20_000));
      return undefined;
    },
  });
  expect(await caller.calls(1)).toMatchObject([TOO_MUCH]);
});

it('a thousand notifications do not', async () => {
  const caller = await aCaller({
    'tools/call': ({ id, response }) => {
      streams(response, ...progress(1000), { id, result: text('3 days') });
      response.end();
      return undefined;
    },
  });
  expect(await caller.calls(1)).toMatchObject([{ result: '3 days' }]);
});

describe('the stream of a call', () => {
  it('that stays open after the answer is closed', async () => {
    let stream: ServerResponse | undefined;
    const caller = await aCaller({
      'tools/call': ({ id, response }) => {
        streams(response, { id, result: text('3 days') });
        stream = response;
        return undefined;
      },
    });
    expect(await caller.calls(1)).toMatchObject([{ result: '3 days' }]);
    await until(() => stream?.closed === true);
  });

  it('that stays open after the call was cancelled is closed', async () => {
    let stream: ServerResponse | undefined;
    const caller = await aCaller({
      'tools/call': ({ response }) => {
        streams(response);
        stream = response;
        return undefined;
      },
    });
    const controller = new AbortController();
    const calling = caller.calls(1, controller.signal);
    await until(() => stream !== undefined);
    controller.abort();
    await expect(calling).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
    await until(() => stream?.closed === true);
    expect(caller.server.methods()).toContain('notifications/cancelled');
  });
});

describe('a server of the old transport', () => {
  it('whose stream ends loses its calls, and is asked over a new one', async () => {
    let calls = 0;
    let stream: ServerResponse | undefined;
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: '2024-11-05',
        capabilities: { tools: {} },
        serverInfo: { name: 'old', version: '1.0.0' },
      },
      'tools/list': { tools: [{ name: 'search', inputSchema: { type: 'object' } }] },
      'tools/call': text('3 days'),
    };
    const server = await startServer((request, response) => {
      if (request.method === 'GET') {
        stream = response;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        return void response.write('retry: 0\nevent: endpoint\ndata: /messages\n\n');
      }
      response.writeHead(202).end();
      const { id, method } = JSON.parse(request.body) as { id?: number; method: string };
      if (id === undefined) return;
      if (method === 'tools/call' && calls++ === 0) stream?.end();
      else streams(stream as ServerResponse, { id, result: results[method] });
    });
    world.closeLater(server.close);
    const { tenantId, code } = await register(`${server.url}/sse`, { transport: 'sse' });
    const runtime = aRuntime();
    const name = `${code}_search`;
    expect(await call(runtime, tenantId, name)).toMatchObject({ error: { code: 'TOOL_CONNECTION_LOST' } });
    expect(await call(runtime, tenantId, name)).toMatchObject({ result: '3 days' });
    expect(server.requests.filter(({ method }) => method === 'GET')).toHaveLength(2);
  });
});
