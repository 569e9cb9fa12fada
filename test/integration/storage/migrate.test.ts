import { withDatabase } from '../../../runtime/cli/environment';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { databaseStatus, migrate } from '../../../runtime/storage/schema/migrate';
import { MIGRATIONS } from '../../../runtime/storage/schema/migrations';
import { createDatabase, type TestDatabase } from '../../support/servers/database';
import { everyTimerBut } from '../../support/values/timers';
import { runCli } from '../../support/worlds/cli';

const NAMES = MIGRATIONS.map(({ name }) => name);

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

const LOCK = `SELECT pg_advisory_xact_lock(hashtext('universal-ai-agent migrations'))`;

/** Resolves with the process ids of those that wait for a lock, as soon as there are any. */
async function waitingBackends(): Promise<readonly number[]> {
  for (;;) {
    const rows = await database.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if (rows.length > 0) return rows.map(({ pid }) => pid);
  }
}

const tables = async () =>
  (
    await database.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v') ORDER BY 1`,
    )
  ).map(({ name }) => name);

/** Everything that a migration could change: columns with their defaults, indexes and rows. */
async function fingerprint(): Promise<unknown> {
  return {
    columns: await database.query(
      `SELECT table_name, column_name, data_type, column_default FROM information_schema.columns
       WHERE table_schema = 'public' ORDER BY 1, 2`,
    ),
    indexes: await database.query(`SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`),
    tiers: await database.query('SELECT * FROM elo_agent_tiers ORDER BY code'),
    prices: await database.query('SELECT * FROM elo_model_pricing ORDER BY model_id'),
  };
}

it('makes every table of the documents and the ledger in an empty database', async () => {
  await expect(migrate(postgres)).resolves.toEqual({ applied: NAMES, present: [] });
  expect(await tables()).toEqual([
    'elo_agent_journal',
    'elo_agent_mcp_servers',
    'elo_agent_migrations',
    'elo_agent_model_calls',
    'elo_agent_monthly_usage',
    'elo_agent_rate_windows',
    'elo_agent_runs',
    'elo_agent_secrets',
    'elo_agent_session_messages',
    'elo_agent_sessions',
    'elo_agent_skills',
    'elo_agent_tiers',
    'elo_agent_tools',
    'elo_agents',
    'elo_model_pricing',
    'elo_t_tenant_mcp_servers',
    'elo_t_tenant_mcp_tools',
    'elo_t_tenant_tools',
    'elo_t_tenants',
    'elo_t_token_usage',
    'elo_tool_executions',
    'elo_v_agent_tenants',
    'elo_v_tenant_monthly_usage',
  ]);
});

it('writes the five tiers in their order, each with a price', async () => {
  await migrate(postgres);
  const rows = await database.query(
    `SELECT tier.code, price.input_cost_per_1m AS input, price.output_cost_per_1m AS output
     FROM elo_agent_tiers AS tier JOIN elo_model_pricing AS price USING (model_id) ORDER BY tier.rank`,
  );
  expect(rows).toEqual([
    { code: 'nano', input: '0', output: '0' },
    { code: 'small', input: '0.07', output: '0.07' },
    { code: 'optima', input: '0.25', output: '1.25' },
    { code: 'pro', input: '0.15', output: '0.60' },
    { code: 'expert', input: '3', output: '15' },
  ]);
});

it('changes nothing when it is repeated', async () => {
  await migrate(postgres);
  const before = await fingerprint();
  await expect(migrate(postgres)).resolves.toEqual({ applied: [], present: NAMES });
  expect(await fingerprint()).toEqual(before);
});

it('leaves a tier and a price that the operator changed', async () => {
  await migrate(postgres);
  await database.query(`UPDATE elo_agent_tiers SET model_id = 'my/model', rank = 9 WHERE code = 'pro'`);
  await database.query(`DELETE FROM elo_model_pricing WHERE model_id = 'qwen/qwen3-8b'`);
  const before = await fingerprint();
  await migrate(postgres);
  expect(await fingerprint()).toEqual(before);
});

it('is applied once by several callers at the same time', async () => {
  const others = Array.from({ length: 3 }, () => createPostgres({ url: database.url, maxConnections: 1 }));
  const reports = await Promise.all([postgres, ...others].map((each) => migrate(each)));
  expect(reports.filter(({ applied }) => applied.length > 0)).toEqual([{ applied: NAMES, present: [] }]);
  expect(reports.filter(({ present }) => present.length > 0)).toHaveLength(3);
  await Promise.all(others.map((each) => each.close()));
});

