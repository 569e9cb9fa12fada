import { testSqlRole } from '../../../nodes/UniversalAiAgent/panel/test-sql-role';
import { createRuntime, type RuntimeConfig } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';
import { runCli } from '../../support/worlds/cli';
import { createSqlRole, dropRole, type TestRole, urlAs } from '../../support/worlds/sql-role';

let fixture: AgentFixture;
let role: TestRole;
let tenantId: string;

beforeAll(async () => {
  fixture = await startAgentFixture();
  tenantId = await addTenant(fixture.database, { name: 'Alice' });
  await addTenant(fixture.database, { name: 'Bob' });
  await giveTool(fixture.database, tenantId, { code: 'sql_query', transport: 'builtin' });
  role = await createSqlRole(fixture.database);
});
afterAll(async () => {
  await dropRole(fixture.database, role.name);
  await fixture.close();
});

type Result = Record<string, unknown> & { readonly code?: string; readonly message?: string };

/** What the model is told of one call. */
async function call(query: unknown, config: Partial<RuntimeConfig> = { sqlQuery: { database: { url: role.url } } }) {
  const runtime = createRuntime({ database: { url: fixture.database.url }, model: {}, ...config });
  try {
    const output = await runtime.tools.call({ tenantId, tool: 'sql_query', arguments: { query } });
    return { isError: output.isError, value: output.value as Result };
  } finally {
    await runtime.close();
  }
}

it('lets a model ask for what it wants to know, of its tenant alone', async () => {
  const query = 'SELECT name FROM elo_t_tenants ORDER BY name;';
  const runtime = createRuntime({
    database: { url: fixture.database.url },
    sqlQuery: { database: { url: role.url } },
    model: { apiKey: 'sk-test-key', baseUrl: fixture.models.url },
  });
  fixture.models.script(toolReply([{ name: 'sql_query', arguments: { query } }]), textReply('Alice'));
  const result = await runtime.run(aTask(tenantId));
  await runtime.close();
  expect(result).toMatchObject({ status: 'completed', warnings: [] });
  const told = JSON.parse(fixture.models.received.at(-1)?.messages.at(-1)?.content ?? '') as Result;
  expect(told).toEqual({ columns: ['name'], rows: [['Alice']], row_count: 1, is_cut: false });
});

it('tells the model why a query is refused, and what Postgres says of one that is not', async () => {
  expect(await call('DELETE FROM elo_t_tenants')).toMatchObject({
    isError: true,
    value: { code: 'SQL_REFUSED', message: 'The query is refused: DELETE is not a SELECT.' },
  });
  expect(await call('SELECT nothing')).toMatchObject({
    isError: true,
    value: { code: 'SQL_FAILED', message: 'The query failed: column "nothing" does not exist.' },
  });
});

it('refuses what is no text when the row has a schema of its own', async () => {
  await fixture.database.query(`UPDATE elo_agent_tools SET parameters_schema = '{}' WHERE code = 'sql_query'`);
  expect(await call(7)).toMatchObject({ isError: true, value: { code: 'TOOL_INVALID_ARGS' } });
  await fixture.database.query(`UPDATE elo_agent_tools SET parameters_schema = NULL WHERE code = 'sql_query'`);
});

it('gives as many rows as the configuration and the row say', async () => {
  const rowsOf = async (maxRows?: number) => {
    const { value } = await call('SELECT * FROM generate_series(1, 5000) AS n', {
      sqlQuery: { database: { url: role.url }, maxRows },
    });
    return [value.row_count, value.is_cut];
  };
  expect(await rowsOf()).toEqual([200, true]);
  expect(await rowsOf(7)).toEqual([7, true]);
  await fixture.database.query(
    `UPDATE elo_agent_tools SET transport_config = '{"max_rows": 1000}' WHERE code = 'sql_query'`,
  );
  expect(await rowsOf(7)).toEqual([1000, true]);
  await fixture.database.query(`UPDATE elo_agent_tools SET transport_config = NULL WHERE code = 'sql_query'`);
});

it('gives as much as fits, and says that it is not all', async () => {
  const { value } = await call(`SELECT n, concat(n, '\\"', chr(10)) FROM generate_series(1, 200) AS n (n)`, {
    sqlQuery: { database: { url: role.url } },
    limits: { maxToolOutputBytes: 1000 },
  });
  expect(value).toMatchObject({ columns: ['n', 'concat'], is_cut: true });
  expect(value.row_count).toBeGreaterThan(20);
  expect(JSON.stringify(value).length).toBeLessThanOrEqual(1000);
});

