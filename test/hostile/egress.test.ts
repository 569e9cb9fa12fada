import '../support/setup/errors-of-node';

import dns, { type LookupAddress } from 'node:dns';
import { type AddressInfo, createServer, type LookupFunction, type Server, type Socket } from 'node:net';

import { startServer, type TestServer } from '../support/servers/http-server';
import { textReply, toolReply } from '../support/servers/model-server';
import { type Aftermath, type HostileTool, hostileWorld, told, toldCodes } from '../support/worlds/hostile-world';

const world = hostileWorld();
const DONE = textReply('Done');

/** Names as an attacker would have them resolve, time after time. */
// 11.0.0.0/8 is public, and nobody answers there.
const NAMES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'inside.test': [['127.0.0.1']],
  'inside6.test': [['::1']],
  'outside.test': [['127.0.0.1']],
  'metadata.test': [['169.254.169.254']],
  'all-inside.test': [['10.0.0.1', '127.0.0.1', '::ffff:127.0.0.1', '100.64.0.1']],
  'rebinds.test': [['11.22.33.44'], ['127.0.0.1'], ['127.0.0.1']],
  'mixed.test': [['127.0.0.1', '11.22.33.44']],
};
const looked: string[] = [];
/** Stands for everything inside; nothing may ever connect to it. */
let inside: Server;
let port: number;
let connections = 0;
const sockets = new Set<Socket>();
let outside: TestServer;
let redirectTo = '';

beforeAll(async () => {
  inside = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 13\r\n\r\nCANARY-INSIDE');
  });
  // Every address of this machine, of both kinds.
  await new Promise<void>((resolve) => inside.listen(0, '::', resolve));
  ({ port } = inside.address() as AddressInfo);
  outside = await startServer(({ path }, response) => {
    const status = Number(path.split('/')[2] ?? 302);
    response.writeHead(status, { location: redirectTo, 'content-type': 'text/plain' }).end('CANARY-REDIRECT');
  });
  const original = dns.lookup as unknown as LookupFunction;
  const lookup: LookupFunction = (host, options, callback) => {
    const turns = NAMES[host];
    if (turns === undefined) return original(host, options, callback);
    const turn = turns[looked.filter((name) => name === host).length] ?? turns.at(-1) ?? [];
    looked.push(host);
    const found = turn.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }));
    callback(null, found);
  };
  jest.spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup);
});
beforeEach(() => {
  connections = 0;
  looked.length = 0;
});
afterAll(async () => {
  jest.restoreAllMocks();
  for (const socket of sockets) socket.destroy();
  await outside.close();
  await new Promise((resolve) => inside.close(resolve));
});

const builtin = (code: string, customConfig: object = {}): HostileTool => ({
  code,
  transport: 'builtin',
  endpoint: null,
  timeoutMs: 1500,
  authHeader: 'Bearer canary-of-the-row',
  customConfig,
});
const WAYS = [
  ['http_request', (url: string) => ({ method: 'GET', url, headers: { 'x-model': 'canary-of-the-model' } })],
  ['web_fetch', (url: string) => ({ url })],
  ['extract', (url: string) => ({ url, selector: 'p' })],
] as const;

const ask = (code: string, given: object, customConfig?: object): Promise<Aftermath> =>
  world.attack({
    tools: [builtin(code, customConfig)],
    replies: [toolReply([{ name: code, arguments: given }]), DONE],
  });

/** The model was told no, and neither it nor anybody else saw what is inside. */
function expectRefused(aftermath: Aftermath, codes: readonly string[] = ['TOOL_PERMISSION_DENIED']): void {
  expect(connections).toBe(0);
  expect(codes).toContain(toldCodes(aftermath)[0]);
  expect(JSON.stringify([aftermath.sent, aftermath.result, aftermath.executions])).not.toContain('CANARY');
  expect(aftermath.executions).toMatchObject([{ is_error: true }]);
  expect(aftermath.result).toMatchObject({ status: 'completed' });
}

const HOSTS = [
  '127.0.0.1',
  '127.1',
  '0x7f.1',
  '0x7f000001',
  '0177.0.0.1',
  '2130706433',
  '017700000001',
  '127.0.0.1.',
  '①②⑦.0.0.1',
  '127。0。0。1',
  '%31%32%37.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '0',
  'localhost',
  'LOCALHOST.',
  'evil.localhost',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:7f00:1]',
  '[::ffff:127.0.0.1]',
  '[::7f00:1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[fe80::1]',
  '[fc00::1]',
  '[fec0::1]',
  '[ff02::1]',
  '169.254.169.254',
  '0xa9fea9fe',
  '[::ffff:a9fe:a9fe]',
  '[fd00:ec2::254]',
  '100.64.0.1',
  '100.127.255.255',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.0.0.192',
  '100.100.100.200',
  '168.63.129.16',
  '0xa83f8110',
  '[::ffff:168.63.129.16]',
  '161.26.0.10',
  '166.8.0.1',
  'metadata.google.internal',
  'METADATA.google.internal.',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
];

