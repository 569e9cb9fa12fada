import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';

import { addTenant, giveTool } from '../../support/servers/database';
import { type ReceivedRequest, sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';
import { callTool } from '../../support/worlds/call-tool';

const TOKEN = 'CANARY-telegram:token/1+2';
const API_KEY = 'CANARY-api-key';

let server: TestServer;
let answer: (request: ReceivedRequest, response: ServerResponse) => void;

beforeAll(async () => {
  server = await startServer((request, response) => answer(request, response));
});
beforeEach(() => {
  answer = (_request, response) => sendJson(response, { success: true, data: { id: 7 } });
  server.requests.length = 0;
});
afterAll(() => server.close());

const call = (transportConfig: object, input: Parameters<typeof callTool>[1] = {}, more: object = {}) =>
  callTool({ transport: 'rest', endpoint: server.url, transportConfig: transportConfig as never, ...more }, input);
const replies = (value: unknown, status = 200, headers: Record<string, string> = {}) => {
  answer = (_request, response) => {
    for (const [name, text] of Object.entries(headers)) response.setHeader(name, text);
    sendJson(response, value, status);
  };
};

/** The row of a messenger server as installations have it, with its secrets put in. */
const TELEGRAM = {
  path: '/api/send',
  headers: { 'X-API-Key': API_KEY },
  body: { token: TOKEN, chat_id: '{{chat_id}}', text: '{{text}}', parse_mode: '{{parse_mode}}' },
};

describe('a messenger server', () => {
  it('gets token, chat and text, and its API key', async () => {
    const { output } = await call(TELEGRAM, { chat_id: '42', text: 'Hi {{token}}' });
    expect(output).toEqual({ isError: false, value: { success: true, data: { id: 7 } } });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/api/send', headers: { 'x-api-key': API_KEY } });
    expect(JSON.parse(request?.body ?? '')).toEqual({ token: TOKEN, chat_id: '42', text: 'Hi {{token}}' });
  });

  it.each([
    [200, '{"success":false,"error":"chat not found","error_code":"NOT_FOUND"}', ['TOOL_FAILED', 'chat not found']],
    [200, '{"success":false,"error":"Bad Request","message":"no text"}', ['TOOL_FAILED', 'Bad Request: no text']],
    [401, '{"success":false,"error":"bad key"}', ['TOOL_HTTP_ERROR', 'HTTP 401']],
    [500, 'oops', ['TOOL_HTTP_ERROR', 'oops']],
  ])('that answers HTTP %i and %s is told of as %j', async (status, body, [code, message]) => {
    answer = (_request, response) => void response.writeHead(status).end(body);
    expect((await call(TELEGRAM, { chat_id: '1', text: 'x' })).output).toMatchObject({
      isError: true,
      code,
      value: { message: containing(message ?? '') },
    });
  });

  it.each([
    ['seconds', '30', /try again in 30 seconds/],
    ['a date', new Date(Date.now() + 100_000).toUTCString(), /try again in (9\d|100) seconds/],
    ['words', 'soon', /try again later/],
    ['nothing', '', /try again later/],
  ])('that limits the rate and says when with %s', async (_kind, retryAfter, told) => {
    replies({ success: false, error: 'slow down' }, 429, { 'retry-after': retryAfter });
    const { output, value } = await call(TELEGRAM, { chat_id: '1', text: 'x' });
    expect(output?.code).toBe('TOOL_BUSY');
    expect(value.message).toMatch(told);
    expect(value.message).toContain('slow down');
  });

  it('that repeats every secret gives none away, however it fails', async () => {
    for (const status of [200, 401, 429, 500]) {
      answer = (request, response) => {
        const all = { success: status !== 200, error: `${request.body} ${String(request.headers['x-api-key'])}` };
        sendJson(response, all, status);
      };
      const { output } = await call(TELEGRAM, { chat_id: '1', text: 'x' });
      expect(inspect(output)).toContain('[redacted]');
      expect(inspect(output)).not.toContain('CANARY');
    }
  });

  it('that is not there is told of without its secrets', async () => {
    const { output } = await call(TELEGRAM, { chat_id: '1', text: 'x' }, { endpoint: 'http://127.0.0.1:1' });
    expect(output?.code).toBe('TOOL_UNREACHABLE');
    expect(inspect(output)).not.toContain('CANARY');
  });
});

it('sends a field under the name that the server knows it by', async () => {
  await call({ path: '/api/messages/send', rename: { phone: 'to' } }, { phone: '+7900', text: 'Hi' });
  expect(server.requests[0]).toMatchObject({ path: '/api/messages/send', body: '{"to":"+7900","text":"Hi"}' });
});

it('asks with GET and no body', async () => {
  await call({ method: 'GET', path: '/users/{{id}}', query: { full: 'true' } }, { id: 'a/b', page: 2 });
  expect(server.requests[0]).toMatchObject({ method: 'GET', path: '/users/a%2Fb?full=true&page=2', body: '' });
  expect(server.requests[0]?.headers).not.toHaveProperty('content-type');
});

it("sends the row's own headers, of which the tenant's win", async () => {
  const more = { authHeader: 'Bearer row', customConfig: { headers: { 'X-API-Key': 'own' } } };
  await call({ headers: { 'x-api-key': 'row', 'x-fixed': 'yes', authorization: 'Basic config' } }, {}, more);
  expect(server.requests[0]?.headers).toMatchObject({
    'x-api-key': 'own',
    'x-fixed': 'yes',
    authorization: 'Bearer row',
  });
});

it("lets the tenant's custom_config lay its own transport_config over the row's", async () => {
  const more = { customConfig: { transport_config: { path: '/own' } } };
  await call({ path: '/row', method: 'PUT' }, {}, more);
  expect(server.requests[0]).toMatchObject({ method: 'PUT', path: '/own' });
});

it('does not follow a redirect, which would take the key along', async () => {
  replies({}, 307, { location: `${server.url}/elsewhere` });
  expect((await call(TELEGRAM, { chat_id: '1', text: 'x' })).output).toMatchObject({ code: 'TOOL_HTTP_ERROR' });
  expect(server.requests).toHaveLength(1);
});

describe('what counts as success', () => {
  it.each([
    [{ path: 'ok' }, { ok: true }, undefined],
    [{ path: 'status', equals: 'sent' }, { status: 'sent' }, undefined],
    [{ path: 'data.0.code', equals: 0 }, { data: [{ code: 0 }] }, undefined],
    [{ path: 'ok' }, { ok: false, details: 'no such chat' }, 'no such chat'],
    [{ path: 'ok' }, { message: 'hm' }, 'hm'],
    [{ path: 'ok' }, [], '[]'],
    [{ path: 'toString' }, {}, '{}'],
  ])('%j: %j', async (success, body, reason) => {
    replies(body);
    const { output } = await call({ success });
    expect(output?.code).toBe(reason === undefined ? undefined : 'TOOL_FAILED');
    if (reason !== undefined) expect(output).toMatchObject({ value: { message: containing(`failed: ${reason}`) } });
  });

  it('is not an empty answer, nor one that is no JSON', async () => {
    answer = (_request, response) => void response.writeHead(204).end();
    expect((await call({ success: { path: 'ok' } })).value.message).toContain('the answer is empty');
    answer = (_request, response) => void response.end('<h1>Login</h1>');
    expect((await call({ success: { path: 'ok' } })).value.message).toContain('<h1>Login</h1>');
  });
});

describe('the part of an answer that result_path names', () => {
  it.each([
    ['data.id', 7],
    ['data', { id: 7 }],
    ['data.nothing', { success: true, data: { id: 7 } }],
  ])('%s is %j', async (path, value) => {
    expect((await call({ result_path: path })).output).toEqual({ isError: false, value });
  });

  it('is found in an answer that is longer than what a model is given', async () => {
    replies({ padding: 'x'.repeat(300_000), id: 7 });
    expect((await call({ result_path: 'id' })).output).toEqual({ isError: false, value: 7 });
  });

  it('is cut itself when it is too long', async () => {
    replies({ text: 'x'.repeat(300_000) });
    const { output } = await call({ result_path: 'text' });
    expect(output?.code).toBe('TOOL_OUTPUT_TRUNCATED');
    expect(JSON.stringify(output).length).toBeLessThan(70_000);
  });
});

it('does not offer a row whose config cannot be used, and says why', async () => {
  const { output, warnings } = await call({ method: 'FLY', headers: { 'x-key': 'CANARY' } });
  expect(output).toBeUndefined();
  expect(warnings).toMatchObject([{ code: 'TOOL_SKIPPED', message: containing('transport_config.method') }]);
  expect(JSON.stringify(warnings)).not.toContain('CANARY');
});

describe('in a run', () => {
  let fixture: AgentFixture;

  beforeAll(async () => {
    fixture = await startAgentFixture();
  });
  afterAll(() => fixture.close());

  it('what is fixed reaches neither model nor result nor any table but its own', async () => {
    const tenantId = await addTenant(fixture.database);
    const schema = { type: 'object', properties: { chat_id: { type: 'string' }, text: { type: 'string' } } };
    const tool = { code: 'telegram', transport: 'rest', endpoint: server.url, schema };
    const id = await giveTool(fixture.database, tenantId, tool);
    await fixture.database.query('UPDATE elo_agent_tools SET transport_config = $1 WHERE id = $2', [TELEGRAM, id]);
    answer = (request, response) => sendJson(response, { success: true, sent: request.body });
    fixture.models.script(
      toolReply([{ name: 'telegram', arguments: { chat_id: '1', text: 'Hi' } }]),
      textReply('Sent.'),
    );
    const task = aTask(tenantId, { include_trace: true });
    const result = await fixture.runtime.run(task);
    expect(result.result.tool_calls).toMatchObject([{ tool: 'telegram', arguments: { chat_id: '1', text: 'Hi' } }]);
    expect(JSON.parse(server.requests[0]?.body ?? '')).toMatchObject({ token: TOKEN, text: 'Hi' });
    const tables = await fixture.database.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'elo_agent_tools'`,
    );
    const rows = await Promise.all(tables.map(({ name }) => fixture.database.query(`SELECT * FROM ${name}`)));
    const told = fixture.models.requests.map(({ body }) => body);
    expect(inspect([result, rows, told], { depth: 20, maxStringLength: null })).not.toContain('CANARY');
  });
});
