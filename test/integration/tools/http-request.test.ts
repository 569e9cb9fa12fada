import dns, { type LookupAddress } from 'node:dns';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type LookupFunction, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

import type { EgressFilter } from '../../../runtime/contracts/tools/tool';
import { type ReceivedRequest, sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { containing } from '../../support/setup/matchers';
import { callTool, type CallToolOptions } from '../../support/worlds/call-tool';

/** Names that resolve as an attacker would have them. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'looks-public.test': ['127.0.0.1'],
  'both.test': ['127.0.0.1', '169.254.169.254', '::1'],
  'api.internal.test': ['127.0.0.1'],
};
const looked: string[] = [];
const mockLookup: LookupFunction = (host, _options, callback) => {
  looked.push(host);
  const addresses = NAMES[host]?.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }));
  if (addresses !== undefined) return callback(null, addresses);
  callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' }), []);
};

let api: TestServer;
let other: TestServer;
let port: number;
let answer: (request: ReceivedRequest, response: ServerResponse) => void;
/** Nothing should ever connect to it. */
let forbidden: Server;
let forbiddenPort: number;
let connections = 0;
const sockets = new Set<Socket>();

beforeAll(async () => {
  api = await startServer((request, response) => answer(request, response));
  other = await startServer((_asked, response) => sendJson(response, {}));
  port = Number(new URL(api.url).port);
  forbidden = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nCANARY');
  });
  await new Promise<void>((resolve) => forbidden.listen(0, resolve));
  forbiddenPort = (forbidden.address() as AddressInfo).port;
  // After the servers listen, since they look up their address too.
  jest.spyOn(dns, 'lookup').mockImplementation(mockLookup as unknown as typeof dns.lookup);
});
beforeEach(() => {
  answer = (request, response) => sendJson(response, { path: request.path });
  api.requests.length = 0;
  other.requests.length = 0;
  looked.length = 0;
  connections = 0;
});
afterAll(async () => {
  jest.restoreAllMocks();
  await Promise.all([api.close(), other.close()]);
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => forbidden.close(resolve));
});

interface Call {
  readonly allowed?: readonly string[];
  readonly config?: object;
  readonly row?: object;
  readonly custom?: object;
  readonly options?: CallToolOptions;
}

const request = (
  input: object,
  { allowed = ['127.0.0.1', api.url], config = {}, row = {}, custom = {}, options }: Call = {},
) =>
  callTool(
    {
      code: 'http_request',
      transport: 'builtin',
      endpoint: null,
      transportConfig: { ...config },
      customConfig: { allowed_hosts: allowed, ...custom },
      ...row,
    },
    { method: 'GET', ...input },
    options,
  );
const get = (url: string, call?: Call) => request({ url }, call);

const redirect = (status: number, location: string) => (asked: ReceivedRequest, response: ServerResponse) => {
  if (!asked.path.startsWith('/from')) return sendJson(response, { at: asked.path });
  response.writeHead(status, { location }).end();
};

describe('an answer', () => {
  it('comes with its status, the headers to act on, and its JSON', async () => {
    answer = (_asked, response) => {
      response.setHeader('set-cookie', 'a=b');
      response.setHeader('etag', '"1"');
      sendJson(response, { rows: [1] }, 201);
    };
    expect((await get(`${api.url}/x?y=1#z`)).output).toEqual({
      isError: false,
      value: { status: 201, headers: { 'content-type': 'application/json', etag: '"1"' }, body: { rows: [1] } },
    });
    expect(api.requests).toMatchObject([{ method: 'GET', path: '/x?y=1', headers: { 'accept-encoding': 'identity' } }]);
  });

  it('may be text, in the encoding that its server names', async () => {
    answer = (_asked, response) =>
      void response
        .writeHead(200, { 'content-type': 'text/plain; charset=windows-1251' })
        .end(Buffer.from('cfeee8f1ea', 'hex'));
    expect((await get(api.url)).value.body).toBe('Поиск');
  });

  it.each([
    ['an image', { 'content-type': 'image/png' }, Buffer.from('89504e47', 'hex')],
    [
      'what was compressed unasked',
      { 'content-type': 'text/plain', 'content-encoding': 'gzip' },
      gzipSync('x'.repeat(1e7)),
    ],
  ])('is not shown when it is %s', async (_kind, headers, body) => {
    answer = (_asked, response) => void response.writeHead(200, headers).end(body);
    expect((await get(api.url)).value).toMatchObject({ status: 200, body: null });
  });

  it.each([['application/json'], ['text/plain']])('of %s is cut to what fits, and stays JSON', async (type) => {
    const text = JSON.stringify({ text: '\u0001"ü'.repeat(200_000) });
    answer = (_asked, response) => void response.writeHead(200, { 'content-type': type }).end(text);
    const { output, value } = await get(api.url, { options: { maxOutputBytes: 5000 } });
    expect(output?.isError).toBe(false);
    expect(value).toMatchObject({ status: 200, truncated: true });
    expect(Buffer.byteLength(JSON.stringify(value))).toBeLessThanOrEqual(5000);
    expect(Buffer.byteLength(JSON.stringify(value))).toBeGreaterThan(3000);
  });

  it('of 400 and above is a failure with its body', async () => {
    answer = (_asked, response) => sendJson(response, { error: 'no such page' }, 404);
    expect((await get(api.url)).output).toMatchObject({
      isError: true,
      code: 'TOOL_HTTP_ERROR',
      value: { message: containing('HTTP 404: {"error":"no such page"}') },
    });
  });

  it('of 429 says when to come back', async () => {
    answer = (_asked, response) => void response.writeHead(429, { 'retry-after': '7' }).end('slow');
    expect((await get(api.url)).output).toMatchObject({
      code: 'TOOL_BUSY',
      value: { message: containing('in 7 seconds') },
    });
  });
});

