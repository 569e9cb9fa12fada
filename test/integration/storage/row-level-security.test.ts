import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { databaseStatus, migrate } from '../../../runtime/storage/schema/migrate';
import { READABLE_COLUMNS } from '../../../runtime/storage/schema/readable-columns';
import {
  addMcpServer,
  addTenant,
  createDatabase,
  createMigratedDatabase,
  giveTool,
  type TestDatabase,
  useMcpServer,
} from '../../support/servers/database';
import realInstallation from '../../support/values/real-installation.sql';
import {
  adminUrlOf,
  asAdmin,
  createSqlRole,
  dropRole,
  newRoleName,
  queryAs,
  type TestRole,
  urlAs,
} from '../../support/worlds/sql-role';

let database: TestDatabase;
let role: TestRole;
let alice: string;
let bob: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  [alice, bob] = [await addTenant(database, { name: 'Alice' }), await addTenant(database, { name: 'Bob' })];
  for (const [index, tenantId] of [alice, bob].entries()) {
    const name = ['alice', 'bob'][index] ?? '';
    await giveTool(database, tenantId, {
      code: `tool_${name}`,
      authHeader: 'Bearer CANARY',
      customConfig: { key: 'CANARY' },
    });
    const serverId = await addMcpServer(database, { code: `server_${name}`, url: 'http://mcp.test' });
    await useMcpServer(database, { tenantId, serverId, auth: { kind: 'bearer', token: 'CANARY' } });
    await database.query(
      `INSERT INTO elo_t_tenant_mcp_tools (tenant_id, server_id, name, description, input_schema, is_repeatable, hash)
       VALUES ($1, $2, 'find', 'Finds', '{}', true, 'x')`,
      [tenantId, serverId],
    );
    await database.query(
      `INSERT INTO elo_agent_runs (tenant_id, task_id, run_id, digest, state, attempt, result)
       VALUES ($1, 't', gen_random_uuid(), 'd', 'done', 1, '"CANARY"')`,
      [tenantId],
    );
    await database.query(
      `INSERT INTO elo_agent_model_calls (tenant_id, task_id, run_id, call_no, model_requested)
       SELECT tenant_id, task_id, run_id, 1, 'm' FROM elo_agent_runs WHERE tenant_id = $1`,
      [tenantId],
    );
    await database.query(
      `INSERT INTO elo_t_token_usage (tenant_id, model_id, total_tokens, cost_usd) VALUES ($1, $2, 10, 1)`,
      [tenantId, `model-of-${name}`],
    );
    await database.query(
      `INSERT INTO elo_tool_executions (tenant_id, task_id, run_id, step, tool_call_id, tool, decision, is_error, duration_ms)
       VALUES ($1, 't', gen_random_uuid(), 1, 'c', 'tool', 'allow', false, 1)`,
      [tenantId],
    );
    await database.query(
      `INSERT INTO elo_agent_journal (tenant_id, task_id, step, entry, run_id, content)
       SELECT tenant_id, task_id, 1, '', run_id, 'CANARY' FROM elo_agent_runs WHERE tenant_id = $1`,
      [tenantId],
    );
    await database.query(
      `INSERT INTO elo_agent_rate_windows (tenant_id, scope, seconds, started_at, used) VALUES ($1, 's', 60, now(), 1)`,
      [tenantId],
    );
    await database.query(`INSERT INTO elo_agent_secrets (tenant_id, name, sealed) VALUES ($1, 'key', 'CANARY')`, [
      tenantId,
    ]);
  }
  role = await createSqlRole(database);
});
afterAll(async () => {
  await dropRole(database, role.name);
  await database.close();
});

const OF_TENANTS = [
  'elo_t_tenant_tools',
  'elo_t_token_usage',
  'elo_agent_runs',
  'elo_agent_model_calls',
  'elo_t_tenant_mcp_servers',
  'elo_t_tenant_mcp_tools',
  'elo_tool_executions',
  'elo_agent_monthly_usage',
];

