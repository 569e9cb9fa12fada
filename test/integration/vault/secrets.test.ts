import '../../support/setup/errors-of-node';

import { inspect } from 'node:util';

import { createRuntime, type RunEvent, type Runtime } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { startMcpServer, type TestMcpServer } from '../../support/servers/mcp-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';

const API_KEY = 'sk-CANARY-api/key+1';
const AUTH = 'Bearer CANARY-auth/header==';
const HEADER = 'CANARY-custom"header';
let fixture: AgentFixture;
let echo: TestServer;
let mcp: TestMcpServer;
let runtime: Runtime;
let password: string;
let tenantId: string;
let events: RunEvent[];

beforeAll(async () => {
  fixture = await startAgentFixture();
  password = decodeURIComponent(new URL(fixture.database.url).password);
  echo = await startServer((request, response) => {
    const all = { headers: request.headers, key: API_KEY, password };
    if (request.path === '/status') return sendJson(response, all, 500);
    if (request.path === '/unsuccessful') return sendJson(response, { success: false, error: JSON.stringify(all) });
    if (request.path === '/text') return void response.writeHead(200).end(`<pre>${inspect(all)}</pre>`);
    if (request.path === '/php') {
      return void response.writeHead(200).end(JSON.stringify(all).replaceAll('/', '\\/').replaceAll('C', '\\u0043'));
    }
    sendJson(response, all);
  });
  mcp = await startMcpServer({
    answer: (call) => ({ content: [{ type: 'text', text: inspect({ ...call.headers, API_KEY, password }) }] }),
  });
  runtime = runtimeWith(API_KEY);
  tenantId = await addTenant(fixture.database);
  const customConfig = { headers: { 'X-Custom': HEADER } };
  for (const path of ['json', 'status', 'unsuccessful', 'text', 'php']) {
    await giveTool(fixture.database, tenantId, {
      code: path,
      endpoint: `${echo.url}/${path}`,
      authHeader: AUTH,
      customConfig,
    });
  }
  const broken = { headers: { 'X-Custom': `${HEADER}\u0001\nx` } };
  for (const [code, config] of [
    ['mcp', customConfig],
    ['mcp_broken', broken],
  ] as const) {
    await giveTool(fixture.database, tenantId, {
      code,
      endpoint: mcp.url,
      transport: 'mcp',
      authHeader: AUTH,
      customConfig: config,
    });
  }
  await giveTool(fixture.database, tenantId, {
    code: 'broken',
    endpoint: echo.url,
    authHeader: `${AUTH}\nx`,
    customConfig: broken,
  });
});
beforeEach(() => {
  events = [];
});
afterAll(async () => {
  await runtime.close();
  await fixture.close();
  await Promise.all([echo.close(), mcp.close()]);
});

function runtimeWith(apiKey: string, url = fixture.database.url): Runtime {
  return createRuntime({ database: { url }, model: { apiKey, baseUrl: fixture.models.url, maxRetries: 0 } });
}

/** The result of a run, or everything of its error but the cause, as all who may print it would. */
async function outcomeOf(running: Promise<unknown>): Promise<string> {
  const shown = await running.catch((error: unknown) => {
    const { cause: _cause, ...rest } = error as Error;
    return [rest, (error as Error).message, (error as Error).stack, inspect(rest, { depth: 10 })];
  });
  return JSON.stringify(shown) + inspect(shown, { depth: 20, maxStringLength: null });
}

function expectNoSecret(text: string): void {
  // However it is escaped: without the marks of escaping.
  const bare = text.replaceAll('\\', '');
  for (const secret of ['CANARY', password]) expect(bare).not.toContain(secret);
}

it.each([['json'], ['status'], ['unsuccessful'], ['text'], ['php'], ['mcp'], ['mcp_broken'], ['broken']])(
  'a tool server that sends every secret back gives none away: %s',
  async (code) => {
    fixture.models.script(toolReply([{ name: code }]), textReply('Done'));
    const onEvent = (event: RunEvent): void => void events.push(event);
    const task = aTask(tenantId, { include_trace: true });
    const outcome = await outcomeOf(runtime.run(task, { onEvent }));
    expect(outcome).toContain(code === 'broken' || code === 'mcp_broken' ? 'TOOL_UNREACHABLE' : '[redacted]');
    expectNoSecret(outcome);
    expectNoSecret(JSON.stringify(events));
    expectNoSecret(fixture.models.requests.at(-1)?.body ?? '');
    expectNoSecret(JSON.stringify(await fixture.runRow(task.task_id)));
  },
);

it('the model is never sent the headers, keys and addresses of its tools', async () => {
  fixture.models.script(textReply('Done'));
  await runtime.run(aTask(tenantId));
  expectNoSecret(fixture.models.requests.at(-1)?.body ?? '');
  expect(fixture.models.requests.at(-1)?.body).not.toContain(new URL(echo.url).host);
});

it.each([[401], [400], [500]])(
  'a model provider that quotes the key with HTTP %i gives it to nobody',
  async (status) => {
    fixture.models.script({
      status,
      body: { error: { message: `Key ${API_KEY} / Bearer ${API_KEY} is bad`, code: status } },
    });
    const outcome = await outcomeOf(runtime.run(aTask(tenantId)));
    expect(outcome).toContain('LLM_');
    expectNoSecret(outcome);
  },
);

it('a key that cannot be sent at all is not shown either', async () => {
  const other = runtimeWith('sk-CANARY\nbroken');
  fixture.models.script(textReply('not reached'));
  const outcome = await outcomeOf(other.run(aTask(tenantId)));
  await other.close();
  expect(outcome).toContain('LLM_');
  expectNoSecret(outcome);
});

it('a database that refuses the password does not show it', async () => {
  const url = new URL(fixture.database.url);
  url.password = 'CANARY-wrong/password';
  const other = runtimeWith(API_KEY, url.href);
  const outcome = await outcomeOf(other.run(aTask(tenantId)));
  await other.close();
  expect(outcome).toContain('DB_AUTH_FAILED');
  expectNoSecret(outcome);
});

it('a configuration that is refused names its fields, not their values', () => {
  const config = { database: { url: '' }, model: { apiKey: 'CANARY', baseUrl: 'ftp://CANARY' } };
  expect(() => createRuntime(config)).toThrow(/database\.url.*model\.baseUrl/);
  expect(() => createRuntime(config)).not.toThrow(/CANARY/);
});
