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

// How long each may hold the event loop is measured by `npm run bench -- --pause`.
it.each(HEAVY_INPUTS)('case 45: a $kind $name ends as it should', async (input) => {
  const work = await prepare(input);
  expect(input.outcomes).toContain(outcomeOf(await work()));
});

/** On a busy machine all of them share a processor for longer than a connection to a model may take to be made. */
const UNCONNECTED = 'LLM_UNAVAILABLE';

it('case 45: all of them at once end as they should', async () => {
  const all: (() => Promise<unknown>)[] = [];
  for (const input of HEAVY_INPUTS) all.push(await prepare(input));
  const ended = await Promise.all(all.map((work) => work()));
  const unlike = HEAVY_INPUTS.map((input, index) => ({ ...input, ended: outcomeOf(ended[index]) }))
    .filter((input) => ![...input.outcomes, UNCONNECTED].includes(input.ended))
    .map(({ kind, name, ended: outcome }) => `${kind} ${name}: ${outcome}`);
  expect(unlike).toEqual([]);
});

/** Makes all that the input needs; what it returns is the work itself. */
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