it('ends with the time that the row gives', async () => {
  await fixture.database.query(`UPDATE elo_agent_tools SET timeout_ms = 300 WHERE code = 'sql_query'`);
  const endless = 'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n FROM t) SELECT count(*) FROM t';
  const { isError, value } = await call(endless);
  await fixture.database.query(`UPDATE elo_agent_tools SET timeout_ms = NULL WHERE code = 'sql_query'`);
  expect({ isError, told: /did not answer within 300 ms|statement timeout/.test(value.message ?? '') }).toEqual({
    isError: true,
    told: true,
  });
});

it.each([
  ['{"max_rows": 1001}', 'transport_config.max_rows is not valid'],
  ['{"max_rows": "many"}', 'transport_config.max_rows is not valid'],
])('is skipped with the reason when its row says %s', async (config, reason) => {
  await fixture.database.query(`UPDATE elo_agent_tools SET transport_config = $1 WHERE code = 'sql_query'`, [config]);
  const listed = await list({ sqlQuery: { database: { url: role.url } } });
  await fixture.database.query(`UPDATE elo_agent_tools SET transport_config = NULL WHERE code = 'sql_query'`);
  expect(listed).toMatchObject({
    tools: [],
    warnings: [{ code: 'TOOL_SKIPPED', message: expect.stringContaining(reason) as string }],
  });
});

async function list(config: Partial<RuntimeConfig>) {
  const runtime = createRuntime({ database: { url: fixture.database.url }, model: {}, ...config });
  try {
    return await runtime.tools.list({ tenantId });
  } finally {
    await runtime.close();
  }
}

it('is skipped with the reason where no role is configured', async () => {
  expect(await list({})).toMatchObject({
    tools: [],
    warnings: [{ code: 'TOOL_SKIPPED', message: expect.stringContaining('AGENT_SQL_DATABASE_URL') as string }],
  });
});

it('does nothing under the role of the runtime itself', async () => {
  expect(await call('SELECT 1', { sqlQuery: { database: { url: fixture.database.url } } })).toMatchObject({
    isError: true,
    value: { code: 'SQL_ROLE_UNSAFE' },
  });
});

it('never shows the password of the role', async () => {
  const url = urlAs(fixture.database, role.name, 'CANARY-password');
  const { value } = await call('SELECT 1', { sqlQuery: { database: { url } } });
  expect(value.code).toBe('DB_AUTH_FAILED');
  expect(JSON.stringify(value)).not.toContain('CANARY');
  const config = { database: { url: fixture.database.url }, model: {}, sqlQuery: { database: { url: 'CANARY' } } };
  expect(() => createRuntime(config)).toThrow(/sqlQuery\.database\.url/);
  expect(() => createRuntime(config)).not.toThrow(/CANARY/);
});

it('works on the command line with AGENT_SQL_DATABASE_URL', async () => {
  const { exitCode, stdout } = await runCli(
    [
      'tool',
      'execute',
      'sql_query',
      '--tenant',
      tenantId,
      '--arguments',
      '{"query": "SELECT name FROM elo_t_tenants"}',
    ],
    { env: { DATABASE_URL: fixture.database.url, AGENT_SQL_DATABASE_URL: role.url } },
  );
  expect({ exitCode, rows: stdout.includes('"Alice"') }).toEqual({ exitCode: 0, rows: true });
});

describe('the credential of the node', () => {
  const test = (secretUrl: unknown) => testSqlRole.call({} as never, { data: { secretUrl } } as never);

  it('is fine when it sees one tenant at a time', async () => {
    expect(await test(role.url)).toMatchObject({ status: 'OK' });
  });

  it.each([
    ['of the owner', () => fixture.database.url, 'may not be used for queries: it is a member of'],
    ['with a wrong password', () => urlAs(fixture.database, role.name, 'CANARY-password'), 'refused user'],
    ['that is no URL', () => 'CANARY', 'not a Postgres URL'],
    ['that is empty', () => '', 'not a Postgres URL'],
    ['that is not there', () => undefined, 'not a Postgres URL'],
  ])('tells what is wrong with one %s', async (_what, url, reason) => {
    const { status, message } = await test(url());
    expect({ status, message }).toEqual({ status: 'Error', message: expect.stringContaining(reason) as string });
    expect(message).not.toContain('CANARY');
  });
});
