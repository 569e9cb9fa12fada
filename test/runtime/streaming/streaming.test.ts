import type { ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

import { type AgentResult, createRuntime, type RunEvent, type Runtime, type RuntimeError } from '../../../runtime';
import { createMemoryLedger, type MemoryLedger } from '../../../runtime/testing';
import { type ModelServer, startModelServer, textReply, toolReply } from '../../support/servers/model-server';
import { sendStream, streamText } from '../../support/servers/stream-reply';
import { withCode } from '../../support/setup/matchers';
import { memoryTenants, TENANT_ID } from '../../support/values/memory-stores';

const SECRET = 'sk-stream-0123456789abcdef';

let models: ModelServer;
let ledger: MemoryLedger;
let runtime: Runtime;
let events: RunEvent[];
let tasks = 0;

beforeEach(async () => {
  models = await startModelServer();
  ledger = createMemoryLedger();
  events = [];
  runtime = createRuntime({
    model: { apiKey: SECRET, baseUrl: models.url, maxRetries: 2 },
    plugins: { tenants: memoryTenants([]), ledger },
  });
});
afterEach(() => Promise.all([runtime.close(), models.close()]));

const task = (): object => ({
  task_id: `stream-${(tasks += 1)}`,
  config: { message: 'Say it', agent_tier: 'pro' },
  meta: { tenant_id: TENANT_ID },
});

const run = (): ReturnType<Runtime['run']> =>
  runtime.run(task(), { stream: true, onEvent: (event) => void events.push(event) });

const shown = (type: 'text-delta' | 'reasoning-delta' = 'text-delta'): readonly string[] =>
  events.flatMap((event) => (event.type === type && 'text' in event ? [event.text] : []));

it('tells the text in pieces before the end, and gives the whole of it', async () => {
  models.script(textReply('Größe 42 is in stock – 7 pairs of it.'));
  expect((await run()).result.text).toBe('Größe 42 is in stock – 7 pairs of it.');
  expect(shown().length).toBeGreaterThan(3);
  expect(shown().join('')).toBe('Größe 42 is in stock – 7 pairs of it.');
  expect(models.received[0]).toMatchObject({ stream: true, stream_options: { include_usage: true } });
});

it('asks for no stream where nobody listens to one', async () => {
  models.script(textReply('Hello'));
  await runtime.run(task(), { onEvent: (event) => void events.push(event) });
  expect(models.received[0]).not.toHaveProperty('stream');
  expect(shown()).toEqual([]);
});

it('never tells reasoning as text, be it a field or a mark within the text', async () => {
  const { body } = textReply('<think>secret plan</think> The answer < 5 is 4.');
  const [choice] = (body as { choices: { message: object }[] }).choices;
  Object.assign(choice?.message ?? {}, { reasoning: 'I think so' });
  models.script({ body });
  await run();
  expect(shown().join('')).toBe('The answer < 5 is 4.');
  expect(shown('reasoning-delta').join('')).toBe('I think so');
});

it('tells no secret, wherever it is cut', async () => {
  models.script(textReply(`The key is ${SECRET} and ghp_${'a1'.repeat(18)} too, sk is short.`));
  const { result } = await run();
  expect(shown().join('')).toBe(result.text);
  expect(result.text).toBe('The key is [redacted] and [redacted] too, sk is short.');
});

const LONG = Array.from({ length: 60 }, (_, index) => `k${index}Zq`).join('');
const WEB_TOKEN = `eyJ${LONG}.eyJ${LONG.repeat(10)}.${LONG}`;
const PROSE = 'It is used by all of them, day and night. '.repeat(10);
const JSON_TEXT = JSON.stringify(Array.from({ length: 200 }, (_, id) => ({ id, name: `n${id}` })));

it.each([
  ['of its configuration, in prose', LONG, `${PROSE}${LONG} ${PROSE}`],
  ['of its configuration, in JSON without blanks', LONG, `${JSON_TEXT.slice(0, -1)},"${LONG}"]${JSON_TEXT}`],
  ['that is a web token', WEB_TOKEN, `${PROSE}${WEB_TOKEN} ${PROSE}`],
  ['behind Bearer', LONG, `${PROSE}Bearer ${LONG.repeat(8)} ${PROSE}`],
  ['that is a private key without an end', LONG, `${PROSE}-----BEGIN PRIVATE KEY-----\n${LONG.repeat(20)}`],
])('tells nothing of a long secret %s', async (_what, secret, answer) => {
  const knowing = createRuntime({
    model: { apiKey: LONG, baseUrl: models.url },
    plugins: { tenants: memoryTenants([]), ledger },
  });
  models.script(textReply(answer));
  const { result } = await knowing.run(task(), { stream: true, onEvent: (event) => void events.push(event) });
  await knowing.close();
  expect(shown().join('')).toBe(result.text);
  expect(result.text).toContain('[redacted]');
  for (let at = 0; at + 12 < secret.length; at += 6) expect(result.text).not.toContain(secret.slice(at, at + 12));
});

it.each([
  [
    'calls',
    (index: number) => ({ tool_calls: [{ index, id: `c${index}`, function: { name: 'x', arguments: '{}' } }] }),
  ],
  ['blocks of reasoning', (index: number) => ({ reasoning_details: [{ index, type: 'reasoning.text', text: 'a' }] })],
  ['parts of content', () => ({ content: [{ type: 'image_url', image_url: { url: 'x' } }] })],
])('takes what a reply of 20,000 %s used, and nothing else of it', async (_what, deltaOf) => {
  models.script((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let index = 0; index < 20_000; index++) {
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: deltaOf(index) }] })}\n\n`);
    }
    response.write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n');
    response.end('data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}\n\ndata: [DONE]\n\n');
  });
  const error = (await run().catch((thrown: unknown) => thrown)) as RuntimeError;
  expect(error).toMatchObject({
    code: 'LLM_BAD_REPLY',
    message: expect.stringContaining('too many calls or parts') as string,
  });
  expect((error.result as AgentResult).tokens).toMatchObject({ prompt: 10, completion: 5 });
  expect(models.received).toHaveLength(1);
});

it('takes a reply that comes as a whole all the same', async () => {
  models.script((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(textReply('At once').body));
  });
  expect((await run()).result.text).toBe('At once');
  expect(shown()).toEqual([]);
});

it('takes a whole reply for what it is, whatever its type, where no stream was asked for', async () => {
  models.script((_request, response) => {
    response.setHeader('content-type', 'text/event-stream');
    response.end(JSON.stringify(textReply('Plain').body));
  });
  expect((await runtime.run(task())).result.text).toBe('Plain');
});

it('asks again for a stream that fails before its first piece, and not after it', async () => {
  models.script(
    (_request, response) => sendStream(response, textReply('x').body as object, { until: 30 }),
    textReply('Now'),
  );
  expect((await run()).result.text).toBe('Now');
  expect(models.received).toHaveLength(2);
  models.script((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"choices":[{"index":0,"delta":{"content":"Half an answer is "}}]}\n\n');
    response.end('data: {"error":{"code":503,"message":"overloaded"},"choices":[]}\n\n');
  });
  await expect(run()).rejects.toThrow(withCode('LLM_UNAVAILABLE'));
  expect(models.received).toHaveLength(3);
  // The key begins with an s too.
  expect(shown().join('')).toBe('NowHalf an answer i');
});

const ANSWER = 'The answer that is cut somewhere in it.';
const WHOLE = textReply(ANSWER, { prompt: 100, completion: 20 }).body as object;
const LENGTH = Buffer.byteLength(streamText(WHOLE));
/** From here on the first piece of text has come. */
const FIRST_PIECE = streamText(WHOLE).indexOf('\n\n', streamText(WHOLE).indexOf('The a')) + 2;
const text = (): string => shown().join('');

it.each(Array.from({ length: 20 }, (_, index) => Math.floor(((index + 0.5) * LENGTH) / 20)))(
  'a stream that breaks off after %i bytes is one clean error, and every request is estimated or unknown',
  async (until) => {
    let requests = 0;
    models.always(() => undefined);
    models.script(
      ...Array.from({ length: 3 }, () => (_request: unknown, response: Parameters<typeof sendStream>[0]) => {
        requests += 1;
        return sendStream(response, WHOLE, { until });
      }),
    );
    const ended = await run().catch((error: unknown) => error as RuntimeError);
    const result = ('code' in ended ? ended.result : ended) as AgentResult;
    const unknown = result.warnings.filter(({ code }) => code === 'USAGE_UNKNOWN').map(({ message }) => message);
    if ('code' in ended) {
      expect(ended.code).toBe('LLM_UNAVAILABLE');
      // Nothing of it was shown, so it was asked for again; each may have been paid for.
      expect(requests).toBe(text() === '' && until < FIRST_PIECE ? 3 : 1);
      const hasBegun = until >= FIRST_PIECE;
      expect(unknown).toEqual(hasBegun ? [] : [expect.stringContaining(`${requests} request(s)`)]);
      expect(result.usage_estimated).toBe(hasBegun ? true : undefined);
    } else {
      expect([requests, result.result.text, text()]).toEqual([1, ANSWER, ANSWER]);
      expect(result.tokens.total === 120 || result.warnings.length === 1).toBe(true);
    }
  },
);

const delta = (piece: object, reason: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: piece, finish_reason: reason }] })}\n\n`;
const usage = (prompt: number, completion: number): string =>
  `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } })}\n\n`;
