import { Client } from 'pg';

import { createRuntime, type Runtime, type RuntimeError } from '../../../runtime';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { databaseStatus, migrate } from '../../../runtime/storage/schema/migrate';
import { createDatabase, type TestDatabase } from '../../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../../support/servers/model-server';
import { withCode } from '../../support/setup/matchers';
import { aTask } from '../../support/values/agent-fixture';

const TENANT = 'dddddddd-0000-4000-8000-000000000001';

let models: ModelServer;
let database: TestDatabase;
let postgres: Postgres;
let runtime: Runtime;

beforeAll(async () => {
  models = await startModelServer();
});
afterAll(() => models.close());
beforeEach(async () => {
  database = await createDatabase();
  open(database.url);
});
afterEach(async () => {
  await Promise.all([runtime.close(), postgres.close()]);
  await database.close();
});

function open(url: string): void {
  postgres = createPostgres({ url, maxConnections: 2 });
  runtime = createRuntime({ database: { url }, model: { apiKey: 'sk-test-key', baseUrl: models.url } });
}

/** The bill as its first program made it, with other columns in place of those of the same name, and more. */
function bill(other: Readonly<Record<string, string>> = {}, end = ''): string {
  const columns = {
    ...{ id: 'BIGSERIAL PRIMARY KEY', tenant_id: 'UUID NOT NULL', trace_id: 'VARCHAR(100)', task_id: 'VARCHAR(200)' },
    ...{ model_id: 'VARCHAR(100) NOT NULL', agent_tier: 'VARCHAR(20)', prompt_tokens: 'INT NOT NULL DEFAULT 0' },
    ...{ completion_tokens: 'INT NOT NULL DEFAULT 0', total_tokens: 'INT NOT NULL DEFAULT 0' },
    ...{ cost_usd: 'DECIMAL(12, 8) NOT NULL DEFAULT 0', task_type: 'VARCHAR(50)' },
    created_at: 'TIMESTAMPTZ DEFAULT now()',
    ...other,
  };
  const list = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
  return `CREATE TABLE elo_t_token_usage (${list.join(', ')})${end};`;
}

const tenants = (id: string, values: string): string =>
  `CREATE TABLE elo_t_tenants (id ${id}, name TEXT NOT NULL, settings JSONB DEFAULT '{}', is_active BOOLEAN DEFAULT true);
   INSERT INTO elo_t_tenants VALUES (${values}, 'A tenant');`;

/** Databases that `db migrate` takes, and then every line is written. */
const FIT: Readonly<Record<string, string>> = {
  'an empty database': '',
  'a bill as documented': bill(),
  'one more column': bill({ provider: 'TEXT' }),
  'one more column with a default': bill({ provider: `TEXT NOT NULL DEFAULT 'none'` }),
  'an id of its own kind': bill({ id: 'UUID PRIMARY KEY DEFAULT gen_random_uuid()' }),
  'an id as a number that its program makes': bill({ id: 'INT PRIMARY KEY' }),
  'an id as a uuid that its program makes': bill({ id: 'UUID PRIMARY KEY' }),
  'an id as a text that its program makes': bill({ id: 'TEXT PRIMARY KEY' }),
  'no id': `${bill()} ALTER TABLE elo_t_token_usage DROP COLUMN id;`,
  'a cost as float8': bill({ cost_usd: 'FLOAT8 NOT NULL DEFAULT 0' }),
  'a cost as any number': bill({ cost_usd: 'NUMERIC' }),
  'texts of any length': bill({ task_id: 'TEXT', model_id: 'TEXT NOT NULL', agent_tier: 'TEXT', task_type: 'TEXT' }),
  'more tokens': bill({ prompt_tokens: 'BIGINT', completion_tokens: 'BIGINT', total_tokens: 'NUMERIC' }),
  'a reference to tenants': `${tenants('UUID PRIMARY KEY', `'${TENANT}'`)}
    ${bill({ tenant_id: 'UUID NOT NULL REFERENCES elo_t_tenants (id)' })}`,
  'a check that holds': bill({}, '') + 'ALTER TABLE elo_t_token_usage ADD CHECK (total_tokens >= 0);',
  'a reference to tiers': `CREATE TABLE elo_agent_tiers (code VARCHAR(20) PRIMARY KEY, name VARCHAR(100), description TEXT,
      model_id VARCHAR(100) NOT NULL DEFAULT 'openai/gpt-4o-mini', is_free BOOLEAN NOT NULL DEFAULT false);
    INSERT INTO elo_agent_tiers (code, name) VALUES ('pro', 'Pro');
    ${bill({ agent_tier: 'VARCHAR(20) REFERENCES elo_agent_tiers (code)' })}`,
  'a list of tiers and types of task': bill({
    agent_tier: `VARCHAR(20) CHECK (agent_tier IN ('nano', 'small', 'optima', 'pro', 'expert'))`,
    task_type: `VARCHAR(50) CHECK (task_type IN ('ai_agent', 'llm_generation'))`,
  }),
  'a trigger that wants more of a tenant': `${tenants('UUID PRIMARY KEY', `'${TENANT}'`)}
    ALTER TABLE elo_t_tenants ADD COLUMN slug TEXT; UPDATE elo_t_tenants SET slug = 'acme'; ${bill()}
    CREATE FUNCTION wants_slug() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
      IF (SELECT slug FROM elo_t_tenants WHERE id = NEW.tenant_id) IS NULL THEN RAISE 'no slug'; END IF;
      RETURN NEW; END $$;
    CREATE TRIGGER wants_slug BEFORE INSERT ON elo_t_token_usage FOR EACH ROW EXECUTE FUNCTION wants_slug();`,
  'partitions by tenant': `${bill({ id: 'BIGINT GENERATED ALWAYS AS IDENTITY' }, ' PARTITION BY HASH (tenant_id)')}
    CREATE TABLE elo_part PARTITION OF elo_t_token_usage FOR VALUES WITH (MODULUS 1, REMAINDER 0);`,
};

