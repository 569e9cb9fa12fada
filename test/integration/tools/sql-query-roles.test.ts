import type { SqlReader, SqlRows } from '../../../runtime/contracts/tools/sql-reader';
import { createSqlReader } from '../../../runtime/storage/postgres/sql-reader';
import { createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { eventually } from '../../support/values/agent-fixture';
import { asAdmin, createSqlRole, dropRole } from '../../support/worlds/sql-role';

let database: TestDatabase;

beforeAll(async () => {
  database = await createMigratedDatabase();
  await database.query('CREATE TABLE orders (id INT, tenant_id UUID, note TEXT)');
  await database.query('ALTER TABLE orders ENABLE ROW LEVEL SECURITY');
});
afterAll(() => database.close());

const read = (reader: SqlReader): Promise<SqlRows> =>
  reader.read({
    tenantId: '00000000-0000-0000-0000-000000000000',
    text: 'SELECT 1',
    maxRows: 1,
    maxBytes: 1000,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
  });

const roles: string[] = [];
const unsafe = async (...texts: readonly string[]): Promise<string> => {
  const { name, url } = await createSqlRole(database);
  roles.push(name);
  await asAdmin(database, ...texts.map((text) => text.replaceAll('ROLE_NAME', name)));
  const other = createSqlReader({ url, maxConnections: 1 });
  try {
    return await read(other).then(
      () => 'accepted',
      (error: unknown) => {
        expect(error).toMatchObject({ code: 'SQL_ROLE_UNSAFE', category: 'tenant', details: { user: name } });
        return (error as Error).message;
      },
    );
  } finally {
    await other.close();
  }
};
afterEach(async () => {
  for (const name of roles.splice(0)) {
    await asAdmin(database, `ALTER ROLE ${name} NOSUPERUSER`);
    await dropRole(database, name);
  }
});

it.each([
  ['a superuser', ['ALTER ROLE ROLE_NAME SUPERUSER'], 'it is a superuser'],
  ['BYPASSRLS', ['ALTER ROLE ROLE_NAME BYPASSRLS'], 'it has BYPASSRLS'],
  ['a member of the owner', ['GRANT application TO ROLE_NAME'], 'it is a member of application'],
  ['a reader of everything', ['GRANT pg_read_all_data TO ROLE_NAME'], 'it is a member of pg_read_all_data'],
  ['a reader of files', ['GRANT pg_read_server_files TO ROLE_NAME'], 'it is a member of pg_read_server_files'],
  [
    'an owner',
    ['CREATE TABLE owned (id INT)', 'ALTER TABLE owned OWNER TO ROLE_NAME', 'GRANT SELECT ON owned TO ROLE_NAME'],
    'it owns owned',
  ],
  [
    'a table of tenants without a wall',
    ['CREATE TABLE open_table (tenant_id UUID)', 'GRANT SELECT (tenant_id) ON open_table TO ROLE_NAME'],
    'it can read open_table, which has a tenant_id and no row-level security',
  ],
  [
    'a view that reads as its owner',
    [
      'CREATE VIEW leak AS SELECT note FROM orders',
      'CREATE VIEW leaks AS SELECT note FROM leak',
      'GRANT SELECT ON leaks TO ROLE_NAME',
    ],
    'it can read leaks, which reads with the rights of its owner',
  ],
  [
    'a copy of walled rows',
    ['CREATE MATERIALIZED VIEW copied AS SELECT note FROM orders', 'GRANT SELECT ON copied TO ROLE_NAME'],
    'it can read copied',
  ],
  [
    'a function that a query can call as a column',
    [
      'CREATE FUNCTION as_column(orders) RETURNS BIGINT LANGUAGE sql SECURITY DEFINER AS $$ SELECT count(*) FROM orders $$',
      'GRANT SELECT ON orders TO ROLE_NAME',
    ],
    'it may execute as_column(orders)',
  ],
  [
    'a function with the name of one of Postgres',
    ['CREATE FUNCTION upper(orders, INT) RETURNS BIGINT LANGUAGE sql SECURITY DEFINER AS $$ SELECT 1::bigint $$'],
    'it may execute upper(orders,integer)',
  ],
])('is refused before its first query: %s', async (_what, texts, reason) => {
  try {
    expect(await unsafe(...texts)).toContain(reason);
  } finally {
    await asAdmin(
      database,
      'DROP TABLE IF EXISTS owned, open_table',
      'DROP VIEW IF EXISTS leak CASCADE',
      'DROP MATERIALIZED VIEW IF EXISTS copied',
      'DROP FUNCTION IF EXISTS as_column(orders), upper(orders, INT)',
    );
  }
});

it('is accepted when it reads nothing of others', async () => {
  const texts = [
    'CREATE VIEW kept WITH (security_invoker = on) AS SELECT * FROM orders',
    'GRANT SELECT ON kept TO ROLE_NAME',
    'CREATE TABLE no_tenant (id INT)',
    'GRANT SELECT ON no_tenant TO ROLE_NAME',
  ];
  expect(await unsafe(...texts)).toBe('accepted');
  await asAdmin(database, 'DROP VIEW kept', 'DROP TABLE no_tenant');
});

it('is refused again as soon as a new connection sees that it has changed', async () => {
  const { name, url } = await createSqlRole(database);
  roles.push(name);
  const other = createSqlReader({ url, maxConnections: 1 });
  await read(other);
  await asAdmin(
    database,
    `ALTER ROLE ${name} BYPASSRLS`,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${name}'`,
  );
  await eventually(async () => {
    const failure = await read(other).catch((error: unknown) => error);
    return (failure as { code?: string }).code === 'SQL_ROLE_UNSAFE' || undefined;
  });
  await other.close();
});

it('is refused when it is the owner itself', async () => {
  const other = createSqlReader({ url: database.url, maxConnections: 1 });
  await expect(read(other)).rejects.toThrow(
    '"application" may not be used for queries: it is a member of pg_database_owner; it owns',
  );
  await other.close();
});
