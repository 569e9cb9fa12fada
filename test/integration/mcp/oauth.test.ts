import { randomBytes } from 'node:crypto';

import { type AgentResult, createRuntime, type Runtime } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { sendJson, startServer } from '../../support/servers/http-server';
import { startMcpServer, type TestMcpServer } from '../../support/servers/mcp-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type OAuthServer, startOAuthServer } from '../../support/servers/oauth-server';
import { startRawMcpServer } from '../../support/servers/raw-mcp-server';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';
import { until } from '../../support/values/until';
import { errorLine, runCli, startCli } from '../../support/worlds/cli';

const VAULT_KEY = randomBytes(32).toString('base64');
const TOOL = { name: 'stock', description: 'Counts parts', inputSchema: { type: 'object' as const } };

let fixture: AgentFixture;
let target: TestMcpServer;
let server: OAuthServer;
let tenantId: string;
const open: (() => Promise<void>)[] = [];
let port = 18_976;

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [] }));
  target = await startMcpServer({
    tools: () => [TOOL],
    answer: ({ headers }) => ({ content: [{ type: 'text', text: `7 parts ${String(headers.authorization)}` }] }),
  });
});
beforeEach(async () => {
  server = await startOAuthServer({ target: target.url });
  open.push(server.close);
  tenantId = await addTenant(fixture.database);
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
  await fixture.database.query('DELETE FROM elo_agent_mcp_servers');
});
afterAll(() => Promise.all([fixture.close(), target.close()]));

const env = (more: Record<string, string> = {}): Record<string, string> => ({
  DATABASE_URL: fixture.database.url,
  AGENT_VAULT_KEY: VAULT_KEY,
  ...more,
});

async function add(url = server.url): Promise<void> {
  const args = ['mcp-server', 'add', 'shop', url, '--tenant', tenantId, '--auth', '{"kind":"oauth"}'];
  expect(await runCli(args, { env: env() })).toMatchObject({ exitCode: 0, stderr: '' });
}

/** Logs in as a person would, whose browser follows the redirect. */
async function login(): Promise<{ state: string; tools: number }> {
  const run = startCli(['mcp-server', 'login', 'shop', '--tenant', tenantId, '--port', String(++port)], { env: env() });
  let shown = '';
  run.process.stderr?.on('data', (text: string) => (shown += text));
  await until(() => /http:\S+\/authorize\S+/.test(shown));
  const page = await fetch(/http:\S+\/authorize\S+/.exec(shown)?.[0] ?? '');
  expect(await page.text()).toContain('Logged in');
  const { exitCode, stdout } = await run.ended;
  expect(exitCode).toBe(0);
  return JSON.parse(stdout) as { state: string; tools: number };
}

function aRuntime(vaultKey: string | undefined = VAULT_KEY): Runtime {
  const runtime = createRuntime({
    database: { url: fixture.database.url, maxConnections: 2 },
    model: { apiKey: 'sk-test-key', baseUrl: fixture.models.url, maxRetries: 0 },
    ...(vaultKey === '' ? {} : { vaultKey }),
  });
  open.push(runtime.close);
  return runtime;
}

function runWith(runtime: Runtime): Promise<AgentResult> {
  fixture.models.script(toolReply([{ name: 'shop_stock', arguments: {} }]), textReply('Done'));
  return runtime.run(aTask(tenantId));
}

it('logs a tenant in, keeps the tokens sealed, and uses them in a run', async () => {
  await add();
  expect(await login()).toMatchObject({ server: 'shop', state: 'up', tools: 1 });
  expect(server.registrations()).toBe(1);
  const [row] = await fixture.database.query<{ oauth_state: string }>(
    'SELECT oauth_state FROM elo_t_tenant_mcp_servers',
  );
  expect(row?.oauth_state).toMatch(/^v1\.[0-9a-f]{8}\./);
  expect(row?.oauth_state).not.toContain('access-');
  const result = await runWith(aRuntime());
  expect(result.warnings).toEqual([]);
  expect(result.result.tool_calls[0]?.result).toContain('7 parts');
});

it('renews a token that is over once, and goes on with the call', async () => {
  await add();
  await login();
  const runtime = aRuntime();
  await runWith(runtime);
  server.expireTokens();
  const result = await runWith(runtime);
  expect(result.result.tool_calls[0]?.result).toContain('7 parts');
  expect(server.grants).toEqual(['authorization_code', 'refresh_token']);
  // The new tokens are kept: another process needs no third ones.
  expect((await runWith(aRuntime())).warnings).toEqual([]);
  expect(server.grants).toHaveLength(2);
});

it('renews once for calls that are refused together', async () => {
  await add();
  await login();
  const runtime = aRuntime();
  await runWith(runtime);
  server.expireTokens();
  const calls = Array.from({ length: 5 }, () => ({ name: 'shop_stock', arguments: {} }));
  fixture.models.script(toolReply(calls), textReply('Done'));
  const { result } = await runtime.run(aTask(tenantId));
  expect(result.tool_calls.map(({ error }) => error)).toEqual(Array.from({ length: 5 }));
  expect(server.grants).toEqual(['authorization_code', 'refresh_token']);
  expect((await runWith(aRuntime())).warnings).toEqual([]);
});

it('sends the tokens nowhere else when the address of the server changes', async () => {
  await add();
  await login();
  const other = await startServer((_request, response) => sendJson(response, {}, 404));
  open.push(other.close);
  await fixture.database.query('UPDATE elo_agent_mcp_servers SET url = $1', [`${other.url}/mcp`]);
  await fixture.database.query('UPDATE elo_t_tenant_mcp_servers SET list_expires_at = NULL');
  await runWith(aRuntime());
  expect(other.requests.length).toBeGreaterThan(0);
  expect(JSON.stringify(other.requests)).not.toContain('access-');
});