/** Databases that `db migrate` refuses, and the words that say why. */
const UNFIT: Readonly<Record<string, readonly [sql: string, words: RegExp]>> = {
  'a column without a default': [bill({ provider: 'TEXT NOT NULL' }), /"provider" of relation "elo_t_token_usage"/],
  'a number without a default': [bill({ region: 'INT NOT NULL' }), /"region"/],
  'a time without a default': [bill({ billed_at: 'TIMESTAMPTZ NOT NULL' }), /"billed_at"/],
  'a generated total': [
    bill({ total_tokens: 'INT GENERATED ALWAYS AS (prompt_tokens + completion_tokens) STORED' }),
    /"total_tokens"/,
  ],
  'a generated cost': [bill({ cost_usd: 'NUMERIC GENERATED ALWAYS AS (0) STORED' }), /"cost_usd"/],
  'an enum of tiers': [
    `CREATE TYPE tier AS ENUM ('nano', 'small', 'optima', 'pro', 'expert'); ${bill({ agent_tier: 'tier' })}`,
    /"agent_tier" is of type tier/,
  ],
  'a cost in cents': [bill({ cost_usd: 'MONEY NOT NULL DEFAULT 0' }), /cost_usd/],
  'a cost below one dollar': [bill({ cost_usd: 'NUMERIC(8, 8)' }), /cost_usd is numeric\(8,8\), not numeric\(12,8\)/],
  'a check at the end of the transaction': [
    `${bill()} CREATE FUNCTION no_line() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RAISE 'no line of elo'; END $$;
     CREATE CONSTRAINT TRIGGER no_line AFTER INSERT ON elo_t_token_usage DEFERRABLE INITIALLY DEFERRED
     FOR EACH ROW EXECUTE FUNCTION no_line();`,
    /no line of elo/,
  ],
  'a cost of four places': [bill({ cost_usd: 'NUMERIC(10, 4)' }), /cost_usd is numeric\(10,4\)/],
  'a cost as real': [bill({ cost_usd: 'REAL' }), /cost_usd is real/],
  'short ids of tasks': [
    bill({ task_id: 'VARCHAR(36)' }),
    /elo_t_token_usage.task_id is character varying\(36\), not varchar\(200\)/,
  ],
  'ids of tasks as uuid': [bill({ task_id: 'UUID' }), /task_id|uuid/],
  'few tokens': [bill({ prompt_tokens: 'SMALLINT' }), /elo_t_token_usage.prompt_tokens is smallint/],
  'an id of a type that nobody can make': [bill({ id: 'BYTEA PRIMARY KEY' }), /"id" of relation "elo_t_token_usage"/],
  'a tenant as text': [bill({ tenant_id: 'TEXT NOT NULL' }), /elo_t_token_usage.tenant_id is text, not uuid/],
  'a check that fails': [
    bill({ total_tokens: 'INT CHECK (total_tokens < 1000)' }),
    /"elo_t_token_usage_total_tokens_check"/,
  ],
  'partitions by time': [
    `${bill({ id: 'BIGINT' }, ' PARTITION BY RANGE (created_at)')}
     CREATE TABLE elo_part PARTITION OF elo_t_token_usage DEFAULT;`,
    /created_at/,
  ],
  'a trigger that changes the cost of a new line': [
    `${bill()} CREATE FUNCTION no_cost() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN NEW.cost_usd := 0; RETURN NEW; END $$;
     CREATE TRIGGER no_cost BEFORE INSERT ON elo_t_token_usage FOR EACH ROW EXECUTE FUNCTION no_cost();`,
    /reads back as 101000 tokens and \$0/,
  ],
  'a trigger that drops lines': [
    `${bill()} CREATE FUNCTION drop_it() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
     CREATE TRIGGER drop_it BEFORE INSERT ON elo_t_token_usage FOR EACH ROW EXECUTE FUNCTION drop_it();`,
    /trigger or rule drops the lines/,
  ],
  'a view in place of the bill': [
    `${bill()} ALTER TABLE elo_t_token_usage RENAME TO bill;
     CREATE VIEW elo_t_token_usage AS SELECT * FROM bill;`,
    /elo_t_token_usage/,
  ],
  'tenants with a number': [tenants('INT PRIMARY KEY', '1'), /elo_t_tenants\.id is integer, not uuid/],
  'tenants with a text': [tenants('TEXT PRIMARY KEY', `'acme'`), /elo_t_tenants\.id is text, not uuid/],
  'a time that its column fixes': [
    bill({ created_at: `TIMESTAMPTZ DEFAULT '2000-01-01'` }),
    /elo_t_token_usage\.created_at does not become the time/,
  ],
  'a view that lacks columns': [
    'CREATE TABLE lines (id BIGSERIAL PRIMARY KEY, tenant_id UUID); CREATE VIEW elo_t_token_usage AS SELECT * FROM lines;',
    /elo_t_token_usage.*view/,
  ],
  'tenants with a varchar': [
    tenants('VARCHAR(36) PRIMARY KEY', `'acme'`),
    /elo_t_tenants\.id is character varying\(36\)/,
  ],
  'a table of tools whose tenants are texts': [
    'CREATE TABLE elo_t_tenant_tools (tenant_id TEXT, tool_id INT);',
    /text = uuid/,
  ],
  'a bill whose times are numbers': [bill({ created_at: 'BIGINT' }), /date_trunc\(unknown, bigint\)/],
  'tenants whose key is deferrable': [
    'CREATE TABLE elo_t_tenants (id UUID UNIQUE DEFERRABLE, name TEXT);',
    /elo_t_tenants\.id is no key/,
  ],
  'a bill whose policies let nobody write': [
    `${bill()} ALTER TABLE elo_t_token_usage ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;`,
    /row-level security policy for table "elo_t_token_usage"/,
  ],
  'tenants without a key': [tenants('UUID NOT NULL', `'${TENANT}'`), /elo_t_tenants\.id is no key/],
};

