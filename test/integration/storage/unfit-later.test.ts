import { Client } from 'pg';

import type { Runtime, RuntimeError } from '../../../runtime';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { databaseStatus, migrate } from '../../../runtime/storage/schema/migrate';
import type { TestDatabase } from '../../support/servers/database';
import { type ModelServer, textReply } from '../../support/servers/model-server';
import { withCode } from '../../support/setup/matchers';
import { aTask } from '../../support/values/agent-fixture';
import { useEmptyDatabase } from '../../support/worlds/empty-database';

const TENANT = 'dddddddd-0000-4000-8000-000000000001';

let models: ModelServer;
let database: TestDatabase;
let postgres: Postgres;
let runtime: Runtime;
const world = useEmptyDatabase();
beforeEach(() => {
  ({ models, database, postgres, runtime } = world());
});

describe('a database that was fit', () => {
  beforeEach(async () => {
    await migrate(postgres);
    await database.query(`INSERT INTO elo_t_tenants (id, name) VALUES ('${TENANT}', 'A')`);
    await database.query('ALTER TABLE elo_t_token_usage ADD COLUMN provider TEXT');
    await database.query('ALTER TABLE elo_t_token_usage ALTER COLUMN provider SET NOT NULL');
  });

  it('is not ready any more, and diagnostics name the column', async () => {
    const unfit = expect.stringContaining('"provider" of relation "elo_t_token_usage"') as string;
    expect(await databaseStatus(postgres)).toMatchObject({ isReady: false, missing: [], damage: [], unfit });
    expect(await runtime.admin.diagnostics.summary()).toMatchObject({
      overall_status: 'CRITICAL',
      failed_components: [{ component: 'schema', code: 'DB_SCHEMA_UNFIT' }],
    });
    await expect(migrate(postgres)).rejects.toThrow(withCode('DB_SCHEMA_UNFIT'));
  });
});

describe('a bill that becomes unfit after the migration', () => {
  const dropped = `CREATE FUNCTION drop_it() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
     CREATE TRIGGER drop_it BEFORE INSERT ON elo_t_token_usage FOR EACH ROW EXECUTE FUNCTION drop_it();`;
  const UNFIT_LATER: Readonly<Record<string, string>> = {
    'a column without a default': 'ADD COLUMN provider TEXT NOT NULL',
    'a check that fails': 'ADD CHECK (total_tokens < 100)',
    'another type': 'ALTER COLUMN task_type TYPE INT USING 1',
    'a trigger that drops lines': dropped,
  };
  const LIMITS = {
    [TENANT]: { monthly_cost_limit_usd: 0.0007 },
    'dddddddd-0000-4000-8000-000000000002': { monthly_token_limit: 3000 },
  };
  const outcome = (tenantId: string): Promise<string> =>
    runtime.run(aTask(tenantId)).then(
      ({ status, warnings }) => [status, ...warnings.map(({ code }) => code)].join(' '),
      (error: unknown) => (error as RuntimeError).code,
    );
  async function fourRuns(tenantId: string): Promise<readonly string[]> {
    const outcomes = [];
    for (let run = 0; run < 4; run++) outcomes.push(await outcome(tenantId));
    return outcomes;
  }

  it.each(Object.entries(UNFIT_LATER))('%s opens no budget, of money or of tokens', async (_what, sql) => {
    await migrate(postgres);
    models.always(() => textReply('Done', { prompt: 1250, completion: 340 }).body);
    for (const [id, settings] of Object.entries(LIMITS)) {
      await database.query('INSERT INTO elo_t_tenants (id, name, settings) VALUES ($1, $2, $3)', [id, 'A', settings]);
    }
    await database.query(sql === dropped ? sql : `ALTER TABLE elo_t_token_usage ${sql}`);
    const asked = models.received.length;
    const outcomes = await Promise.all(Object.keys(LIMITS).map(fourRuns));
    const paid = 'completed LEDGER_WRITE_FAILED';
    const expected = [paid, paid, 'BUDGET_EXCEEDED', 'BUDGET_EXCEEDED'];
    expect(outcomes).toEqual([expected, expected]);
    expect(models.received).toHaveLength(asked + 4);
    expect(await runtime.admin.usage.unknown()).toMatchObject({
      unknown_usage: [1, 2, 3, 4].map(() => ({ unbilled_cost_usd: '0.0003915', unbilled_tokens: '1590' })),
    });
  });
});

it.each([
  ['short ids of traces', 'ALTER TABLE elo_t_token_usage ADD CHECK (length(trace_id) <= 32)'],
  ['one line for each tenant', 'CREATE UNIQUE INDEX ON elo_t_token_usage (tenant_id)'],
  ['one tier alone', `ALTER TABLE elo_t_token_usage ADD CHECK (agent_tier = 'expert')`],
])('is not ready with %s', async (_what, sql) => {
  await migrate(postgres);
  await database.query(`${sql}; INSERT INTO elo_t_tenants (id, name) VALUES ('${TENANT}', 'A')`);
  expect(await databaseStatus(postgres)).toMatchObject({ isReady: false });
});

