import type { ServerResponse } from 'node:http';

import { createHttpClient, MAX_MESSAGE_VALUES } from '../../../runtime/mcp/http-fetch';
import { startServer } from '../../support/servers/http-server';
import { until } from '../../support/values/until';

const client = createHttpClient(10);
afterAll(() => client.close());

const NO_AUTH = { allowedHosts: [], auth: { kind: 'none' } } as const;

/** What a server's answer, sent in these parts, is read as. */
async function read(type: string, ...parts: readonly string[]): Promise<string> {
  const server = await startServer((_request, response) => {
    response.writeHead(200, { 'content-type': type });
    for (const part of parts) response.write(part);
    response.end();
  });
  try {
    const response = await client.fetchFor({ url: server.url, ...NO_AUTH })(server.url);
    return await response.text();
  } finally {
    await server.close();
  }
}

const JSON_TYPE = 'application/json';
const EVENTS = 'text/event-stream';
const many = ','.repeat(MAX_MESSAGE_VALUES + 1);
const table = JSON.stringify({ text: `say "${many}\\",{[` });
const objects = `[${'{},'.repeat(MAX_MESSAGE_VALUES)}{}]`;

it.each([
  [JSON_TYPE, table],
  [EVENTS, `event: message\ndata: ${table}\n\n`],
])('commas within a text are no values: %s', async (type, body) => {
  expect(await read(type, body)).toBe(body);
  const half = Math.floor(body.length / 2);
  expect(await read(type, body.slice(0, half), body.slice(half))).toBe(body);
});

it.each([
  ['JSON', JSON_TYPE, objects],
  ['an event', EVENTS, `data: ${objects}\n\n`],
  ['an event behind another', EVENTS, `data: {}\n\ndata: ${objects}\n\n`],
  ['an event with other line ends', EVENTS, `data: {}\r\n\r\ndata: ${objects}\r\n\r\n`],
  ['an event whose name opens a text', EVENTS, `event: "\ndata: ${objects}`],
  ['an event whose name opens a text, with another line end', EVENTS, `event: "\rdata: ${objects}`],
  ['an event whose name ends in a mark of escape', EVENTS, `event: "\\\ndata: ${objects}`],
])('values beyond the bound are not read: %s', async (_what, type, body) => {
  await expect(read(type, body)).rejects.toThrow();
});

it.each(['\n', '\r\n', '\r'])('each event has a bound of its own, however its lines end: %j', async (end) => {
  const half = `data: [${'{},'.repeat(MAX_MESSAGE_VALUES / 2 - 10)}{}]${end}${end}`;
  expect(await read(EVENTS, half, half, half.slice(0, -1), half.slice(-1))).toBe(half.repeat(3));
});

it('a host gets so many sockets at most; what is more waits', async () => {
  const few = createHttpClient(2);
  const held: ServerResponse[] = [];
  const server = await startServer((_request, response) => void held.push(response));
  const fetch = few.fetchFor({ url: server.url, ...NO_AUTH });
  const replies = Array.from({ length: 5 }, async () => (await fetch(server.url)).text());
  for (let answered = 0; answered < 5; answered++) {
    await until(() => held.length > answered);
    expect(held.length).toBeLessThanOrEqual(answered + 2);
    held[answered]?.end('done');
  }
  expect(await Promise.all(replies)).toEqual(Array(5).fill('done'));
  await Promise.all([few.close(), server.close()]);
});

it('a stream is read no faster than 8 MB a second', async () => {
  jest.useFakeTimers({ now: 0, doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  const megabyte = `: ${'x'.repeat(1_000_000)}\n\n`;
  const server = await startServer((request, response) => {
    if (request.path !== '/stream') return void response.end();
    response.writeHead(200, { 'content-type': EVENTS });
    for (let count = 0; count < 20; count++) response.write(megabyte);
  });
  const fetch = client.fetchFor({ url: server.url, ...NO_AUTH });
  const response = await fetch(`${server.url}/stream`);
  let read = 0;
  const reading = (async () => {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) read += chunk.length;
  })().catch(() => undefined);
  await until(() => read > 8_000_000);
  // Enough turns of the loop for the rest, if it were read.
  for (let count = 0; count < 100; count++) await (await fetch(server.url)).text();
  expect(read).toBeLessThan(9_000_000);
  jest.advanceTimersByTime(1000);
  await until(() => read > 16_000_000);
  jest.useRealTimers();
  await server.close();
  await reading;
});