const ERROR = `data: ${JSON.stringify({ error: { code: 502, message: 'no' }, choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }] })}\n\n`;
const CALL = delta({
  tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'x', arguments: '{"a":' } }],
});
const callAt = (index: number): string =>
  delta({ tool_calls: [{ index, id: `c${index}`, type: 'function', function: { name: 'x', arguments: '{}' } }] });
const DONE = 'data: [DONE]\n\n';
type Answer = (response: ServerResponse) => unknown;

/** The tokens of a run whose model answers so, and how many requests it says are unknown or estimated. */
async function billOf(answer: Answer): Promise<Omit<Expected, 'requests' | 'unknown'> & { unknown: string }> {
  models.script(
    ...Array.from({ length: 3 }, () => (_request: unknown, response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      answer(response);
    }),
  );
  const ended = await run().catch((error: unknown) => error as RuntimeError);
  const result = ('code' in ended ? ended.result : ended) as AgentResult;
  const unknown = result.warnings.filter(({ code }) => code === 'USAGE_UNKNOWN').map(({ message }) => message);
  const estimated = result.warnings.find(({ code }) => code === 'USAGE_ESTIMATED')?.message;
  return {
    ...('code' in ended ? { code: ended.code } : { text: ended.result.text }),
    tokens: result.tokens.total,
    unknown: unknown.join(),
    estimated: Number(/for (\d+) response/.exec(estimated ?? '')?.[1] ?? 0),
  };
}

