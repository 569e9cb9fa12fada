import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

import { startServer, type TestServer } from '../../../support/servers/http-server';
import { callTool } from '../../../support/worlds/call-tool';

let server: TestServer;
let answer: { readonly headers: Record<string, string>; readonly body: Buffer; readonly status?: number };
beforeAll(async () => {
  server = await startServer((_request, response) => {
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
  });
});
afterAll(() => server.close());

const CITY = '{"city":"München"}';
const TYPE = 'application/json';
const latin = Buffer.from(CITY, 'latin1');
const utf16 = Buffer.from(CITY, 'utf16le');
const packed = (encoding: string): Record<string, string> => ({ 'content-type': TYPE, 'content-encoding': encoding });

async function call(headers: Record<string, string>, body: Buffer, maxOutputBytes?: number) {
  answer = { headers, body };
  return (await callTool({ transport: 'hook', endpoint: server.url }, {}, { maxOutputBytes })).output;
}

it.each<[string, Record<string, string>, Buffer]>([
  ['in UTF-8', { 'content-type': TYPE }, Buffer.from(CITY)],
  ['in UTF-8 without a type', {}, Buffer.from(CITY)],
  ['with a byte order mark', { 'content-type': TYPE }, Buffer.from(`\ufeff${CITY}`)],
  ['in ISO 8859-1', { 'content-type': `${TYPE}; charset=iso-8859-1` }, latin],
  ['in ISO 8859-1, in quotes', { 'content-type': `${TYPE}; charset="ISO-8859-1"` }, latin],
  ['in ISO 8859-1, which it does not say', { 'content-type': TYPE }, latin],
  ['in UTF-16, as its mark says', { 'content-type': TYPE }, Buffer.concat([Buffer.from([0xff, 0xfe]), utf16])],
  ['in UTF-16, as its header says', { 'content-type': `${TYPE}; charset=utf-16le` }, utf16],
  ['in gzip, unasked', packed('gzip'), gzipSync(CITY)],
  ['in x-gzip', packed('X-GZIP'), gzipSync(CITY)],
  ['in deflate', packed('deflate'), deflateSync(CITY)],
  ['in Brotli', packed('br'), brotliCompressSync(CITY)],
  ['in two encodings', packed('deflate, gzip'), gzipSync(deflateSync(CITY))],
  ['in gzip and ISO 8859-1', { ...packed('gzip'), 'content-type': `${TYPE}; charset=iso-8859-1` }, gzipSync(latin)],
])('an answer %s is read', async (_how, headers, body) => {
  expect(await call(headers, body)).toMatchObject({ isError: false, value: { city: 'München' } });
});

it('reads an empty answer that claims to be compressed', async () => {
  expect(await call(packed('gzip'), Buffer.alloc(0))).toMatchObject({ isError: false });
});

it.each<[string, Record<string, string>, Buffer, RegExp]>([
  ['an unknown charset', { 'content-type': `${TYPE}; charset=klingon` }, latin, /charset "klingon"/],
  ['an unknown encoding', packed('zstd'), latin, /content encoding "zstd"/],
  ['an encoding that it does not have', packed('gzip'), latin, /content encoding "gzip"/],
])('an answer with %s is an error that names it', async (...[, headers, body, reason]) => {
  const output = await call(headers, body);
  expect(output).toMatchObject({ isError: true, code: 'TOOL_FAILED' });
  expect(JSON.stringify(output?.value).replaceAll('\\', '')).toMatch(reason);
});

it('unpacks only the beginning of a small answer that unpacks to 64 MB', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 'a'));
  const output = await call({ 'content-type': 'text/plain', 'content-encoding': 'gzip' }, bomb, 1024);
  expect(output?.isError).toBe(false);
  expect(JSON.stringify(output).length).toBeLessThan(10_000);
});

it('leaves out a character that the limit cuts', async () => {
  const output = await call({ 'content-type': 'text/plain' }, Buffer.from('ü'.repeat(2000)), 1001);
  expect(JSON.stringify(output?.value)).not.toMatch(/\ufffd|Ã/);
});
