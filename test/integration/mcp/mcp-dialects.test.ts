import '../../support/setup/errors-of-node';

import type { AgentResult } from '../../../runtime';
import { sendJson } from '../../support/servers/http-server';
import { type RawMcpServer, type RpcHandlers, sending, startRawMcpServer } from '../../support/servers/raw-mcp-server';
import { matching } from '../../support/setup/matchers';
import { mcpWorld, type Registered, text } from '../../support/worlds/mcp-world';

const world = mcpWorld();
const { aRuntime, register, offer, run } = world;

type Generation = '2025-06-18' | '2026-07-28';
const GENERATIONS: readonly Generation[] = ['2025-06-18', '2026-07-28'];

const DISCOVERED = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
};

/** A server that answers word for word; `result` is what a call gets. */
async function aServer(
  generation: Generation,
  { page, result }: { readonly page: object; readonly result?: unknown },
): Promise<RawMcpServer & Registered> {
  const server = await startRawMcpServer({
    ...(generation === '2026-07-28' ? { 'server/discover': () => DISCOVERED } : {}),
    'tools/list': () => page,
    'tools/call': answering(result),
  });
  world.closeLater(server.close);
  return { ...server, ...(await register(server.url)) };
}

/** Answers with any result, also with one that is no object. */
const answering =
  (result: unknown): RpcHandlers[string] =>
  ({ id, response }) => {
    sendJson(response, { jsonrpc: '2.0', id, result });
    return undefined;
  };

const good = (no: number): object => ({
  name: `good${no}`,
  description: 'Does good',
  inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
});
const GOOD = Array.from({ length: 39 }, (_, no) => good(no));
const schema = (inputSchema: unknown): object => ({ name: 'bad', description: 'd', inputSchema });

/** What is wrong with one tool of forty, and whether it can be offered all the same. */
const TOOLS: [string, unknown, 'offered' | 'left out'][] = [
  ['an empty schema', schema({}), 'offered'],
  ['no schema', { name: 'bad', description: 'd' }, 'offered'],
  ['the schema null', schema(null), 'offered'],
  ['the empty list of PHP for a schema', schema([]), 'offered'],
  ['the empty list of PHP for properties', schema({ type: 'object', properties: [] }), 'offered'],
  ['the properties null', schema({ type: 'object', properties: null }), 'offered'],
  ['required null', schema({ type: 'object', properties: {}, required: null }), 'offered'],
  ['required true, as in draft 3', schema({ type: 'object', properties: {}, required: true }), 'offered'],
  ['required with null in it', schema({ type: 'object', properties: { a: {} }, required: ['a', null] }), 'offered'],
  ['no type', schema({ properties: { a: { type: 'string' } } }), 'offered'],
  ['the type null', schema({ type: null, properties: {} }), 'offered'],
  ['several types', schema({ type: ['object', 'null'], properties: {} }), 'offered'],
  [
    'draft 7',
    schema({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: {} }),
    'offered',
  ],
  ['definitions of draft 7', schema({ type: 'object', definitions: { a: { type: 'string' } } }), 'offered'],
  ['null keywords', schema({ type: 'object', additionalProperties: null, title: null }), 'offered'],
  ['the description null', { ...schema({ type: 'object' }), description: null }, 'offered'],
  ['a description that is no text', { ...schema({ type: 'object' }), description: { en: 'd' } }, 'offered'],
  ['no description', { name: 'bad', inputSchema: { type: 'object' } }, 'offered'],
  ['annotations null', { ...schema({ type: 'object' }), annotations: null }, 'offered'],
  ['annotations that are a list', { ...schema({ type: 'object' }), annotations: [] }, 'offered'],
  ['hints null', { ...schema({ type: 'object' }), annotations: { readOnlyHint: null, title: null } }, 'offered'],
  ['an odd output schema', { ...schema({ type: 'object' }), outputSchema: { type: 'array' } }, 'offered'],
  ['title, icons and meta null', { ...schema({ type: 'object' }), title: null, icons: null, _meta: null }, 'offered'],
  ['a schema of a text', schema({ type: 'string' }), 'left out'],
  ['a schema that is a text', schema('{}'), 'left out'],
  ['properties that are a text', schema({ type: 'object', properties: 'a' }), 'left out'],
  ['an unusable schema inside', schema({ type: 'object', properties: { a: { type: 'nothing' } } }), 'left out'],
  [
    'a pattern that is none',
    schema({ type: 'object', properties: { a: { type: 'string', pattern: '(' } } }),
    'left out',
  ],
  ['no name', { description: 'd', inputSchema: { type: 'object' } }, 'left out'],
  ['a name that is a number', { name: 7, inputSchema: { type: 'object' } }, 'left out'],
  ['nothing at all', null, 'left out'],
  ['a text in place of it', 'bad', 'left out'],
];