const whole =
  (...pieces: string[]): Answer =>
  (response) =>
    response.end(pieces.join(''));
const cut =
  (...pieces: string[]): Answer =>
  (response) =>
    response.write(pieces.join(''), () => setImmediate(() => response.destroy()));
const text500 = delta({ content: 'word '.repeat(500) });

interface Expected {
  readonly requests: number;
  readonly unknown: RegExp;
  readonly tokens?: number;
  readonly estimated?: number;
  readonly text?: string;
  readonly code?: string;
}

it.each<[string, Answer, Expected]>([
  [
    'an error behind its text',
    whole(text500, ERROR),
    { requests: 1, code: 'LLM_UNAVAILABLE', estimated: 1, unknown: /^$/ },
  ],
  [
    'an error behind pieces of a call',
    whole(CALL, ERROR),
    { requests: 3, code: 'LLM_UNAVAILABLE', estimated: 3, unknown: /^$/ },
  ],
  ['an error and nothing else', whole(ERROR), { requests: 3, code: 'LLM_UNAVAILABLE', tokens: 0, unknown: /^$/ }],
  [
    'an error behind its text, and a cut',
    cut(text500, ERROR),
    { requests: 1, code: 'LLM_UNAVAILABLE', estimated: 1, unknown: /^$/ },
  ],
  [
    'four thousand calls',
    whole(...Array.from({ length: 4000 }, (_, index) => callAt(index)), delta({}, 'tool_calls'), usage(100, 20), DONE),
    { requests: 1, code: 'LLM_BAD_REPLY', tokens: 120, unknown: /^$/ },
  ],
  [
    'an error with its usage',
    whole(text500, usage(10, 5), ERROR),
    { requests: 1, code: 'LLM_UNAVAILABLE', tokens: 15, unknown: /^$/ },
  ],
  [
    'a cut behind usage of the prompt',
    cut(usage(100, 1), text500),
    { requests: 1, code: 'LLM_UNAVAILABLE', tokens: 101, unknown: /^1 request/ },
  ],
  [
    'a cut before anything is shown',
    cut(usage(100, 1), CALL),
    { requests: 3, code: 'LLM_UNAVAILABLE', tokens: 303, unknown: /^3 request/ },
  ],
  [
    'zeros at its end',
    whole(delta({ content: 'Hi' }, 'stop'), usage(100, 20), usage(0, 0), DONE),
    { requests: 1, text: 'Hi', tokens: 120, unknown: /^$/ },
  ],
  [
    'an empty usage at its end',
    whole(delta({ content: 'Hi' }, 'stop'), usage(100, 20), 'data: {"choices":[],"usage":{}}\n\n', DONE),
    { requests: 1, text: 'Hi', tokens: 120, unknown: /^$/ },
  ],
  [
    'the sum so far in each piece',
    whole(usage(100, 1), usage(100, 9), delta({ content: 'Hi' }, 'stop'), usage(100, 20)),
    { requests: 1, text: 'Hi', tokens: 120, unknown: /^$/ },
  ],
  [
    '[DONE] and no reason',
    whole(delta({ content: 'Hi' }), usage(100, 20), DONE),
    { requests: 1, text: 'Hi', tokens: 120, unknown: /^$/ },
  ],
  [
    '[DONE] and an open connection',
    (response) => response.write(delta({ content: 'Hi' }, 'stop') + usage(100, 20) + DONE),
    { requests: 1, text: 'Hi', tokens: 120, unknown: /^$/ },
  ],
  [
    'empty reasons and a cut',
    cut(delta({ content: 'word '.repeat(500) }, '')),
    { requests: 1, code: 'LLM_UNAVAILABLE', estimated: 1, unknown: /^$/ },
  ],
  ['pieces of a call and a cut', cut(CALL), { requests: 3, code: 'LLM_UNAVAILABLE', estimated: 3, unknown: /^$/ }],
  [
    'nothing but its beginning and a cut',
    cut(delta({ role: 'assistant', content: '' })),
    { requests: 3, code: 'LLM_UNAVAILABLE', tokens: 0, estimated: 0, unknown: /^3 request/ },
  ],
  [
    'more than ten thousand calls and no usage',
    whole(...Array.from({ length: 10_001 }, (_, index) => callAt(index)), delta({}, 'tool_calls'), DONE),
    { requests: 1, code: 'LLM_BAD_REPLY', estimated: 1, unknown: /^$/ },
  ],
])('bills or lists a stream with %s', async (_what, answer, { requests, unknown, ...expected }) => {
  const bill = await billOf(answer);
  expect(bill).toMatchObject({ estimated: 0, ...expected });
  if (expected.estimated !== undefined) expect(Math.sign(bill.tokens ?? 0)).toBe(Math.sign(expected.estimated));
  expect(bill.unknown).toMatch(unknown);
  expect(models.received).toHaveLength(requests);
});

