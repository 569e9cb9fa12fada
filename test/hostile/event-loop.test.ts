import '../support/setup/errors-of-node';

import type { Memory, RunOptions } from '../../runtime';
import { startServer } from '../support/servers/http-server';
import { textReply } from '../support/servers/model-server';
import { startRawMcpServer } from '../support/servers/raw-mcp-server';
import { aTask } from '../support/values/agent-fixture';
import { calling, DONE, HEAVY_INPUTS, type HeavyInput, listOf, outcomeOf } from '../support/values/heavy-inputs';
import { callTool } from '../support/worlds/call-tool';
import { mcpWorld, type Registered } from '../support/worlds/mcp-world';

const world = mcpWorld();

/**
 * 50 ms and 64 MB are the rule, which `npm run bench -- --pause` measures in a process of its own. Here the servers of the test
 * are in the same process, and others share the machine.
 */
const MAX_PAUSE_MS = 120;
const MAX_HEAP_BYTES = 128 * 1024 * 1024;
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
async function measured(name: string, work: () => Promise<unknown>, atOnce = 1): Promise<void> {
  const maxPauseMs = MAX_PAUSE_MS * atOnce;
  let best: Figures | undefined;
  for (let times = 0; times < 3 && (best === undefined || best.pauseMs >= maxPauseMs); times++) {
    const figure = await measure(work);
    if (best === undefined || figure.pauseMs < best.pauseMs) best = figure;
  }
  const { pauseMs, heapBytes } = (figures[name] = best as Figures);
  expect(pauseMs).toBeLessThan(maxPauseMs);
  expect(heapBytes).toBeLessThan(MAX_HEAP_BYTES * atOnce);
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

// Loading the protocol's package is no input of anybody's.
beforeAll(async () => {
  const { tenantId, code } = await serverWith(
    listOf(1, () => ({ type: 'object' })),
    '{"content":[]}',
  );
  await runWith([calling(`${code}_t0`, '{}'), DONE], {}, { tenantId });
});

it.each(HEAVY_INPUTS)('case 45: the event loop goes on under a $kind $name', async (input) => {
  const { kind, name, outcome, isKnownToTakeLonger = false } = input;
  const work = await prepare(input);
  let ended: unknown;
  await measured(
    `${kind} ${name}`,
    async () => {
      const now = await work();
      ended ??= now;
    },
    isKnownToTakeLonger ? 3 : 1,
  );
  expect(outcomeOf(ended)).toBe(outcome);
});

it('case 45: the event loop goes on under all of them at once', async () => {
  const all: (() => Promise<unknown>)[] = [];
  for (const input of HEAVY_INPUTS) all.push(await prepare(input));
  // Each comes with an event of its own, as requests do.
  const arriving = (work: () => Promise<unknown>, index: number): Promise<unknown> =>
    new Promise((resolve) => setTimeout(() => resolve(work()), index));
  await measured('all of them at once', () => Promise.all(all.map(arriving)), 4);
});

/** Makes all that the input needs, so that only what is done with it is measured. */
async function prepare(input: HeavyInput): Promise<() => Promise<unknown>> {
  const { page, taskType, config, list, result } = input;
  if (page !== undefined) return fetching(page());
  if (taskType !== undefined) return handling(taskType, config?.() ?? {});
  return running(input, list && (await serverWith(list(), result?.())));
}

function running({ config, replies, memory }: HeavyInput, server: Registered | undefined): () => Promise<unknown> {
  const given = config?.() ?? {};
  const texts = replies?.(server?.code ?? '') ?? [];
  const messages = memory?.();
  const connected = messages && { memory: memoryOf(messages) };
  return () => runWith(texts, given, { connected, tenantId: server?.tenantId });
}

function handling(taskType: string, config: object): () => Promise<unknown> {
  const { tenantId, runtime, models } = world.fixture();
  const task = { ...aTask(tenantId, config as Record<string, unknown>), task_type: taskType };
  return () => {
    models.script(textReply('Done'));
    return runtime.handle(task).catch((error: unknown) => error);
  };
}

async function fetching(page: string): Promise<() => Promise<unknown>> {
  const body = Buffer.from(page);
  const server = await startServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(body);
  });
  world.closeLater(server.close);
  const row = {
    transport: 'builtin',
    transportConfig: { builtin: 'web_fetch' },
    customConfig: { allowed_hosts: ['127.0.0.1'] },
  };
  return async () => {
    const { output } = await callTool(row, { url: `${server.url}/` });
    return { code: output?.code, status: 'completed' };
  };
}

function memoryOf(messages: Awaited<ReturnType<Memory['load']>>): Memory {
  return { load: () => Promise.resolve(messages), save: () => Promise.resolve() };
}
