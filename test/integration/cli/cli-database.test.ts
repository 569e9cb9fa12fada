import { createRuntime } from '../../../runtime';
import { createDatabase, type TestDatabase } from '../../support/servers/database';
import { startModelServer, textReply } from '../../support/servers/model-server';
import { aTask } from '../../support/values/agent-fixture';
import { errorLine, runCli, startCli } from '../../support/worlds/cli';

const DEMO_TENANT = '11111111-1111-4111-8111-111111111111';
const SECOND_TENANT = '22222222-2222-4222-8222-222222222222';

let database: TestDatabase;

beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.close());

const cli = (...args: string[]) => runCli(args, { env: { DATABASE_URL: database.url } });

it('seeds the demo tenants twice with the same result', async () => {
  await cli('diagnostics', 'prepare-database');
  const report = {
    tenants: [
      { tenant_id: DEMO_TENANT, name: 'Demo shop', tools: ['find_orders', 'delivery_estimate'] },
      { tenant_id: SECOND_TENANT, name: 'Demo travel', tools: ['find_trips', 'weather_forecast'] },
    ],
  };
  for (let time = 1; time <= 2; time++) {
    const { exitCode, stdout, stderr } = await cli(
      'diagnostics',
      'add-demo-tenant',
      '--tool-server',
      'http://tools.test',
    );
    expect({ exitCode, stderr, report: JSON.parse(stdout) as unknown }).toEqual({ exitCode: 0, stderr: '', report });
  }
  const tenants = await database.query('SELECT id, name FROM elo_t_tenants ORDER BY id');
  expect(tenants).toEqual(report.tenants.map(({ tenant_id: id, name }) => ({ id, name })));
  const offered = `SELECT tenant_id, code, mcp_endpoint FROM elo_t_tenant_tools AS link
    JOIN elo_agent_tools AS tool ON tool.id = link.tool_id ORDER BY tenant_id, sort_order`;
  expect(await database.query(offered)).toEqual([
    { tenant_id: DEMO_TENANT, code: 'find_orders', mcp_endpoint: 'http://tools.test/hook' },
    { tenant_id: DEMO_TENANT, code: 'delivery_estimate', mcp_endpoint: 'http://127.0.0.1:8802/mcp' },
    { tenant_id: SECOND_TENANT, code: 'find_trips', mcp_endpoint: 'http://tools.test/hook' },
    { tenant_id: SECOND_TENANT, code: 'weather_forecast', mcp_endpoint: 'http://127.0.0.1:8802/mcp' },
  ]);
});

it('prints a table where it is asked to, in colour only where colours are wanted', async () => {
  const ask = (env: Record<string, string>) =>
    startCli(['diagnostics', 'prepare-database', '--table'], { env: { DATABASE_URL: database.url, ...env } }).ended;
  const first = await ask({});
  expect(first).toMatchObject({ exitCode: 0, stderr: '' });
  expect(first.stdout).toMatch(/^applied {2,}\S/);
  expect(first.stdout).not.toContain('\u001b');
  expect((await ask({ FORCE_COLOR: '1' })).stdout).toContain('\u001b[1mapplied');
});

it('seeds a tenant that can be run at once', async () => {
  await cli('diagnostics', 'prepare-database');
  await cli('diagnostics', 'add-demo-tenant');
  const models = await startModelServer();
  const runtime = createRuntime({ database: { url: database.url }, model: { apiKey: 'k', baseUrl: models.url } });
  models.script(textReply('Hello.'));
  const task = aTask(DEMO_TENANT, { agent_tier: undefined });
  await expect(runtime.run(task)).resolves.toMatchObject({ agent_tier: 'small', warnings: [] });
  await runtime.close();
  await models.close();
});

it.each([[['diagnostics', 'add-demo-tenant']], [['usage', 'summary', '--tenant', DEMO_TENANT]]])(
  'says that the tables are missing, and how to make them: %j',
  async (args) => {
    const outcome = await cli(...args);
    expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
    expect(errorLine(outcome)).toMatchObject({
      code: 'DB_SCHEMA_MISSING',
      hint: expect.stringContaining('universal-ai-agent diagnostics prepare-database') as string,
    });
  },
);