describe('a role made by sql-role set', () => {
  it.each(OF_TENANTS)('sees the rows of its tenant and no others, without a WHERE: %s', async (table) => {
    for (const tenantId of [alice, bob]) {
      expect(await queryAs(role.url, `SELECT tenant_id FROM ${table}`, tenantId)).toEqual([{ tenant_id: tenantId }]);
    }
    expect(await queryAs(role.url, `SELECT tenant_id FROM ${table} WHERE tenant_id = '${bob}'`, alice)).toEqual([]);
  });

  it('sees its own tenant, the tools and servers that are linked to it, and the prices of all', async () => {
    expect(await queryAs(role.url, 'SELECT name FROM elo_t_tenants', alice)).toEqual([{ name: 'Alice' }]);
    expect(await queryAs(role.url, 'SELECT code FROM elo_agent_tools', alice)).toEqual([{ code: 'tool_alice' }]);
    expect(await queryAs(role.url, 'SELECT code FROM elo_agent_mcp_servers', bob)).toEqual([{ code: 'server_bob' }]);
    expect(await queryAs(role.url, 'SELECT code FROM elo_agent_tiers', alice)).toHaveLength(5);
    expect(await queryAs(role.url, 'SELECT model_id FROM elo_model_pricing', alice)).toHaveLength(5);
  });

  it('sees no more through the view of the bill', async () => {
    const text = 'SELECT model_id FROM elo_v_tenant_monthly_usage';
    expect(await queryAs(role.url, text, alice)).toEqual([{ model_id: 'model-of-alice' }]);
    expect(await database.query(text)).toHaveLength(2);
  });

  it.each(['elo_t_tenants', 'elo_agent_tools', 'elo_agent_mcp_servers', 'elo_v_tenant_monthly_usage', ...OF_TENANTS])(
    'sees nothing where no tenant is set, or what is set is none: %s',
    async (table) => {
      const text = `SELECT count(*)::int AS seen FROM ${table}`;
      expect(await queryAs(role.url, text)).toEqual([{ seen: 0 }]);
      expect(await queryAs(role.url, text, '')).toEqual([{ seen: 0 }]);
      expect(await queryAs(role.url, text, '00000000-0000-0000-0000-000000000000')).toEqual([{ seen: 0 }]);
      await expect(queryAs(role.url, text, `${alice}' OR true --`)).rejects.toThrow(
        'invalid input syntax for type uuid',
      );
    },
  );

  it.each([
    ['elo_agent_tools', 'auth_header'],
    ['elo_agent_tools', 'mcp_endpoint'],
    ['elo_agent_tools', 'transport_config'],
    ['elo_t_tenants', 'settings'],
    ['elo_t_tenant_tools', 'custom_config'],
    ['elo_agent_mcp_servers', 'auth'],
    ['elo_agent_mcp_servers', 'url'],
    ['elo_t_tenant_mcp_servers', 'auth'],
    ['elo_t_tenant_mcp_servers', 'oauth_state'],
    ['elo_agent_runs', 'result'],
    ['elo_agent_runs', 'resume'],
    ['elo_agent_runs', 'digest'],
    ['elo_tool_executions', 'arguments'],
    ['elo_agent_secrets', 'sealed'],
    ['elo_agent_secrets', 'name'],
    ['elo_agent_migrations', 'name'],
    ['elo_agent_rate_windows', 'scope'],
    ['elo_agent_journal', 'content'],
    ['elo_agent_journal', 'entry'],
    ['elo_v_agent_tenants', 'name'],
  ])('has no right to %s.%s', async (table, column) => {
    await expect(queryAs(role.url, `SELECT ${column} FROM ${table}`, alice)).rejects.toThrow('permission denied');
    await expect(queryAs(role.url, `SELECT * FROM ${table}`, alice)).rejects.toThrow('permission denied');
  });

  it('writes nothing, and becomes nobody else', async () => {
    await expect(queryAs(role.url, 'DELETE FROM elo_t_token_usage', alice)).rejects.toThrow('read-only transaction');
    await expect(queryAs(role.url, 'BEGIN READ WRITE; DELETE FROM elo_t_token_usage', alice)).rejects.toThrow(
      'permission denied',
    );
    await expect(queryAs(role.url, 'SET ROLE application', alice)).rejects.toThrow('permission denied');
    expect(
      await database.query(
        `SELECT rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, rolinherit, rolreplication, rolcanlogin
         FROM pg_roles WHERE rolname = $1`,
        [role.name],
      ),
    ).toEqual([
      {
        rolsuper: false,
        rolbypassrls: false,
        rolcreatedb: false,
        rolcreaterole: false,
        rolinherit: false,
        rolreplication: false,
        rolcanlogin: true,
      },
    ]);
  });

  it.each([
    `SELECT elo_agent_take_call('ALICE', 'tool_alice', 's', 1, 1, NULL, NULL, NULL)`,
    `SELECT elo_agent_take_run('ALICE', 1)`,
    `SELECT elo_agent_reserve('ALICE', '{ALICE}'::uuid[], 1, 1, 1, 1)`,
    `SELECT elo_agent_policy_version('ALICE')`,
    `SELECT elo_agent_channel_credentials('ALICE')`,
    `SELECT elo_agent_hold_session('ALICE', '', 's', 'ALICE')`,
    `SELECT elo_agent_add_turn('ALICE', 't', 'ALICE', '{}')`,
  ])('may not execute the functions of the runtime: %s', async (text) => {
    const asking = queryAs(role.url, text.replaceAll('ALICE', alice), alice);
    await expect(asking).rejects.toThrow('permission denied for function');
  });
});

