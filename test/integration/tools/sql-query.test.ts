import { type AddressInfo, createServer, type Socket } from 'node:net';

import type { SqlReader, SqlRequest, SqlRows } from '../../../runtime/contracts/tools/sql-reader';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { createSqlReader } from '../../../runtime/storage/postgres/sql-reader';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { eventually } from '../../support/values/agent-fixture';
import {
  adminUrlOf,
  asAdmin,
  createSqlRole,
  dropRole,
  newRoleName,
  type TestRole,
  urlAs,
} from '../../support/worlds/sql-role';

let database: TestDatabase;
let role: TestRole;
let reader: SqlReader;
let admin: Postgres;
let alice: string;
let bob: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  [alice, bob] = [await addTenant(database, { name: 'Alice' }), await addTenant(database, { name: 'Bob' })];
  await database.query('CREATE TABLE orders (id INT, tenant_id UUID, note TEXT)');
  await database.query('ALTER TABLE orders ENABLE ROW LEVEL SECURITY');
  await database.query(
    `CREATE POLICY own ON orders USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)`,
  );
  await database.query(
    `INSERT INTO orders SELECT n, CASE n % 2 WHEN 0 THEN $1::uuid ELSE $2::uuid END, 'note ' || n FROM generate_series(1, 20) AS n`,
    [alice, bob],
  );
  await database.query('CREATE TABLE written (id INT)');
  await database.query(
    'CREATE FUNCTION write_it() RETURNS INT LANGUAGE sql SECURITY DEFINER AS $$ INSERT INTO written VALUES (1) RETURNING id $$',
  );
  await database.query(
    'CREATE FUNCTION count_all() RETURNS BIGINT LANGUAGE sql SECURITY DEFINER AS $$ SELECT count(*) FROM orders $$',
  );
  role = await createSqlRole(database, ['orders']);
  reader = createSqlReader({ url: role.url, maxConnections: 3 });
  admin = createPostgres({ url: adminUrlOf(database), maxConnections: 1 });
});
afterAll(async () => {
  await reader.close();
  await admin.close();
  await dropRole(database, role.name);
  await database.close();
});

const read = (text: string, more: Partial<SqlRequest> = {}, from = reader): Promise<SqlRows> =>
  from.read({
    tenantId: alice,
    text,
    maxRows: 200,
    maxBytes: 65_536,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    ...more,
  });
/** Only the superuser sees what others are doing. */
const connections = (state: string, query = '') =>
  admin.query<{ pid: number }>({
    text: `SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND usename = $1 AND state LIKE $2 AND strpos(query, $3) > 0`,
    values: [role.name, state, query],
  });

/** Takes connections and says nothing. */
async function silentServer() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `postgres://a:b@127.0.0.1:${(server.address() as AddressInfo).port}/c`,
    connected: () => sockets.length,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const becomesTrue = (check: () => Promise<boolean>) => eventually(async () => (await check()) || undefined);

it('answers with columns and rows, values as JSON has them or else as text', async () => {
  const text = `SELECT 1 AS id, 2 AS id, true AS yes, NULL AS nothing, 1.10::numeric AS price, 9007199254740993 AS big, 5::int8 AS small,
    'NaN'::float8 AS nan, 0.5::float8 AS half, date '2026-01-02' AS day, '{"a": [1]}'::jsonb AS data, '12345678901234567890'::json AS digits,
    '{1,2}'::int[] AS list, 'ü\n"' AS word -- the end`;
  expect(await read(text)).toEqual({
    columns: [
      'id',
      'id',
      'yes',
      'nothing',
      'price',
      'big',
      'small',
      'nan',
      'half',
      'day',
      'data',
      'digits',
      'list',
      'word',
    ],
    rows: [
      [
        1,
        2,
        true,
        null,
        '1.10',
        '9007199254740993',
        5,
        'NaN',
        0.5,
        '2026-01-02',
        { a: [1] },
        '12345678901234567890',
        '{1,2}',
        'ü\n"',
      ],
    ],
    isCut: false,
  });
});

it('keeps the order that the query asks for', async () => {
  const { rows } = await read('SELECT id FROM orders ORDER BY id DESC');
  expect(rows).toEqual([20, 18, 16, 14, 12, 10, 8, 6, 4, 2].map((id) => [id]));
});

it('reads the rows of the tenant and no others, whatever the query asks for', async () => {
  expect((await read('SELECT count(*), count(DISTINCT tenant_id) FROM orders')).rows).toEqual([[10, 1]]);
  expect((await read(`SELECT * FROM orders WHERE tenant_id = '${bob}'`)).rows).toEqual([]);
  expect((await read('SELECT * FROM orders', { tenantId: bob })).rows).toHaveLength(10);
});