it.each([
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['deflate, gzip', (text: string) => gzipSync(deflateSync(text))],
])('tells a stream of 2 MB that is packed by %s', async (encoding, pack) => {
  const words = Array.from({ length: 9000 }, (_, index) => delta({ content: `w${index} ` }));
  models.script((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': encoding });
    response.end(
      pack(`${`: ${'x'.repeat(1000)}\n`.repeat(1500)}\n${words.join('')}${delta({}, 'stop')}${usage(100, 20)}${DONE}`),
    );
  });
  const { result, tokens } = await run();
  expect([result.text.split(' ').length, tokens.total, shown().join('') === result.text]).toEqual([9000, 120, true]);
  expect(models.received).toHaveLength(1);
});

it.each<[string, Record<string, string>, string, number]>([
  ['an encoding that is unknown', { 'content-encoding': 'zstd2' }, delta({ content: 'Hi' }), 1],
  ['bytes that are not of its encoding', { 'content-encoding': 'gzip' }, delta({ content: 'Hi' }), 1],
  ['an event that is longer than a reply', {}, `data: ${'x'.repeat(1_100_000)}`, 3],
  ['[DONE] and an open connection', {}, delta({ content: 'Hi' }, 'stop') + DONE, 1],
])('frees the connection of a stream with %s', async (...[, headers, text, requests]) => {
  const closed: Promise<unknown>[] = [];
  models.script(
    ...Array.from({ length: requests }, () => (_request: unknown, response: ServerResponse) => {
      closed.push(new Promise((resolve) => response.once('close', resolve)));
      response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
      response.write(text);
    }),
  );
  await run().catch(() => undefined);
  expect(closed).toHaveLength(requests);
  await Promise.all(closed);
});

