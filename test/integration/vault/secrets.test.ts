import '../../support/setup/errors-of-node';

import { inspect } from 'node:util';

import { createRuntime, type RunEvent, type Runtime } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { startMcpServer, type TestMcpServer } from '../../support/servers/mcp-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';

const API_KEY = 'sk-CANARY-api/key+1';
const AUTH = 'Bearer CANARY-auth/header==';
const HEADER = 'CANARY-custom"header';
let fixture: AgentFixture;
let mcp: TestMcpServer;
let runtime: Runtime;
let password: string;
let tenantId: string;
let events: RunEvent[];

beforeAll(async () => {
  fixture = await startAgentFixture();
  password = decodeURIComponent(new URL(fixture.database.url).password);
  mcp = await startMcpServer({
    answer: (call) => ({ content: [{ type: 'text', text: inspect({ ...call.headers, API_KEY, password }) }] }),
  });
  runtime = runtimeWith(API_KEY);
  tenantId = await addTenant(fixture.database);
  const customConfig = { headers: { 'X-Custom': HEADER } };
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
    endpoint: mcp.url,
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
  await mcp.close();
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

it.each([['mcp'], ['mcp_broken'], ['broken']])(
  'a tool server that sends every secret back, or cannot be sent them, gives none away: %s',
  async (code) => {
    fixture.models.script(toolReply([{ name: code }]), textReply('Done'));
    const onEvent = (event: RunEvent): void => void events.push(event);
    const task = aTask(tenantId, { include_trace: true });
    const outcome = await outcomeOf(runtime.run(task, { onEvent }));
    expect(outcome).toContain(code === 'mcp' ? '[redacted]' : 'TOOL_UNREACHABLE');
    expectNoSecret(outcome);
    expectNoSecret(JSON.stringify(events));
    expectNoSecret(fixture.models.requests.at(-1)?.body ?? '');
    expectNoSecret(JSON.stringify(await fixture.runRow(task.task_id)));
  },
);

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