it('two tenants at the same time on one pool are never mixed', async () => {
  const reads = Array.from({ length: 60 }, async (_unused, index) => {
    const tenantId = index % 2 === 0 ? alice : bob;
    // Some fail, and some are stopped: their connections must not carry a tenant over.
    if (index % 7 === 0) await expect(read('SELECT 1 / (id - id) FROM orders', { tenantId })).rejects.toThrow('zero');
    const { rows } = await read('SELECT DISTINCT tenant_id, current_setting($$app.tenant_id$$) FROM orders', {
      tenantId,
    });
    expect(rows).toEqual([[tenantId, tenantId]]);
  });
  await Promise.all(reads);
  expect((await connections('%')).length).toBeLessThanOrEqual(3);
});

// What checkQuery refuses is sent here all the same: the database must hold when the check does not.
describe('a text that came past the check', () => {
  it.each([
    ['an INSERT', 'INSERT INTO orders VALUES (1) RETURNING 1', 'syntax error'],
    ['a write in a WITH', 'WITH w AS (DELETE FROM orders RETURNING 1) SELECT * FROM w', 'must be at the top level'],
    ['several statements', 'SELECT 1; DROP TABLE orders', 'syntax error'],
    [
      'brackets that close ours',
      'SELECT 1) AS query LIMIT $1; DROP TABLE orders; SELECT * FROM (SELECT 1',
      'cannot insert multiple commands',
    ],
    ['SELECT INTO', 'SELECT * INTO copied FROM orders', 'INTO'],
    ['a lock', 'SELECT * FROM orders FOR UPDATE', 'read-only transaction'],
    ['a file', `SELECT pg_read_file('/etc/passwd')`, 'permission denied'],
    ['a function that writes as its owner', 'SELECT write_it()', 'read-only transaction'],
    ['a copy', `COPY orders TO PROGRAM 'cat'`, 'syntax error'],
    ['a secret', 'SELECT sealed FROM elo_agent_secrets', 'permission denied'],
    ['a secret column', 'SELECT auth_header FROM elo_agent_tools', 'permission denied'],
    ['a parameter', 'SELECT $2', 'parameter'],
    ['a column of none', 'SELECT', 'it has 0 columns'],
    ['too many columns', `SELECT ${Array.from({ length: 201 }, () => '1').join()}`, 'it has 201 columns'],
  ])('does nothing: %s', async (_what, text, reason) => {
    const reading = read(text);
    await expect(reading).rejects.toMatchObject({ code: 'SQL_FAILED' });
    await expect(reading).rejects.toThrow(reason);
    expect(await database.query('SELECT count(*)::int AS there FROM orders')).toEqual([{ there: 20 }]);
    expect(await database.query('SELECT id FROM written')).toEqual([]);
  });

  it('writes nothing under a role whose transactions may write either', async () => {
    const { name, url } = await createSqlRole(database);
    await asAdmin(database, `ALTER ROLE ${name} SET default_transaction_read_only = off`);
    const other = createSqlReader({ url, maxConnections: 1 });
    await expect(read('SELECT write_it()', {}, other)).rejects.toThrow('read-only transaction');
    await other.close();
    await dropRole(database, name);
  });

  it('is read as the check read it, whatever the role has set', async () => {
    const { name, url } = await createSqlRole(database);
    await asAdmin(
      database,
      `ALTER ROLE ${name} SET standard_conforming_strings = off`,
      `ALTER ROLE ${name} SET datestyle = 'German'`,
    );
    const other = createSqlReader({ url, maxConnections: 1 });
    const { rows } = await read(`SELECT 'a\\', date '2026-02-01', ' || version() || '`, {}, other);
    expect(rows).toEqual([['a\\', '2026-02-01', ' || version() || ']]);
    await other.close();
    await dropRole(database, name);
  });

  it('leaves no setting behind for the next query', async () => {
    await read(`SELECT set_config('app.tenant_id', '${bob}', false), set_config('statement_timeout', '0', false)`);
    for (let time = 0; time < 3; time++) {
      const { rows } = await read(`SELECT DISTINCT tenant_id, current_setting('statement_timeout') FROM orders`);
      expect(rows).toEqual([[alice, '10s']]);
    }
  });
});

it('tells the model what is wrong with its query, in the words of Postgres', async () => {
  await expect(read('SELECT nam FROM elo_t_tenants')).rejects.toThrow(
    'The query failed: column "nam" does not exist (Perhaps you meant to reference the column "elo_t_tenants.name".).',
  );
});