describe.each(GENERATIONS)('a server of %s', (generation) => {
  it.each(TOOLS)('with %s among forty tools loses at most that one', async (_what, bad, fate) => {
    const page = { ...pageOf(generation), tools: [...GOOD.slice(0, 20), bad, ...GOOD.slice(20)] };
    const { tenantId, code } = await aServer(generation, { page });
    const { names, result } = await offer(aRuntime(), tenantId);
    const expected = [...GOOD.map((_tool, no) => `${code}_good${no}`), ...(fate === 'offered' ? [`${code}_bad`] : [])];
    expect([...names].sort()).toEqual(expected.sort());
    const isNamed = typeof (bad as { name?: unknown } | null)?.name === 'string';
    expect(result.warnings.map(({ message }) => message)).toEqual(
      fate === 'offered' ? [] : [matching(isNamed ? /\bbad\b/ : /no name/)],
    );
  });

  it.each([[null], [undefined], [false]])('ends its list with the cursor %j', async (nextCursor) => {
    const pages = [{ ...pageOf(generation), tools: [good(1)], nextCursor }];
    const { tenantId, code, methods } = await aServer(generation, { page: pages[0] as object });
    const { names, codes } = await offer(aRuntime(), tenantId);
    expect({ names, codes }).toEqual({ names: [`${code}_good1`], codes: [] });
    expect(methods().filter((method) => method === 'tools/list')).toHaveLength(1);
  });

  const png = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
  const orders = { orders: 42 };
  /** What a call gets, and what the model is told. */
  const results: [string, unknown, unknown][] = [
    ['structured content null', { ...text('42 orders'), structuredContent: null }, '42 orders'],
    ['structured content that is empty', { ...text('42 orders'), structuredContent: {} }, '42 orders'],
    ['nulls beside the text', { ...text('42 orders'), isError: null, _meta: null }, '42 orders'],
    ['structured content only', { content: [], structuredContent: orders }, orders],
    ['structured content without content', { structuredContent: orders }, orders],
    ['both, which say the same', { ...text('{ "orders": 42 }'), structuredContent: orders }, orders],
    ['a wrapped value', { ...text('42 orders'), structuredContent: { result: '42 orders' } }, { result: '42 orders' }],
    [
      'text, a picture and structured content',
      { content: [...text('Next page: token=abc').content, png], structuredContent: orders },
      'Next page: token=abc\n[image image/png 3 bytes]\n{"orders":42}',
    ],
    ['text in place of content', { content: 'plain words' }, 'plain words'],
    ['a part in place of content', { content: { type: 'text', text: 'plain words' } }, 'plain words'],
    ['content null', { content: null, structuredContent: orders }, orders],
    ['a part that is null', { content: [null, { type: 'text', text: 'words' }] }, 'words'],
    ['a part that is text', { content: ['words'] }, 'words'],
    ['a part without type', { content: [{ text: 'words' }] }, 'words'],
    ['a part with nulls', { content: [{ type: 'text', text: 'words', annotations: null, _meta: null }] }, 'words'],
    [
      'a part of an unknown kind',
      { content: [{ type: 'hologram' }, { type: 'text', text: 'words' }] },
      '[hologram]\nwords',
    ],
    ['a picture without its type', { content: [{ type: 'image', data: 'AAAA' }] }, '[image 3 bytes]'],
    ['a link without a name', { content: [{ type: 'resource_link', uri: 'file:///a' }] }, '[resource_link file:///a]'],
    ['text in place of the result', 'plain words', 'plain words'],
    ['a list in place of the result', [{ type: 'text', text: 'plain words' }], 'plain words'],
    ['a number in place of the result', 42, 42],
  ];

  it.each(results)(
    'that answers with %s is understood, called once, and keeps the connection',
    async (_what, result, expected) => {
      const server = await aServer(generation, {
        page: { ...pageOf(generation), tools: [{ ...good(1), annotations: { readOnlyHint: true } }] },
        result: withType(generation, result),
      });
      const runtime = aRuntime();
      const greetings = (): number => server.methods().filter((method) => /initialize$|discover/.test(method)).length;
      expect((await callGood(server, runtime)).result.tool_calls).toMatchObject([{ result: expected }]);
      expect(callsOf(server)).toBe(1);
      const greeted = greetings();
      expect((await callGood(server, runtime)).result.tool_calls).toMatchObject([{ result: expected }]);
      expect({ calls: callsOf(server), greetings: greetings() }).toEqual({ calls: 2, greetings: greeted });
    },
  );

  it('that fails with structured content tells why', async () => {
    const failed = { isError: true, content: [], structuredContent: { code: 'RATE_LIMITED', retry_after: 30 } };
    const server = await aServer(generation, {
      page: { ...pageOf(generation), tools: [good(1)] },
      result: withType(generation, failed),
    });
    const [call] = (await callGood(server)).result.tool_calls;
    expect(call?.error).toMatchObject({ code: 'TOOL_FAILED', message: matching(/RATE_LIMITED/) });
  });
});

