import '../../support/setup/errors-of-node';

import type { Runtime } from '../../../runtime';
import {
  type ModernMcpServer,
  type ModernServerOptions,
  startModernMcpServer,
} from '../../support/servers/modern-mcp-server';
import { sending, startRawMcpServer } from '../../support/servers/raw-mcp-server';
import { eventually } from '../../support/values/agent-fixture';
import { until } from '../../support/values/until';
import { mcpWorld, named, type Registered, type Registration, text } from '../../support/worlds/mcp-world';

const world = mcpWorld();
const { aServer, aRuntime, register, offer, call, run } = world;

type Answer = ModernServerOptions['answer'];

const NEVER: Answer = () => new Promise(() => undefined);

interface Modern extends Registered {
  readonly server: ModernMcpServer;
  readonly runtime: Runtime;
  readonly name: string;
}

/** A server of the newest generation with the tool `search`, and a tenant that uses it. */
async function aModernServer(
  options: Partial<ModernServerOptions> = {},
  registration: Registration = {},
): Promise<Modern> {
  const server = await startModernMcpServer({ tools: named('search'), answer: () => text('3 days'), ...options });
  world.closeLater(server.close);
  const registered = await register(server.url, registration);
  return { ...registered, server, runtime: aRuntime(), name: `${registered.code}_search` };
}

const countOf = (server: ModernMcpServer, method: string): number =>
  server.messages.filter((message) => message === method).length;

describe('a server of the generation 2026-07-28', () => {
  it('is spoken to without a handshake, and asked for its list once', async () => {
    const { server, runtime, tenantId, name } = await aModernServer();
    expect((await offer(runtime, tenantId)).names).toEqual([name]);
    expect(await call(runtime, tenantId, name)).toMatchObject({ result: '3 days' });
    await call(runtime, tenantId, name);
    expect(countOf(server, 'initialize')).toBe(0);
    expect([countOf(server, 'server/discover'), countOf(server, 'tools/list')]).toEqual([1, 1]);
    expect(countOf(server, 'tools/call')).toBe(2);
  });

  it('is healthy, and says which generation it is', async () => {
    const { runtime, tenantId, code } = await aModernServer();
    expect(await runtime.tools.health({ tenantId })).toMatchObject([
      { server: code, state: 'up', protocol: '2026-07-28', tools: 1, warnings: [] },
    ]);
  });

  it('is given the credential, the bare name and the trusted facts', async () => {
    const { server, runtime, tenantId, name } = await aModernServer(
      {},
      { ownAuth: { kind: 'bearer', token: 'tok123' } },
    );
    await call(runtime, tenantId, name);
    expect(server.calls[0]).toMatchObject({ name: 'search', headers: { authorization: 'Bearer tok123' } });
    expect(server.calls[0]?.meta['universal-ai-agent/context']).toMatchObject({ tenant_id: tenantId });
  });

  it('is given those arguments as headers that its schema names, also when another process asked for the list', async () => {
    const region = { type: 'string', 'x-mcp-header': 'Region' };
    const inputSchema = { type: 'object', properties: { region }, required: ['region'] };
    const { server, runtime, tenantId, name } = await aModernServer({ tools: () => [{ name: 'search', inputSchema }] });
    await offer(aRuntime(), tenantId);
    const calls = [{ name, arguments: { region: 'eu-west' } }];
    expect((await run(runtime, tenantId, { calls })).result.tool_calls[0]).toMatchObject({ result: '3 days' });
    expect(server.calls[0]?.headers['mcp-param-region']).toBe('eu-west');
  });

  it('says itself how long its list holds', async () => {
    const { server, runtime, tenantId } = await aModernServer({ listTtlMs: 1 });
    for (let count = 0; count < 3; count++) await offer(runtime, tenantId);
    expect(countOf(server, 'tools/list')).toBe(3);
  });

  it('is asked again when it says that its list has changed', async () => {
    const tools = ['search'];
    const { server, runtime, tenantId, code } = await aModernServer({ tools: () => named(...tools)() });
    await offer(runtime, tenantId);
    await until(() => countOf(server, 'subscriptions/listen') === 1);
    tools.push('fetch');
    // The stream may not be open yet when its request has arrived; then the first announcement goes unheard.
    const announce = setInterval(server.announceChange, 1000);
    const names = await eventually(async () => {
      const offered = await offer(runtime, tenantId);
      return offered.names.length > 1 ? offered.names : undefined;
    }).finally(() => clearInterval(announce));
    expect(names).toEqual([`${code}_search`, `${code}_fetch`]);
  });

  it('notices that a run was cancelled', async () => {
    const { server, runtime, tenantId, name } = await aModernServer({ answer: NEVER });
    const controller = new AbortController();
    const running = run(runtime, tenantId, { calls: [{ name }], signal: controller.signal });
    await until(() => server.calls.length === 1);
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
    await until(() => server.calls[0]?.signal.aborted === true);
  });

  it('keeps a call alive with signs of progress', async () => {
    const answer: Answer = async ({ progress }) => {
      for (let count = 0; count < 8; count++) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        await progress();
      }
      return text('at last');
    };
    const { runtime, tenantId, name } = await aModernServer({ answer }, { settings: { call_timeout_ms: 1000 } });
    expect(await call(runtime, tenantId, name)).toMatchObject({ result: 'at last' });
  });

  it('that is silent for too long is TOOL_TIMEOUT, and notices it', async () => {
    const settings = { call_timeout_ms: 300 };
    const { server, runtime, tenantId, name } = await aModernServer({ answer: NEVER }, { settings });
    expect(await call(runtime, tenantId, name)).toMatchObject({ error: { code: 'TOOL_TIMEOUT' } });
    await until(() => server.calls[0]?.signal.aborted === true);
    expect(server.calls).toHaveLength(1);
  });

  it.each([
    ['once', {}, 1],
    ['twice when it only reads', { readOnlyHint: true }, 2],
  ])('that cuts a call off is called %s', async (_what, annotations, times) => {
    const modern: Modern = await aModernServer({
      tools: () => [{ name: 'search', annotations }],
      answer: (given) => {
        if (modern.server.calls.length > 1) return text('second');
        modern.server.cut();
        return NEVER(given);
      },
    });
    const report = await call(modern.runtime, modern.tenantId, modern.name);
    expect(modern.server.calls).toHaveLength(times);
    expect(report).toMatchObject(times === 2 ? { result: 'second' } : { error: { code: 'TOOL_CONNECTION_LOST' } });
  });

  it('that cuts a call off in the middle of its stream is not called again', async () => {
    const modern: Modern = await aModernServer({
      answer: async (given) => {
        await given.progress();
        modern.server.cut();
        return NEVER(given);
      },
    });
    const report = await call(modern.runtime, modern.tenantId, modern.name);
    expect(report).toMatchObject({ error: { code: 'TOOL_CONNECTION_LOST' } });
    expect(modern.server.calls).toHaveLength(1);
  });

  it('that echoes the token is redacted', async () => {
    const { runtime, tenantId, name } = await aModernServer(
      { answer: ({ headers }) => text(String(headers.authorization)) },
      { ownAuth: { kind: 'bearer', token: 'CANARY-modern' } },
    );
    expect(await call(runtime, tenantId, name)).toMatchObject({ result: 'Bearer [redacted]' });
  });
});