describe('an endless query', () => {
  const ENDLESS = 'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n FROM t) SELECT count(*) FROM t';

  it('is stopped by the server when its time is over', async () => {
    await expect(read(ENDLESS, { timeoutMs: 300 })).rejects.toMatchObject({
      code: 'SQL_FAILED',
      message: expect.stringContaining('statement timeout') as string,
    });
    expect((await read('SELECT 1')).rows).toEqual([[1]]);
  });

  it('ends when the run is cancelled, on the server too', async () => {
    const controller = new AbortController();
    const reading = read(ENDLESS, { timeoutMs: 60_000, signal: controller.signal });
    await becomesTrue(async () => (await connections('active')).length === 1);
    controller.abort(new Error('stopped'));
    await expect(reading).rejects.toThrow('stopped');
    await becomesTrue(async () => (await connections('active')).length === 0);
    expect((await read('SELECT 1')).rows).toEqual([[1]]);
  });

  it('that waits for a connection is cancelled too, and takes none with it', async () => {
    const controllers = Array.from({ length: 5 }, () => new AbortController());
    const readings = controllers.map(({ signal }) => read(ENDLESS, { timeoutMs: 60_000, signal }));
    await becomesTrue(async () => (await connections('active')).length === 3);
    // Three are running, two wait; the last come first.
    for (const [index, controller] of [...controllers.entries()].reverse()) {
      controller.abort(new Error('stopped'));
      await expect(readings[index]).rejects.toThrow('stopped');
    }
    const reads = await Promise.all(Array.from({ length: 6 }, () => read('SELECT 1')));
    expect(reads.map(({ rows }) => rows)).toEqual(reads.map(() => [[1]]));
  });

  it('asks for no connection when the run was cancelled before', async () => {
    const { url, connected, close } = await silentServer();
    const other = createSqlReader({ url, maxConnections: 1 });
    const signal = AbortSignal.abort(new Error('stopped'));
    await expect(read('SELECT 1', { signal }, other)).rejects.toThrow('stopped');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(connected()).toBe(0);
    close();
  });
});

describe('too much', () => {
  it('of rows is cut at what was asked for', async () => {
    const { rows, isCut } = await read('SELECT n FROM generate_series(1, 10000) AS n');
    expect({ rows: rows.length, last: rows.at(-1), isCut }).toEqual({ rows: 200, last: [200], isCut: true });
    expect(await read('SELECT n FROM generate_series(1, 200) AS n')).toMatchObject({ isCut: false });
    // Row 500 would fail, if anybody asked for it.
    expect((await read('SELECT 1 / (500 - n) FROM generate_series(1, 10000) AS n')).rows).toHaveLength(200);
  });

  it('in one value is cut on the server', async () => {
    const { rows, isCut } = await read(
      `SELECT repeat('ü', 50000000) AS big, 'x' AS small, decode(repeat('ff', 1000), 'hex') AS bytes
       UNION ALL SELECT 'second', 'y', NULL`,
    );
    // Were the first row as long as it was, the second would not fit.
    expect(rows).toEqual([
      [`${'ü'.repeat(4000)}…`, 'x', `\\x${'ff'.repeat(32)}…`],
      ['second', 'y', null],
    ]);
    expect(isCut).toBe(true);
  });

  it('cuts no character in half', async () => {
    const { rows, isCut } = await read(`SELECT repeat('😀', 4000), repeat('😀', 4001)`);
    expect(rows).toEqual([['😀'.repeat(4000), `${'😀'.repeat(4000)}…`]]);
    expect(isCut).toBe(true);
  });

  it('in bytes leaves rows out', async () => {
    const { rows, isCut } = await read(`SELECT repeat('x', 1000) FROM generate_series(1, 200)`, { maxBytes: 10_000 });
    expect({ rows: rows.length, isCut }).toEqual({ rows: 10, isCut: true });
  });
});

describe('a database that cannot be used', () => {
  const failure = async (url: string): Promise<unknown> => {
    const other = createSqlReader({ url, maxConnections: 1 });
    const error: unknown = await read('SELECT 1', {}, other).catch((reason: unknown) => reason);
    await other.close();
    return error;
  };

  it('for a wrong password is told without the password', async () => {
    const error = await failure(urlAs(database, role.name, 'CANARY-password'));
    expect(error).toMatchObject({ code: 'DB_AUTH_FAILED', details: { user: role.name } });
    expect(JSON.stringify([error, (error as Error).message])).not.toContain('CANARY');
  });

  it('for a role that is not there is told by its name', async () => {
    expect(await failure(urlAs(database, newRoleName(), 'a-password'))).toMatchObject({ code: 'DB_AUTH_FAILED' });
  });

  it('because nobody answers is told as such', async () => {
    expect(await failure('postgres://a:b@127.0.0.1:1/c')).toMatchObject({ code: 'DB_UNREACHABLE' });
  });

  it('because the connection is lost in the middle is told as such, and the next query works', async () => {
    const reading = read('SELECT pg_sleep(30)', { timeoutMs: 60_000 });
    const caught = reading.catch((error: unknown) => error);
    // Between two statements of a reading its connection is not active.
    const { pid } = await eventually(async () => (await connections('active', 'pg_sleep'))[0]);
    await asAdmin(database, `SELECT pg_terminate_backend(${pid})`);
    expect(await caught).toMatchObject({ code: 'DB_UNREACHABLE' });
    expect((await read('SELECT 1')).rows).toEqual([[1]]);
  });

  it('may be silent: the run’s own time ends the wait', async () => {
    const { url, connected, close } = await silentServer();
    const other = createSqlReader({ url, maxConnections: 1 });
    const signal = AbortSignal.timeout(300);
    await expect(read('SELECT 1', { signal }, other)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(connected()).toBe(1);
    close();
  });
});