it('keeps a finish reason when an empty one follows', async () => {
  models.script((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(delta({ content: 'Half' }, 'length') + delta({}, '') + usage(100, 20) + DONE);
  });
  expect(await run()).toMatchObject({ result: { text: 'Half' }, truncated: true });
});

it.each(Array.from({ length: 24 }, (_, turns) => turns))(
  'bills or lists a reply when its run is cancelled %i turns behind its end',
  async (turns) => {
    const streams = turns % 2 === 0;
    const stop = new AbortController();
    models.script((_request, response) => {
      const body = textReply('An answer', { prompt: 100, completion: 20 }).body as object;
      response.writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' });
      const stopLater = async (): Promise<void> => {
        for (let turn = 0; turn < turns / 2; turn++) await new Promise((resolve) => setImmediate(resolve));
        stop.abort();
      };
      response.end(streams ? streamText(body) : JSON.stringify(body), () => void stopLater());
    });
    const { tokens, warnings } = (await runtime
      .run(task(), { stream: streams, signal: stop.signal })
      .catch((error: unknown) => (error as RuntimeError).result)) as AgentResult;
    const unknown = warnings.filter(({ code }) => code === 'USAGE_UNKNOWN').length;
    expect([tokens.total, unknown]).toEqual(tokens.total === 120 ? [120, 0] : [0, 1]);
  },
);

describe('runtime.stream', () => {
  it('gives the events in their order, and the result last', async () => {
    models.script(toolReply([{ name: 'nothing' }]), textReply('Done'));
    const types: string[] = [];
    let last: unknown;
    for await (const event of runtime.stream(task())) {
      if (types.at(-1) !== event.type) types.push(event.type);
      last = event;
    }
    expect(types).toEqual(
      'run-start step-start tool-call tool-result step-end step-start text-delta step-end run-end'.split(' '),
    );
    expect(last).toMatchObject({ type: 'run-end', status: 'completed', result: { result: { text: 'Done' } } });
  });

  it('cancels the run of whoever leaves', async () => {
    let hasClosed = (): void => undefined;
    const closed = new Promise<void>((resolve) => (hasClosed = resolve));
    models.script((_request, response) => {
      response.on('close', hasClosed);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"One two three four "}}]}\n\n');
    });
    for await (const event of runtime.stream(task())) if (event.type === 'text-delta') break;
    await closed;
  });

  it('throws what the run fails of', async () => {
    models.script({ body: { error: { message: 'no' } }, status: 401 });
    const all = async (): Promise<void> => {
      for await (const event of runtime.stream(task())) events.push(event);
    };
    await expect(all()).rejects.toThrow(withCode('LLM_AUTH_FAILED'));
  });
});