it.each(HOSTS)('case 24: %s as the host of an address is refused, however it is written', async (host) => {
  const [code, given] = WAYS[HOSTS.indexOf(host) % WAYS.length] ?? WAYS[0];
  expectRefused(await ask(code, given(`http://${host}:${port}/latest/meta-data`)));
});

it.each(WAYS)('case 24: %s asks nothing inside by any of these spellings', async (code, given) => {
  for (const host of ['0x7f.1', '[::ffff:7f00:1]', '169.254.169.254', '100.64.0.1']) {
    const tenantId = (await world.attack({ replies: [DONE] })).tenantId;
    await world.fixture().database.query('DELETE FROM elo_agent_tools');
    expectRefused(
      await world.attack({
        tenantId,
        tools: [builtin(code)],
        replies: [toolReply([{ name: code, arguments: given(`http://${host}:${port}/`) }]), DONE],
      }),
    );
  }
});

it.each([
  ['another scheme', () => 'file:///etc/passwd'],
  ['a scheme of old', () => `gopher://127.0.0.1:${port}/_GET`],
  ['a WebSocket', () => `ws://127.0.0.1:${port}/`],
  ['data', () => 'data:text/plain,x'],
  ['a user before the host', () => `http://example.com@127.0.0.1:${port}/`],
  ['a user that is a host', () => `http://example.com:80@[::1]:${port}/`],
  ['a backslash before the host', () => `http://metadata.test\\@127.0.0.1:${port}/`],
  ['too few slashes', () => `http:127.0.0.1:${port}/`],
  ['too many slashes', () => `http:////127.0.0.1:${port}/`],
  ['a tab within', () => `ht\ttp://127.0.0.1:${port}/`],
  ['no scheme', () => `//127.0.0.1:${port}/`],
  ['no address', () => 'http://'],
])('case 24: an address with %s is refused', async (_what, url) => {
  expectRefused(await ask('http_request', { method: 'GET', url: url() }), [
    'TOOL_PERMISSION_DENIED',
    'TOOL_INVALID_ARGS',
  ]);
});

it.each(['inside.test', 'inside6.test', 'metadata.test', 'all-inside.test'])(
  'case 24: a public name that leads inside is refused when it is resolved: %s',
  async (host) => {
    const aftermath = await ask('http_request', { method: 'GET', url: `http://${host}:${port}/` });
    expectRefused(aftermath);
    expect(looked).toEqual([host]);
    expect(told(aftermath)[0]).toContain('has no public address');
  },
);

it.each(['rebinds.test', 'mixed.test'])(
  'case 24: a name that changes, or has two faces, is resolved once, and only what was judged is asked: %s',
  async (host) => {
    const aftermath = await ask('http_request', { method: 'GET', url: `http://${host}:${port}/` });
    // The public address is not there for this machine, or answers what it likes; the inside was never asked.
    expect(connections).toBe(0);
    expect(looked.filter((name) => name === host)).toHaveLength(1);
    expect(JSON.stringify([aftermath.sent, aftermath.result])).not.toContain('CANARY');
  },
);

describe.each([301, 302, 303, 307, 308])('a redirect with %i', (status) => {
  it.each([
    ['an address', () => `http://127.0.0.1:${port}/`],
    ['an address of the new kind', () => `http://[::1]:${port}/`],
    ['an address in disguise', () => `http://0x7f.1:${port}/`],
    ['a name', () => `http://localhost:${port}/`],
    ['a name that leads there', () => `http://inside.test:${port}/`],
    ['the metadata of a cloud', () => 'http://169.254.169.254/latest'],
    ['a file', () => 'file:///etc/passwd'],
  ])('case 24: to the inside is judged anew, and shows neither body nor credential: %s', async (_what, target) => {
    redirectTo = target();
    const before = outside.requests.length;
    const aftermath = await ask(
      'http_request',
      { method: 'GET', url: `http://outside.test:${new URL(outside.url).port}/redirect/${status}` },
      { allowed_hosts: [outside.url.replace('127.0.0.1', 'outside.test')] },
    );
    expect(outside.requests.slice(before)).toMatchObject([{ headers: { authorization: 'Bearer canary-of-the-row' } }]);
    expectRefused(aftermath);
  });
});

it("case 24: an address in a model's text makes no other tool go there: the row alone says where", async () => {
  const url = `http://127.0.0.1:${port}/`;
  const aftermath = await world.attack({
    tools: [{ code: 'stock' }],
    replies: [
      toolReply([
        { name: 'stock', arguments: { url, endpoint: url, mcp_endpoint: url, allowed_hosts: ['127.0.0.1'] } },
      ]),
      DONE,
    ],
  });
  expect(connections).toBe(0);
  expect(aftermath.executed).toMatchObject([{ path: '/stock', arguments: { url } }]);
});

it('case 24: a server of tools that redirects is not followed: its credential stays where the row sent it', async () => {
  world.answer((_request, response) => void response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end());
  const aftermath = await world.attack({
    tools: [{ code: 'stock', authHeader: 'Bearer canary-of-the-row' }],
    replies: [toolReply([{ name: 'stock' }]), DONE],
  });
  expect(connections).toBe(0);
  expect(toldCodes(aftermath)).toEqual(['TOOL_HTTP_ERROR']);
});