describe('what is sent', () => {
  it.each([
    [{ a: [1] }, '{"a":[1]}', 'application/json'],
    [{}, '{}', 'application/json'],
    ['a=1', 'a=1', 'text/plain; charset=utf-8'],
  ])('is %j as a body', async (body, sent, type) => {
    await request({ url: api.url, method: 'POST', body });
    expect(api.requests).toMatchObject([{ method: 'POST', body: sent, headers: { 'content-type': type } }]);
  });

  it('has the headers that the model sets, Authorization and Cookie too', async () => {
    const headers = { Authorization: 'Bearer user', Cookie: 'a=b', 'X-Own': 'y', 'Content-Type': 'application/xml' };
    await request({ url: api.url, method: 'PUT', headers, body: '<a/>' });
    expect(api.requests).toMatchObject([
      { headers: { authorization: 'Bearer user', cookie: 'a=b', 'x-own': 'y', 'content-type': 'application/xml' } },
    ]);
  });

  it.each([
    ['Host', 'evil.test'],
    ['content-length', '5'],
    ['Connection', 'close'],
    ['Transfer-Encoding', 'chunked'],
    ['Proxy-Authorization', 'x'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-Forwarded-For', '127.0.0.1'],
    ['bad name', 'x'],
    ['x-split', 'a\r\nhost: evil.test'],
  ])('has no header %s: %j', async (name, value) => {
    const { output } = await request({ url: api.url, headers: { [name]: value } });
    expect(output).toMatchObject({ code: 'TOOL_INVALID_ARGS', value: { message: containing(`headers.${name}`) } });
    expect(api.requests).toHaveLength(0);
  });

  it('is no body with GET, but nothing is made of an empty one', async () => {
    expect((await request({ url: api.url, body: 'x' })).output?.code).toBe('TOOL_INVALID_ARGS');
    expect((await request({ url: api.url, body: {} })).output?.isError).toBe(false);
  });

  it('has the headers of the row for allowed hosts, which win over those of the model', async () => {
    const row = { authHeader: 'Bearer CANARY-row' };
    await request({ url: api.url, headers: { authorization: 'Bearer model' } }, { row });
    expect(api.requests[0]?.headers.authorization).toBe('Bearer CANARY-row');
  });

  const ROW = { row: { authHeader: 'Bearer CANARY-row' }, custom: { headers: { 'x-tenant-key': 'CANARY' } } };

  it('has the headers of the row for the scheme and port that is allowed, and for no other of the host', async () => {
    const allowed = ['127.0.0.1', api.url];
    await request({ url: api.url }, { ...ROW, allowed });
    await request({ url: other.url }, { ...ROW, allowed });
    expect(JSON.stringify(api.requests)).toContain('CANARY-row');
    expect(other.requests).toHaveLength(1);
    expect(JSON.stringify(other.requests)).not.toContain('CANARY');
  });

  it('has them over http for no mere name of a host, which any port and anybody between could be', async () => {
    await request({ url: api.url }, { ...ROW, allowed: ['127.0.0.1'] });
    expect(api.requests).toHaveLength(1);
    expect(JSON.stringify(api.requests)).not.toContain('CANARY');
  });

  it('goes to no other port of a host that is allowed with one', async () => {
    const { output } = await get(other.url, { allowed: [api.url] });
    expect(output).toMatchObject({
      code: 'TOOL_PERMISSION_DENIED',
      value: { message: containing('another scheme or port') },
    });
    const https = await get(api.url.replace('http:', 'https:'), { allowed: [api.url] });
    expect(https.output?.code).toBe('TOOL_PERMISSION_DENIED');
    expect((await get(api.url, { allowed: [api.url] })).output?.isError).toBe(false);
    expect(other.requests).toEqual([]);
  });

  it('is only what the methods of the row allow', async () => {
    const config = { methods: ['get', 'POST'] };
    expect((await request({ url: api.url, method: 'DELETE' }, { config })).output).toMatchObject({
      code: 'TOOL_PERMISSION_DENIED',
      value: { message: containing('DELETE is not allowed; allowed are GET, POST') },
    });
    expect((await get(api.url, { config })).output?.isError).toBe(false);
    expect(api.requests).toHaveLength(1);
  });
});

describe('refused before a byte is sent', () => {
  const expectRefused = async (url: string, call?: Call): Promise<void> => {
    const { output } = await get(url, call);
    expect(output).toMatchObject({ isError: true, code: 'TOOL_PERMISSION_DENIED' });
    expect(connections).toBe(0);
  };

  it('is a redirect to another protocol, or with a password', async () => {
    for (const location of ['file:///etc/passwd', `http://a:b@127.0.0.1:${forbiddenPort}/`]) {
      answer = redirect(302, location);
      await expectRefused(`${api.url}/from`);
    }
  });

  it('is a public host where only allowed hosts are asked', async () => {
    await expectRefused('http://93.184.216.34/', { config: { only_allowed_hosts: true } });
    await expectRefused('http://looks-public.test/', { config: { only_allowed_hosts: true } });
    expect(looked).toEqual([]);
  });

  it('is what the rules of the installation forbid, although ours allow it', async () => {
    const url = `http://127.0.0.1:${forbiddenPort}/`;
    const options = {
      egress: egress({ validateUrl: () => Promise.resolve({ ok: false, error: new Error('CANARY') }) }),
    };
    await expectRefused(url, { options });
    const allowed = ['api.internal.test'];
    const lookup: LookupFunction = (_host, _options, callback) => callback(new Error('blocked'), []);
    await expectRefused(`http://api.internal.test:${forbiddenPort}/`, {
      allowed,
      options: { egress: egress({ createSecureLookup: () => lookup }) },
    });
  });

  it('is what ours forbid, although the rules of the installation allow it', async () => {
    await expectRefused(`http://looks-public.test:${forbiddenPort}/`, { allowed: [], options: { egress: egress({}) } });
    await expectRefused(`http://127.0.0.1:${forbiddenPort}/`, { allowed: [], options: { egress: egress({}) } });
  });
});

function egress(more: Partial<EgressFilter>): EgressFilter {
  return { validateUrl: () => Promise.resolve({ ok: true }), createSecureLookup: () => mockLookup, ...more };
}

describe('a name', () => {
  it('that the operator allows is resolved once, and asked at the address that was judged', async () => {
    const { output } = await get(`http://api.internal.test:${port}/`, { allowed: ['*.internal.test'] });
    expect(output?.isError).toBe(false);
    expect(looked).toEqual(['api.internal.test']);
    expect(api.requests[0]?.headers.host).toBe(`api.internal.test:${port}`);
  });

  it('that does not exist is unreachable, not forbidden', async () => {
    for (const options of [undefined, { egress: egress({}) }]) {
      const { output } = await get('http://nowhere.test/', { options });
      expect(output).toMatchObject({ code: 'TOOL_UNREACHABLE', value: { message: containing('ENOTFOUND') } });
    }
  });

  it('of one tenant is not open to another over a warm connection', async () => {
    const url = `http://api.internal.test:${port}/`;
    expect((await get(url, { allowed: ['api.internal.test'] })).output?.isError).toBe(false);
    expect((await get(url, { allowed: [] })).output?.code).toBe('TOOL_PERMISSION_DENIED');
    expect(api.requests).toHaveLength(1);
  });
});

describe('a redirect', () => {
  it.each([
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [302, 'PUT', 'PUT', 'x'],
    [307, 'POST', 'POST', 'x'],
    [308, 'POST', 'POST', 'x'],
  ])('%i turns %s into %s', async (...[status, method, becomes, body]) => {
    answer = redirect(status, '/to');
    expect((await request({ url: `${api.url}/from`, method, body: 'x' })).value.body).toEqual({ at: '/to' });
    expect(api.requests[1]).toMatchObject({ method: becomes, body });
    expect('content-type' in (api.requests[1]?.headers ?? {})).toBe(body !== '');
  });

  it('to another origin takes no secret along, neither of the model nor of the row', async () => {
    answer = redirect(307, `${other.url}/to`);
    const headers = {
      authorization: 'Bearer CANARY-model',
      cookie: 'CANARY',
      'x-api-key': 'CANARY',
      accept: 'text/csv',
    };
    const call = { row: { authHeader: 'Bearer CANARY-row' }, custom: { headers: { 'x-tenant-key': 'CANARY' } } };
    await request({ url: `${api.url}/from`, headers }, call);
    expect(JSON.stringify(api.requests[0]?.headers)).toContain('CANARY');
    expect(JSON.stringify(other.requests)).not.toContain('CANARY');
    expect(other.requests).toMatchObject([{ path: '/to', headers: { accept: 'text/csv' } }]);
  });

  it('to another scheme or port of the same host takes none along either, even where they could be sent', async () => {
    answer = redirect(307, `${other.url}/to`);
    const call = { row: { authHeader: 'Bearer CANARY-row' }, allowed: [api.url, other.url] };
    await request({ url: `${api.url}/from` }, call);
    expect(JSON.stringify(api.requests)).toContain('CANARY');
    expect(other.requests).toHaveLength(1);
    expect(JSON.stringify(other.requests)).not.toContain('CANARY');
  });

  it('within an origin keeps them', async () => {
    answer = redirect(307, '/to');
    await request({ url: `${api.url}/from`, headers: { 'x-api-key': 'k' } }, { row: { authHeader: 'Bearer r' } });
    expect(api.requests[1]?.headers).toMatchObject({ 'x-api-key': 'k', authorization: 'Bearer r' });
  });

  it('is asked of the rules of the installation too', async () => {
    answer = redirect(302, '/to');
    const asked: string[] = [];
    const validateUrl: EgressFilter['validateUrl'] = (url) => {
      asked.push(String(url));
      return Promise.resolve({ ok: asked.length < 2 });
    };
    const { output } = await get(`${api.url}/from`, { options: { egress: egress({ validateUrl }) } });
    expect(output?.code).toBe('TOOL_PERMISSION_DENIED');
    expect(asked).toEqual([`${api.url}/from`, `${api.url}/to`]);
    expect(api.requests).toHaveLength(1);
  });

  it('is followed five times, not six', async () => {
    answer = (asked, response) => {
      const left = Number(asked.path.slice(1));
      if (left === 0) return sendJson(response, 'there');
      response.writeHead(302, { location: `/${left - 1}` }).end();
    };
    expect((await get(`${api.url}/5`)).value.body).toBe('there');
    expect((await get(`${api.url}/6`)).value.message).toContain('more than 5 redirects');
  });

  it('without a place to go is the answer', async () => {
    answer = (_asked, response) => void response.writeHead(304).end();
    expect((await get(api.url)).value.status).toBe(304);
  });
});

it('stops with the run', async () => {
  const controller = new AbortController();
  answer = () => controller.abort();
  const { output } = await get(api.url, { options: { signal: controller.signal } });
  expect(output?.code).toBe('TOOL_CANCELLED');
});

it.each([
  [{ custom: { allowed_hosts: ['http://a/'] } }, 'which is no host'],
  [{ custom: { allowed_hosts: ['a:80'] } }, 'which is no host'],
  [{ custom: { allowed_hosts: ['http://u@a'] } }, 'which is no host'],
  [{ custom: { allowed_hosts: ['ftp://a'] } }, 'which is no host'],
  [{ config: { methods: ['FLY'] } }, 'transport_config.methods.0'],
  [{ config: { methods: [] } }, 'transport_config.methods'],
  [{ config: { only_allowed_hosts: 'yes' } }, 'transport_config.only_allowed_hosts'],
])('is not offered with %j', async (call, reason) => {
  expect((await get(api.url, call)).warnings).toMatchObject([{ code: 'TOOL_SKIPPED', message: containing(reason) }]);
});