it('refuses a login that comes back with another state', async () => {
  await add();
  const run = startCli(['mcp-server', 'login', 'shop', '--tenant', tenantId, '--port', String(++port)], { env: env() });
  let shown = '';
  run.process.stderr?.on('data', (text: string) => (shown += text));
  await until(() => /http:\S+\/authorize\S+/.test(shown));
  await fetch(`http://127.0.0.1:${port}/callback?code=stolen&state=guessed`);
  const { exitCode, stdout } = await run.ended;
  expect(exitCode).toBe(1);
  expect(stdout).toContain('a state that is not ours');
});

it('uses the tokens of another process that renewed them first', async () => {
  await add();
  await login();
  const [first, second] = [aRuntime(), aRuntime()];
  await runWith(first);
  await runWith(second);
  server.expireTokens();
  await runWith(first);
  const result = await runWith(second);
  expect(result.result.tool_calls[0]?.result).toContain('7 parts');
});

it('asks for a login when there is none, and when it is over; the run goes on', async () => {
  await add();
  expect((await runWith(aRuntime())).warnings).toMatchObject([{ code: 'MCP_LOGIN_REQUIRED' }]);
  await login();
  const runtime = aRuntime();
  await runWith(runtime);
  server.expireTokens();
  server.revoke();
  const result = await runWith(runtime);
  expect(result.status).toBe('completed');
  expect(result.result.tool_calls[0]).toMatchObject({ error: { code: 'MCP_LOGIN_REQUIRED' } });
});

it('shows the tokens to no model', async () => {
  await add();
  await login();
  const result = await runWith(aRuntime());
  expect(JSON.stringify(result)).not.toMatch(/access-|refresh-/);
});

it.each([[400], [403], [500]])('shows the tokens in an error with HTTP %i to no model', async (status) => {
  const raw = await startRawMcpServer({
    'tools/list': () => ({ tools: [TOOL] }),
    'tools/call': ({ headers, response }) => {
      response.writeHead(status).end(`rejected ${String(headers.authorization).slice(7)}`);
      return undefined;
    },
  });
  open.push(raw.close);
  server = await startOAuthServer({ target: raw.url });
  open.push(server.close);
  await add();
  await login();
  const result = await runWith(aRuntime());
  const called = raw.requests.find(({ body }) => body.includes('"tools/call"'));
  expect(called?.headers.authorization).toMatch(/access-/);
  expect(result.result.tool_calls[0]).toHaveProperty('error');
  expect(JSON.stringify([result, fixture.models.received.at(-1)])).not.toMatch(/access-|refresh-/);
});

it('does not use the tokens of one tenant for another', async () => {
  await add();
  await login();
  tenantId = await addTenant(fixture.database);
  await add();
  expect((await runWith(aRuntime())).warnings).toMatchObject([{ code: 'MCP_LOGIN_REQUIRED' }]);
});

it('cannot open the tokens without the key, or with another one, and says so', async () => {
  await add();
  await login();
  expect((await runWith(aRuntime(''))).result.tool_calls[0]).toMatchObject({ error: { code: 'VAULT_KEY_MISSING' } });
  const other = aRuntime(randomBytes(32).toString('base64'));
  expect((await runWith(other)).result.tool_calls[0]).toMatchObject({ error: { code: 'VAULT_KEY_WRONG' } });
});

it('does not follow metadata to a private address', async () => {
  const inside = await startOAuthServer({ target: target.url });
  open.push(inside.close);
  const authorizationServer = inside.origin.replace('127.0.0.1', '127.0.0.2');
  const liar = await startOAuthServer({ target: target.url, authorizationServer });
  open.push(liar.close);
  await add(liar.url);
  const { warnings } = await runWith(aRuntime());
  expect(warnings).toMatchObject([{ code: 'MCP_SERVER_SKIPPED' }]);
  expect(warnings[0]?.message).toContain('127.0.0.2 has no public address');
  expect(inside.registrations()).toBe(0);
});

it('keeps a server whose name is taken by another address', async () => {
  await add();
  const args = ['mcp-server', 'add', 'shop', 'http://127.0.0.1:9/other', '--tenant', tenantId];
  const outcome = await runCli(args, { env: env() });
  expect(outcome.exitCode).toBe(1);
  expect(errorLine(outcome).code).toBe('MCP_SERVER_EXISTS');
});

it('a login that is revoked is gone for the next call of another process, in the middle of a run too', async () => {
  await add();
  await login();
  const [admin, worker] = [aRuntime(), aRuntime()];
  expect((await runWith(worker)).warnings).toEqual([]);
  fixture.models.script(
    toolReply([{ name: 'shop_stock', arguments: {} }]),
    async (_request, response) => {
      await admin.admin.oauthLogin.revoke({ tenantId, server: 'shop' });
      sendJson(response, toolReply([{ name: 'shop_stock', arguments: { again: true } }]).body);
    },
    textReply('Done'),
  );
  const { result } = await worker.run(aTask(tenantId));
  expect(result.tool_calls.map(({ error }) => (error as { code?: string } | undefined)?.code)).toEqual([
    undefined,
    'MCP_LOGIN_REQUIRED',
  ]);
  expect((await runWith(worker)).result.tool_calls).toMatchObject([{ error: { code: 'MCP_LOGIN_REQUIRED' } }]);
});