it.each([
  ['no line of a free tier', `ALTER TABLE elo_t_token_usage ADD CHECK (agent_tier <> 'nano')`],
  ['one line at a time', 'CREATE UNIQUE INDEX ON elo_t_token_usage (tenant_id, created_at)'],
])('stays ready with %s', async (_what, sql) => {
  await migrate(postgres);
  await database.query(`${sql}; INSERT INTO elo_t_tenants (id, name) VALUES ('${TENANT}', 'A')`);
  expect(await databaseStatus(postgres)).toMatchObject({ isReady: true });
});

it.each([
  ['a limit of the cost', 'ADD CHECK (cost_usd < 1000)', '"elo_t_token_usage_cost_usd_check"'],
  ['a limit of the tokens', 'ADD CHECK (total_tokens <= 5000000)', '"elo_t_token_usage_total_tokens_check"'],
  [
    'a reference to prices',
    'ADD FOREIGN KEY (model_id) REFERENCES elo_model_pricing (model_id)',
    '"elo_t_token_usage_model_id_fkey"',
  ],
])('stays ready with %s that some lines will not meet, and tells of it', async (_what, sql, name) => {
  await migrate(postgres);
  await database.query(`ALTER TABLE elo_t_token_usage ${sql};
    INSERT INTO elo_t_tenants (id, name) VALUES ('${TENANT}', 'A')`);
  const problem = expect.stringContaining(name) as string;
  expect(await databaseStatus(postgres)).toMatchObject({
    isReady: true,
    advice: [{ column: 'elo_t_token_usage', problem }],
  });
  expect(await migrate(postgres)).toMatchObject({ applied: [] });
});

it('is not ready after a policy that lets its owner write no line', async () => {
  await migrate(postgres);
  await database.query(`ALTER TABLE elo_t_token_usage FORCE ROW LEVEL SECURITY;
    INSERT INTO elo_t_tenants (id, name) VALUES ('${TENANT}', 'A')`);
  const unfit = expect.stringMatching(/row-level security policy for table "elo_t_token_usage"/) as string;
  expect(await databaseStatus(postgres)).toMatchObject({ isReady: false, unfit });
});

describe('what says nothing about the schema', () => {
  beforeEach(() => migrate(postgres));

  it('refuses nothing: a lock on the bill, and nobody waits behind it', async () => {
    const holder = new Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE elo_t_token_usage IN SHARE MODE');
    expect(await databaseStatus(postgres)).toMatchObject({ isReady: true });
    await holder.query('COMMIT');
    await holder.end();
  });

  /** Reads the status as a new role with these rights on all tables, but no INSERT on tenants. */
  async function statusAs(rights: string): ReturnType<typeof databaseStatus> {
    const admin = new Client({ connectionString: process.env.TEST_POSTGRES_ADMIN_URL });
    await admin.connect();
    const url = new URL(database.url);
    const role = `role_${url.pathname.slice(1)}`;
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p' BYPASSRLS`);
    await database.query(`GRANT ${rights} ON ALL TABLES IN SCHEMA public TO ${role};
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${role}; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO ${role};
      REVOKE INSERT ON elo_t_tenants FROM ${role}`);
    [url.username, url.password] = [role, 'p'];
    const other = createPostgres({ url: url.href, maxConnections: 1 });
    const status = await databaseStatus(other);
    await other.close();
    await admin.end();
    return status;
  }

  it('refuses nothing: a role that may only read', async () => {
    expect(await statusAs('SELECT')).toMatchObject({ isReady: true });
  });

  it('hides nothing: a role that may write but not add tenants', async () => {
    await database.query(`INSERT INTO elo_t_tenants (id, name) VALUES ('${TENANT}', 'A')`);
    expect(await statusAs('SELECT, INSERT, UPDATE, DELETE')).toMatchObject({ isReady: true });
  });

  it('hides nothing: the same role where a line cannot be written', async () => {
    await database.query(`INSERT INTO elo_t_tenants (id, name) VALUES ('${TENANT}', 'A')`);
    await database.query('ALTER TABLE elo_t_token_usage ADD COLUMN provider TEXT NOT NULL');
    const unfit = expect.stringContaining('"provider"') as string;
    expect(await statusAs('SELECT, INSERT, UPDATE, DELETE')).toMatchObject({ isReady: false, unfit });
  });

  it('leaves nothing behind', async () => {
    await databaseStatus(postgres);
    const left = await database.query(
      'SELECT (SELECT count(*)::int FROM elo_agent_runs) AS runs, (SELECT count(*)::int FROM elo_t_tenants) AS tenants',
    );
    expect(left).toEqual([{ runs: 0, tenants: 0 }]);
  });
});

it('sends no request where the schema is older than the program', async () => {
  await migrate(postgres);
  await database.query(`INSERT INTO elo_t_tenants (id, name) VALUES ('${TENANT}', 'A')`);
  await database.query('ALTER TABLE elo_agent_model_calls DROP COLUMN unbilled_tokens');
  const asked = models.received.length;
  await expect(runtime.run(aTask(TENANT))).rejects.toThrow(withCode('DB_SCHEMA_MISSING'));
  expect(models.received).toHaveLength(asked);
});
