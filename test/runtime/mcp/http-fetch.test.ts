import { createHttpClient, MAX_MESSAGE_VALUES } from '../../../runtime/mcp/http-fetch';
import { startServer } from '../../support/servers/http-server';

const client = createHttpClient();
afterAll(() => client.close());

/** What a server's answer, sent in these parts, is read as. */
async function read(type: string, ...parts: readonly string[]): Promise<string> {
  const server = await startServer((_request, response) => {
    response.writeHead(200, { 'content-type': type });
    for (const part of parts) response.write(part);
    response.end();
  });
  try {
    const auth = { kind: 'none' } as const;
    const response = await client.fetchFor({ url: server.url, allowedHosts: [], auth })(server.url);
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
  ['an event whose name opens a text', EVENTS, `event: "\ndata: ${objects}`],
  ['an event whose name opens a text, with another line end', EVENTS, `event: "\rdata: ${objects}`],
  ['an event whose name ends in a mark of escape', EVENTS, `event: "\\\ndata: ${objects}`],
])('values beyond the bound are not read: %s', async (_what, type, body) => {
  await expect(read(type, body)).rejects.toThrow();
});
