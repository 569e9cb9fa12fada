import '../../support/setup/errors-of-node';

import { createRuntime } from '../../../runtime';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { migrate } from '../../../runtime/storage/schema/migrate';
import { seedTools } from '../../../runtime/storage/schema/seed-tools';
import { BUILTIN_TOOLS } from '../../../runtime/tools/builtin/builtin-tools';
import { readRestConfig } from '../../../runtime/tools/transports/rest-config';
import type { JsonObject } from '../../../runtime/util/json';
import { addTenant, createDatabase, type TestDatabase } from '../../support/servers/database';
import realInstallation from '../../support/values/real-installation.sql';
import { runCli } from '../../support/worlds/cli';

const ALL = [
  'mcp_telegram',
  'mcp_whatsapp',
  'mcp_avito',
  'http_request',
  'web_fetch',
  'extract',
  'neo4j_query',
  'sql_query',
  'redis_get',
  'set_variable',
  'get_variable',
  'time_now',
];

let database: TestDatabase;
let postgres: Postgres;

beforeEach(async () => {
  database = await createDatabase();
  postgres = createPostgres({ url: database.url, maxConnections: 2 });
});
afterEach(async () => {
  await postgres.close();
  await database.close();
});

interface Row {
  readonly code: string;
  readonly transport: string;
  readonly mcp_endpoint: string | null;
  readonly transport_config: JsonObject | null;
  readonly allowed_tiers: unknown;
}
const rows = () => database.query<Row>('SELECT * FROM elo_agent_tools ORDER BY sort_order, id');

describe('in a new database', () => {
  beforeEach(() => migrate(postgres));

  it('adds every row once, and gives none to a tenant', async () => {
    expect(await seedTools(postgres, { update: false })).toEqual({ added: ALL, updated: [], unchanged: [] });
    const first = await rows();
    expect(first.map(({ code }) => code)).toEqual(ALL);
    expect(await seedTools(postgres, { update: false })).toEqual({ added: [], updated: [], unchanged: ALL });
    expect(await rows()).toEqual(first);
    expect(await database.query('SELECT * FROM elo_t_tenant_tools')).toEqual([]);
  });

  it('adds rows that the transports can use', async () => {
    await seedTools(postgres, { update: false });
    for (const { code, transport, transport_config: config } of await rows()) {
      if (transport === 'rest') expect(readRestConfig(config ?? {}).path).toMatch(/^\/api\//);
      else expect(BUILTIN_TOOLS).toHaveProperty(code);
    }
  });

  it('is a command that tells what it did', async () => {
    const { exitCode, stdout } = await runCli(['tool', 'add-built-in', '--update'], {
      env: { DATABASE_URL: database.url },
    });
    expect({ exitCode, report: JSON.parse(stdout) as unknown }).toEqual({
      exitCode: 0,
      report: { added: ALL, updated: [], unchanged: [] },
    });
  });

  it('keeps what somebody changed, until it is asked to update', async () => {
    await seedTools(postgres, { update: false });
    const before = await rows();
    await database.query(
      `UPDATE elo_agent_tools SET mcp_endpoint = 'http://own:1', allowed_tiers = '{nano}', timeout_ms = 7, auth_header = 'a'
       WHERE code = 'mcp_avito'`,
    );
    const changed = await rows();
    await seedTools(postgres, { update: false });
    expect(await rows()).toEqual(changed);
    expect(await seedTools(postgres, { update: true })).toEqual({ added: [], updated: ALL, unchanged: [] });
    // The time-out and the credential are the operator's in any case.
    const own = { timeout_ms: 7, auth_header: 'a' };
    expect(await rows()).toEqual(before.map((row) => (row.code === 'mcp_avito' ? { ...row, ...own } : row)));
  });

  it('gives each tier its tools, and the free one none', async () => {
    await seedTools(postgres, { update: false });
    const tenantId = await addTenant(database);
    await database.query(
      `INSERT INTO elo_t_tenant_tools (tenant_id, tool_id) SELECT $1, id FROM elo_agent_tools WHERE transport = 'builtin'`,
      [tenantId],
    );
    const redis = { url: 'redis://127.0.0.1:1' };
    const runtime = createRuntime({ database: { url: database.url }, model: {}, redis });
    const ofTier = async (tier: string) =>
      (await runtime.tools.list({ tenantId, tier })).tools
        .map(({ name }) => name)
        .filter((name) => name !== 'sql_query');
    expect(await ofTier('nano')).toEqual([]);
    const small = ['redis_get', 'set_variable', 'get_variable', 'time_now'];
    expect(await ofTier('small')).toEqual(small);
    expect(await ofTier('optima')).toEqual(['http_request', 'web_fetch', 'extract', ...small]);
    expect(await ofTier('pro')).toContain('neo4j_query');
    await runtime.close();
  });
});

describe.each([
  ['TEXT[]', `'{pro,expert}'`, ['optima', 'pro', 'expert']],
  ['JSONB', `'["pro","expert"]'`, ['optima', 'pro', 'expert']],
  ['JSON', `'["pro","expert"]'`, ['optima', 'pro', 'expert']],
  ['VARCHAR(200)', `'pro,expert'`, 'optima,pro,expert'],
])('in an adopted database with tiers as %s', (type, value, tiers) => {
  beforeEach(async () => {
    await database.query(
      realInstallation.replaceAll('ALLOWED_TIERS_TYPE', type).replaceAll('ALLOWED_TIERS_VALUE', value),
    );
    await migrate(postgres);
  });

  it('leaves the rows that are there, and writes the tiers of new ones as the others are', async () => {
    const before = await rows();
    const { unchanged } = await seedTools(postgres, { update: false });
    expect(unchanged).toEqual(['mcp_telegram', 'sql_query', 'redis_get']);
    const after = await rows();
    expect(after.filter(({ code }) => unchanged.includes(code))).toEqual(before);
    expect(after.find(({ code }) => code === 'http_request')?.allowed_tiers).toEqual(tiers);
  });

  it('turns them into what comes with this package when it is asked to', async () => {
    await seedTools(postgres, { update: true });
    expect((await rows()).find(({ code }) => code === 'mcp_telegram')).toMatchObject({
      transport: 'rest',
      mcp_endpoint: 'http://mcp-telegram:8767',
      allowed_tiers: tiers,
      transport_config: { path: '/api/send', body: { token: 'channel:telegram.token' } },
    });
  });
});

it('says that the tables are missing', async () => {
  await expect(seedTools(postgres, { update: false })).rejects.toMatchObject({ code: 'DB_SCHEMA_MISSING' });
});