async function migrated(): Promise<unknown> {
  return migrate(postgres).then(
    () => undefined,
    (error: unknown) => error,
  );
}

it.each(Object.entries(FIT))('takes %s, and every line is written', async (_what, sql) => {
  await database.query(sql);
  expect(await migrated()).toBeUndefined();
  expect(await databaseStatus(postgres)).toMatchObject({ isReady: true });
  await database.query(
    `INSERT INTO elo_t_tenants (id, name) VALUES ('${TENANT}', 'A tenant') ON CONFLICT (id) DO NOTHING`,
  );
  const task = aTask(TENANT);
  models.script(textReply('Done 🎉', { prompt: 1250, completion: 340 }));
  expect(await runtime.run(task)).toMatchObject({ status: 'completed', warnings: [], cost_usd: '0.00039150' });
  const lines = await database.query(
    `SELECT total_tokens::text AS tokens, cost_usd::numeric(12, 8)::text AS cost FROM elo_t_token_usage`,
  );
  expect(lines).toEqual([{ tokens: '1590', cost: '0.00039150' }]);
});

it.each(Object.entries(UNFIT))('refuses %s, says why, and changes nothing', async (_what, [sql, words]) => {
  await database.query(sql);
  const error = await migrated();
  expect(error).toMatchObject({ code: 'DB_SCHEMA_UNFIT', message: expect.stringMatching(words) as string });
  expect(await database.query(`SELECT to_regclass('elo_agent_runs') AS runs`)).toEqual([{ runs: null }]);
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
  const dropped = UNFIT['a trigger that drops lines']?.[0].replace(bill(), '') ?? '';
  const UNFIT_LATER: Readonly<Record<string, string>> = {
    'a column without a default': 'ADD COLUMN provider TEXT NOT NULL',
    'a check that fails': 'ADD CHECK (total_tokens < 100)',
    'another type': 'ALTER COLUMN task_type TYPE INT USING 1',
    'a trigger that drops lines': dropped,
  };
  const outcome = (): Promise<string> =>
    runtime.run(aTask(TENANT)).then(
      ({ status, warnings }) => [status, ...warnings.map(({ code }) => code)].join(' '),
      (error: unknown) => (error as RuntimeError).code,
    );

  beforeEach(async () => {
    await migrate(postgres);
    models.always(() => textReply('Done', { prompt: 1250, completion: 340 }).body);
  });

  it.each(
    Object.entries(UNFIT_LATER).flatMap(([what, sql]) => [
      [`${what} opens no budget of money`, { sql, settings: { monthly_cost_limit_usd: 0.0007 } }] as const,
      [`${what} opens no budget of tokens`, { sql, settings: { monthly_token_limit: 3000 } }] as const,
    ]),
  )('%s', async (_what, { settings, sql }) => {
    await database.query('INSERT INTO elo_t_tenants (id, name, settings) VALUES ($1, $2, $3)', [TENANT, 'A', settings]);
    await database.query(sql === dropped ? sql : `ALTER TABLE elo_t_token_usage ${sql}`);
    const asked = models.received.length;
    const outcomes = [];
    for (let run = 0; run < 4; run++) outcomes.push(await outcome());
    const paid = 'completed LEDGER_WRITE_FAILED';
    expect(outcomes).toEqual([paid, paid, 'BUDGET_EXCEEDED', 'BUDGET_EXCEEDED']);
    expect(models.received).toHaveLength(asked + 2);
    expect(await runtime.admin.usage.unknown()).toMatchObject({
      unknown_usage: [paid, paid].map(() => ({ unbilled_cost_usd: '0.0003915', unbilled_tokens: '1590' })),
    });
  });
});

