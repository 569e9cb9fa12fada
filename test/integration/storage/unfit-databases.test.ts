import { Client } from 'pg';

import type { Runtime } from '../../../runtime';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { databaseStatus, migrate } from '../../../runtime/storage/schema/migrate';
import type { TestDatabase } from '../../support/servers/database';
import { type ModelServer, textReply } from '../../support/servers/model-server';
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

/** Databases that `diagnostics prepare-database` takes, and then every line is written. */
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
  'a tier without a model': `CREATE TABLE elo_agent_tiers (code VARCHAR(20), name TEXT, model_id VARCHAR(100), is_free BOOLEAN);
    INSERT INTO elo_agent_tiers VALUES ('pro', 'Pro', 'openai/gpt-4o-mini', false), ('z-draft', 'Draft', NULL, false);`,
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

/** Databases that `diagnostics prepare-database` refuses, and the words that say why. */
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
  'one line for each trace': [bill({ trace_id: 'VARCHAR(100) UNIQUE' }), /"elo_t_token_usage_trace_id_key"/],
  'one line for each task of all tenants': [
    bill({ task_id: 'VARCHAR(200) UNIQUE' }),
    /"elo_t_token_usage_task_id_key"/,
  ],
  'one line for each model of a tenant': [
    `${bill()} ALTER TABLE elo_t_token_usage ADD UNIQUE (tenant_id, model_id);`,
    /"elo_t_token_usage_tenant_id_model_id_key"/,
  ],
  'a check on the length of ids': [
    bill({ task_id: 'TEXT CHECK (length(task_id) <= 36)' }),
    /"elo_t_token_usage_task_id_check"/,
  ],
  'a check on the cost': [bill({ cost_usd: 'NUMERIC CHECK (cost_usd < 1)' }), /"elo_t_token_usage_cost_usd_check"/],
  'a domain of costs below one dollar': [
    `CREATE DOMAIN cents AS NUMERIC(8, 8); ${bill({ cost_usd: 'cents' })}`,
    /must round to an absolute value less than 1/,
  ],
  'a check on the tier': [
    bill({ agent_tier: `VARCHAR(20) CHECK (agent_tier IN ('expert'))` }),
    /"elo_t_token_usage_agent_tier_check"/,
  ],
  'a check on the type of task': [
    bill({ task_type: `VARCHAR(50) CHECK (task_type IN ('ai_agent'))` }),
    /"elo_t_token_usage_task_type_check"/,
  ],
  'a reference to models': [
    `CREATE TABLE models (id VARCHAR(100) PRIMARY KEY);
    INSERT INTO models VALUES ('qwen/qwen3-4b:free'), ('qwen/qwen3-8b'), ('anthropic/claude-3-haiku'), ('openai/gpt-4o-mini'),
      ('anthropic/claude-3-5-sonnet'), ('rehearsal');
    ${bill({ model_id: 'VARCHAR(100) REFERENCES models (id)' })}`,
    /"elo_t_token_usage_model_id_fkey"/,
  ],
  'tiers with numbers': [
    `CREATE TABLE elo_agent_tiers (code INT PRIMARY KEY, model_id VARCHAR(100), is_free BOOLEAN);`,
    /integer = text; elo_agent_tiers\.code is integer, not varchar\(20\) \(0101-catalogue\)/,
  ],
  'tools whose ids are uuids': [
    'CREATE TABLE elo_agent_tools (id UUID PRIMARY KEY, code VARCHAR(50) UNIQUE NOT NULL, name TEXT NOT NULL);',
    /elo_agent_tools\.id is uuid, not int/,
  ],
  'tools that are on by a text': [
    `CREATE TABLE elo_agent_tools (id SERIAL PRIMARY KEY, code VARCHAR(50) UNIQUE NOT NULL, name TEXT, is_active TEXT);`,
    /type boolean.*elo_agent_tools\.is_active is text, not boolean/,
  ],
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

it.each([
  ['tenants', 'CREATE TABLE elo_t_tenants (id UUID PRIMARY KEY, name TEXT NOT NULL, region TEXT NOT NULL)', 'region'],
  [
    'tools',
    `CREATE TABLE elo_agent_tools (id SERIAL PRIMARY KEY, code VARCHAR(50) UNIQUE NOT NULL, name TEXT NOT NULL,
      team TEXT NOT NULL)`,
    'team',
  ],
])('names the column that a table of %s wants of its own', async (what, sql, column) => {
  await database.query(sql);
  expect(await migrated()).toBeUndefined();
  const host = { name: 'Look', endpoint: 'https://tools.example.com/hook', description: 'Looks' };
  const { tenant, tool } = runtime.admin;
  const added = what === 'tools' ? tool.create({ code: 'look', ...host }) : tenant.create({ name: 'Acme' });
  await expect(added).rejects.toMatchObject({
    code: 'DB_ROW_REFUSED',
    message: expect.stringContaining(`"${column}"`) as string,
  });
});

it('bills each run where another program takes the ids that come next', async () => {
  await database.query(bill({ id: 'INT PRIMARY KEY' }));
  expect(await migrated()).toBeUndefined();
  await database.query(`INSERT INTO elo_t_tenants (id, name) VALUES ('${TENANT}', 'A')`);
  models.always(() => textReply('Done', { prompt: 1250, completion: 340 }).body);
  for (let run = 0; run < 3; run++) {
    expect(await runtime.run(aTask(TENANT))).toMatchObject({ status: 'completed', warnings: [] });
    await database.query(`INSERT INTO elo_t_token_usage (id, tenant_id, model_id)
      SELECT max(id) + 1, '${TENANT}', 'another' FROM elo_t_token_usage`);
  }
  const lines = await database.query('SELECT count(*)::int AS lines FROM elo_t_token_usage WHERE run_id IS NOT NULL');
  expect(lines).toEqual([{ lines: 3 }]);
});

it('tells of prices that are money, and of two rows for a tier', async () => {
  await database.query(`CREATE TABLE elo_model_pricing (model_id TEXT, input_cost_per_1m MONEY, output_cost_per_1m NUMERIC);
    INSERT INTO elo_model_pricing VALUES ('openai/gpt-4o-mini', 1, 2);
    CREATE TABLE elo_agent_tiers (code TEXT, name TEXT, model_id TEXT, is_free BOOLEAN);
    INSERT INTO elo_agent_tiers VALUES ('pro', 'Pro', 'openai/gpt-4o-mini'), ('pro', 'Pro', 'openai/gpt-4o-mini')`);
  expect(await migrated()).toBeUndefined();
  expect((await databaseStatus(postgres)).advice.map(({ column }) => column)).toEqual([
    'elo_model_pricing.input_cost_per_1m',
    'elo_agent_tiers.code',
  ]);
  await database.query(`INSERT INTO elo_t_tenants (id, name) VALUES ('${TENANT}', 'A')`);
  models.script(textReply('Done', { prompt: 1250, completion: 340 }));
  expect((await runtime.run(aTask(TENANT))).warnings.map(({ code }) => code)).toEqual(['USAGE_UNPRICED']);
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