it('a server of 2026-07-28 and one of 2025-06-18 serve the same run', async () => {
  const modern = await aModernServer();
  const old = await startRawMcpServer({
    initialize: () => ({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'old', version: '1.0.0' },
    }),
    'tools/list': () => ({ tools: [{ name: 'search', inputSchema: { type: 'object' } }] }),
    'tools/call': () => text('5 days'),
  });
  world.closeLater(old.close);
  const { code } = await register(old.url, { tenantId: modern.tenantId });
  const calls = [{ name: modern.name }, { name: `${code}_search` }];
  expect(await run(modern.runtime, modern.tenantId, { calls })).toMatchObject({
    warnings: [],
    result: { tool_calls: [{ result: '3 days' }, { result: '5 days' }] },
  });
  const health = await modern.runtime.tools.health({ tenantId: modern.tenantId });
  expect(health.map(({ protocol }) => protocol)).toEqual(['2026-07-28', '2025-06-18']);
});

describe('a server of an older generation', () => {
  it('is told apart and shaken hands with once', async () => {
    const server = await aServer({ tools: named('search') });
    const { tenantId } = await register(server.url);
    expect(await aRuntime().tools.health({ tenantId })).toMatchObject([{ state: 'up', protocol: '2025-11-25' }]);
    expect(server.handshakes).toHaveLength(1);
  });

  it.each(['2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07', '2024-10-01'])(
    'that speaks %s is understood',
    async (protocolVersion) => {
      const server = await startRawMcpServer({
        initialize: () => ({
          protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'old', version: '1.0.0' },
        }),
        'tools/list': () => ({ tools: [{ name: 'search', inputSchema: { type: 'object' } }] }),
        'tools/call': () => text('3 days'),
      });
      world.closeLater(server.close);
      const { tenantId, code } = await register(server.url);
      const runtime = aRuntime();
      expect(await call(runtime, tenantId, `${code}_search`)).toMatchObject({ result: '3 days' });
      expect(await runtime.tools.health({ tenantId })).toMatchObject([{ protocol: protocolVersion }]);
    },
  );

  it.each([400, 404, 405, 500, 501])(
    'that answers the question for its generation with HTTP %i is understood',
    async (status) => {
      const server = await startRawMcpServer({
        'server/discover': sending((response) => response.writeHead(status).end('what?')),
        'tools/list': () => ({ tools: [{ name: 'search', inputSchema: { type: 'object' } }] }),
      });
      world.closeLater(server.close);
      const { tenantId, code } = await register(server.url);
      expect(await offer(aRuntime(), tenantId)).toMatchObject({ names: [`${code}_search`], codes: [] });
    },
  );
});