it('understands a result of 2026-07-28 that does not say its type', async () => {
  const server = await aServer('2026-07-28', {
    page: { ...pageOf('2026-07-28'), tools: [good(1)] },
    result: text('words'),
  });
  expect((await callGood(server)).result.tool_calls).toMatchObject([{ result: 'words' }]);
});

it.each([
  [-32_002, 'Server not initialized'],
  [-32_000, 'Bad Request: No valid session ID provided'],
  [-32_001, 'Session not found'],
])('opens a new session where the old one is over by the error %i "%s"', async (code, message) => {
  let isOver = true;
  const server = await startRawMcpServer({
    initialize: sending((response) => {
      response.setHeader('mcp-session-id', 'a-session');
      sendJson(response, {
        ...{ jsonrpc: '2.0', id: 0 },
        result: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'raw', version: '1' },
        },
      });
    }),
    'tools/list': () => ({ tools: [good(1)] }),
    'tools/call': ({ id, response }) => {
      if (!isOver) return text('words');
      isOver = false;
      sendJson(response, { jsonrpc: '2.0', id, error: { code, message } });
      return undefined;
    },
  });
  world.closeLater(server.close);
  const ran = await callGood({ ...server, ...(await register(server.url)) });
  expect(ran.result.tool_calls).toMatchObject([{ result: 'words' }]);
  expect(callsOf(server)).toBe(2);
});

it('does not call again where the tool itself speaks of a session', async () => {
  const server = await startRawMcpServer({
    'tools/list': () => ({ tools: [good(1)] }),
    'tools/call': ({ id, response }) => {
      sendJson(response, { jsonrpc: '2.0', id, error: { code: -32_603, message: 'session expired at the bank' } });
      return undefined;
    },
  });
  world.closeLater(server.close);
  await callGood({ ...server, ...(await register(server.url)) });
  expect(callsOf(server)).toBe(1);
});

function callGood({ tenantId, code }: Registered, runtime = aRuntime()): Promise<AgentResult> {
  return run(runtime, tenantId, { calls: [{ name: `${code}_good1`, arguments: { q: 'x' } }] });
}

const callsOf = (server: RawMcpServer): number => server.methods().filter((method) => method === 'tools/call').length;

function pageOf(generation: Generation): object {
  return generation === '2026-07-28' ? { resultType: 'complete', ttlMs: 1000, cacheScope: 'private' } : {};
}

function withType(generation: Generation, result: unknown): unknown {
  const isObject = typeof result === 'object' && result !== null && !Array.isArray(result);
  return isObject && generation === '2026-07-28' ? { resultType: 'complete', ...result } : result;
}