describe('the wall itself', () => {
  let plain: TestRole;

  // A role that may read and write everything, as an installation's own programs may.
  beforeAll(async () => {
    const name = newRoleName();
    await asAdmin(
      database,
      `CREATE ROLE ${name} LOGIN PASSWORD 'a-password'`,
      `GRANT ALL ON ALL TABLES IN SCHEMA public TO ${name}`,
      `GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${name}`,
    );
    plain = { name, password: 'a-password', url: urlAs(database, name, 'a-password') };
  });
  afterAll(() => dropRole(database, plain.name));

  it('stands around every table of ours', async () => {
    const open = await database.query(
      `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND NOT relrowsecurity`,
    );
    expect(open).toEqual([]);
    const known = Object.keys(READABLE_COLUMNS).filter((name) => name !== 'elo_tenants');
    const there = await database.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`,
    );
    expect(there.map(({ name }) => name).sort()).toEqual(known.sort());
  });

  it('keeps what has no tenant, and the tenants of others, from a role that may read everything', async () => {
    expect(await queryAs(plain.url, 'SELECT name FROM elo_v_agent_tenants', alice)).toEqual([{ name: 'Alice' }]);
    expect(await queryAs(plain.url, 'SELECT name FROM elo_agent_secrets', alice)).toEqual([]);
    expect(await queryAs(plain.url, 'SELECT name FROM elo_agent_migrations', alice)).toEqual([]);
    expect(await queryAs(plain.url, 'SELECT scope FROM elo_agent_rate_windows', alice)).toHaveLength(1);
    expect(await queryAs(plain.url, 'SELECT step FROM elo_agent_journal', alice)).toHaveLength(1);
  });

  it.each([
    [`INSERT INTO elo_t_token_usage (tenant_id, model_id) VALUES ('BOB', 'm')`],
    [`UPDATE elo_t_tenant_tools SET tenant_id = 'BOB'`],
    [`INSERT INTO elo_agent_tools (code, name) VALUES ('mine', 'Mine')`],
    [`INSERT INTO elo_agent_tiers (code, name, model_id) VALUES ('mine', 'Mine', 'm')`],
    [`INSERT INTO elo_agent_secrets (tenant_id, name, sealed) VALUES ('ALICE', 'mine', 'x')`],
  ])('refuses rows that are not the tenant’s: %s', async (text) => {
    const writing = queryAs(plain.url, text.replace('BOB', bob).replace('ALICE', alice), alice);
    await expect(writing).rejects.toThrow('row-level security');
  });

  it('lets nobody hang our trigger functions, which run with their owner’s rights, on a table of their own', async () => {
    for (const name of ['elo_agent_forget_tenant', 'elo_agent_count_usage']) {
      const text = `CREATE TEMP TABLE bait (id uuid);
        CREATE TRIGGER bite BEFORE DELETE ON bait FOR EACH ROW EXECUTE FUNCTION ${name}()`;
      await expect(queryAs(plain.url, text)).rejects.toThrow(`permission denied for function ${name}`);
    }
  });

  it('still counts what such a role bills, in our table and not in one that it puts in its way', async () => {
    const text = `CREATE TEMP TABLE elo_agent_monthly_usage (LIKE public.elo_agent_monthly_usage INCLUDING ALL);
      INSERT INTO elo_t_token_usage (tenant_id, model_id, total_tokens, cost_usd) VALUES ('${alice}', 'm', 5, 2)`;
    await queryAs(plain.url, text, alice);
    const [usage] = await database.query(
      'SELECT tokens, cost_usd::float8 AS cost FROM elo_agent_monthly_usage WHERE tenant_id = $1',
      [alice],
    );
    expect(usage).toEqual({ tokens: '15', cost: 3 });
    await database.query(`DELETE FROM elo_t_token_usage WHERE model_id = 'm'`);
  });

  it('does not touch the owner, with and without a tenant set', async () => {
    for (const tenantId of [undefined, '', alice, 'garbage']) {
      expect(await queryAs(database.url, 'SELECT name FROM elo_t_tenants', tenantId)).toHaveLength(2);
      expect(await queryAs(database.url, 'SELECT sealed FROM elo_agent_secrets', tenantId)).toHaveLength(2);
    }
  });

  it('is told by the check of the schema to a role that stands before it', async () => {
    const statusAs = async (url: string) => {
      const postgres = createPostgres({ url, maxConnections: 1 });
      const status = await databaseStatus(postgres);
      await postgres.close();
      return status.roleSeesAll;
    };
    expect(await statusAs(plain.url)).toBe(false);
    expect(await statusAs(database.url)).toBe(true);
    expect(await statusAs(adminUrlOf(database))).toBe(true);
  });
});

describe('an installation that is adopted', () => {
  let adopted: TestDatabase;

  beforeEach(async () => {
    adopted = await createDatabase();
    await adopted.query(
      realInstallation.replaceAll('ALLOWED_TIERS_TYPE', 'TEXT[]').replaceAll('ALLOWED_TIERS_VALUE', `'{pro}'`),
    );
  });
  afterEach(() => adopted.close());

  async function migrateAdopted(url = adopted.url): Promise<void> {
    const postgres = createPostgres({ url, maxConnections: 1 });
    await migrate(postgres);
    await postgres.close();
  }
  const policies = () => adopted.query('SELECT tablename, policyname FROM pg_policies ORDER BY 1, 2');

  it('is walled, its own view too', async () => {
    await migrateAdopted();
    const adoptedRole = await createSqlRole(adopted);
    const shop = 'bbbbbbbb-0000-4000-8000-000000000001';
    expect(await queryAs(adoptedRole.url, 'SELECT slug FROM elo_t_tenants', shop)).toEqual([{ slug: 'battery-shop' }]);
    expect(
      await queryAs(adoptedRole.url, 'SELECT count(*)::int AS months FROM elo_v_tenant_monthly_usage', bob),
    ).toEqual([{ months: 0 }]);
    await dropRole(adopted, adoptedRole.name);
  });

  it('keeps a wall of its own, to which ours would be a door', async () => {
    await adopted.query('ALTER TABLE elo_t_token_usage ENABLE ROW LEVEL SECURITY');
    await adopted.query('CREATE POLICY own ON elo_t_token_usage USING (false)');
    await migrateAdopted();
    expect((await policies()).filter(({ tablename }) => tablename === 'elo_t_token_usage')).toEqual([
      { tablename: 'elo_t_token_usage', policyname: 'own' },
    ]);
  });

  it('keeps the tables that the migrating role does not own as they are', async () => {
    const name = newRoleName();
    await asAdmin(
      adopted,
      `CREATE ROLE ${name}`,
      `ALTER TABLE elo_model_pricing ADD cached_input_cost_per_1m NUMERIC, ADD cache_write_cost_per_1m NUMERIC,
        ADD cache_write_1h_cost_per_1m NUMERIC, ADD reasoning_cost_per_1m NUMERIC`,
      `ALTER TABLE elo_model_pricing OWNER TO ${name}`,
      `GRANT ALL ON elo_model_pricing TO application`,
    );
    await migrateAdopted();
    const [table] = await adopted.query(
      `SELECT relrowsecurity AS is_walled FROM pg_class WHERE relname = 'elo_model_pricing'`,
    );
    expect(table).toEqual({ is_walled: false });
    await dropRole(adopted, name);
  });
});