describe.each([
  ['UUID', 'BIGINT'],
  ['UUID', 'INT'],
])('ids that the program of before made: tenants as %s, tools as %s', (tenantId, toolId) => {
  it('are made by the table, after those that are there', async () => {
    await database.query(`CREATE TABLE elo_t_tenants (id ${tenantId} PRIMARY KEY, name TEXT NOT NULL);
      CREATE TABLE elo_agent_tools (id ${toolId} PRIMARY KEY, code VARCHAR(50) UNIQUE NOT NULL, name VARCHAR(100) NOT NULL);
      INSERT INTO elo_agent_tools VALUES (41, 'old', 'Old')`);
    expect(await migrated()).toBeUndefined();
    const { id } = await runtime.admin.tenant.create({ name: 'Acme' });
    const host = { name: 'Look', endpoint: 'https://tools.example.com/hook', description: 'Looks' };
    for (const code of ['look', 'see']) await runtime.admin.tool.create({ code, ...host, enableFor: [id] });
    const tools = await database.query('SELECT id::int AS id, code FROM elo_agent_tools ORDER BY id');
    expect(tools).toEqual([
      { id: 41, code: 'old' },
      { id: 42, code: 'look' },
      { id: 43, code: 'see' },
    ]);
  });
});

it('tells of models with two prices', async () => {
  await database.query(`CREATE TABLE elo_model_pricing (model_id TEXT, input_cost_per_1m NUMERIC, output_cost_per_1m NUMERIC);
    INSERT INTO elo_model_pricing VALUES ('a/model', 1, 2), ('a/model', 3, 4), ('b/model', 1, 2)`);
  expect(await migrated()).toBeUndefined();
  expect(await databaseStatus(postgres)).toMatchObject({
    advice: [
      { column: 'elo_model_pricing.model_id', problem: expect.stringContaining('a/model has 2 prices') as string },
    ],
  });
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

it.each(['LATIN1', 'WIN1251', 'SQL_ASCII'])('takes no other encoding than UTF8 and none: %s', async (encoding) => {
  const admin = new Client({ connectionString: process.env.TEST_POSTGRES_ADMIN_URL });
  await admin.connect();
  const url = new URL(database.url);
  const name = `${url.pathname.slice(1)}_${encoding.toLowerCase()}`;
  try {
    await admin.query(
      `CREATE DATABASE ${name} OWNER ${url.username} TEMPLATE template0 ENCODING '${encoding}' LOCALE 'C'`,
    );
    url.pathname = `/${name}`;
    const other = createPostgres({ url: url.href, maxConnections: 1 });
    const outcome = await migrate(other).then(
      () => 'fit',
      (error: unknown) => (error as Error).message,
    );
    await other.close();
    expect(outcome).toMatch(encoding === 'SQL_ASCII' ? /^fit$/ : new RegExp(`${encoding}.*UTF8`));
  } finally {
    await admin.query(`DROP DATABASE IF EXISTS ${name}`);
    await admin.end();
  }
});