it('refuses a database whose applied migration is not the one that we know', async () => {
  await migrate(postgres);
  await database.query(`UPDATE elo_agent_migrations SET checksum = repeat('0', 64) WHERE name = '0101-catalogue'`);
  await expect(migrate(postgres)).rejects.toThrow('0101-catalogue is not the one that was applied');
  await expect(databaseStatus(postgres)).rejects.toThrow('0101-catalogue is not the one that was applied');
});

it('goes on beside a migration of a newer version', async () => {
  await migrate(postgres);
  await database.query(`INSERT INTO elo_agent_migrations (name, checksum) VALUES ('9999-later', repeat('0', 64))`);
  await expect(migrate(postgres)).resolves.toMatchObject({ applied: [] });
});

it('leaves nothing behind when it fails', async () => {
  // A table of this name that is none of ours.
  await database.query('CREATE TABLE elo_agent_runs (id INT)');
  await expect(migrate(postgres)).rejects.toMatchObject({
    code: 'DB_SCHEMA_DAMAGED',
    message:
      'The schema is not as `universal-ai-agent diagnostics prepare-database` makes it: elo_agent_runs has no tenant_id, task_id.',
  });
  expect(await tables()).toEqual(['elo_agent_runs']);
  await database.query('DROP TABLE elo_agent_runs');
  await expect(migrate(postgres)).resolves.toMatchObject({ applied: NAMES });
});

it('fails with a code, and leaves nothing behind, when its connection is lost', async () => {
  const lock = createPostgres({ url: database.url, maxConnections: 1 });
  await lock.transaction(async (query) => {
    await query({ text: `SELECT pg_advisory_xact_lock(hashtext('universal-ai-agent migrations'))`, values: [] });
    const failing = expect(migrate(postgres)).rejects.toMatchObject({ code: 'DB_UNREACHABLE' });
    for (let killed = false; !killed;) {
      const rows = await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      killed = rows.length > 0;
    }
    await failing;
  });
  await lock.close();
  expect(await tables()).toEqual([]);
});

it('waits as long as it must for a table that is in use', async () => {
  process.env.DATABASE_URL = database.url;
  const lock = createPostgres({ url: database.url, maxConnections: 1 });
  jest.useFakeTimers({ doNotFake: everyTimerBut('setTimeout', 'clearTimeout') });
  try {
    await withDatabase(async (patient) => {
      const { migrating } = await lock.transaction(async (query) => {
        await query({ text: LOCK, values: [] });
        const started = migrate(patient);
        await waitingBackends();
        jest.advanceTimersByTime(3_600_000);
        return { migrating: started };
      });
      await expect(migrating).resolves.toEqual({ applied: NAMES, present: [] });
    });
  } finally {
    jest.useRealTimers();
    delete process.env.DATABASE_URL;
    await lock.close();
  }
});

describe('the command', () => {
  const cli = (...args: string[]) => runCli(['diagnostics', ...args], { env: { DATABASE_URL: database.url } });

  it('tells what is missing with exit code 1, and what is there with exit code 0', async () => {
    const before = await cli('schema');
    expect(before.exitCode).toBe(1);
    expect(JSON.parse(before.stdout)).toEqual({
      isReady: false,
      applied: [],
      missing: NAMES,
      damage: [],
      missingTables: expect.arrayContaining([
        'elo_t_tenants',
        'elo_agent_journal',
        'elo_v_tenant_monthly_usage',
      ]) as string[],
      missingColumns: [],
      tenantTable: null,
      roleSeesAll: true,
      advice: [],
    });
    const migrated = await cli('prepare-database');
    expect(migrated.exitCode).toBe(0);
    expect(JSON.parse(migrated.stdout)).toEqual({ applied: NAMES, present: [] });
    const after = await cli('schema');
    expect(after.exitCode).toBe(0);
    expect(JSON.parse(after.stdout)).toEqual({
      isReady: true,
      applied: NAMES,
      missing: [],
      damage: [],
      missingTables: [],
      refusedRows: { rows: [], count: 0 },
      missingColumns: [],
      tenantTable: 'elo_t_tenants',
      roleSeesAll: true,
      advice: [],
    });
  });
});
