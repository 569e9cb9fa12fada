import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { makeSqlRole } from '../../../runtime/storage/schema/sql-role';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { errorLine, runCli } from '../../support/worlds/cli';
import { adminUrlOf, asAdmin, dropRole, newRoleName, queryAs, urlAs } from '../../support/worlds/sql-role';

let database: TestDatabase;
let alice: string;
let bob: string;

const made: string[] = [];
const cli = (url: string, args: readonly string[], input?: string) =>
  runCli(['sql-role', 'set', ...args], { env: { DATABASE_URL: url }, input });
const named = () => {
  const name = newRoleName();
  made.push(name);
  return name;
};

beforeAll(async () => {
  database = await createMigratedDatabase();
  [alice, bob] = [await addTenant(database, { name: 'Alice' }), await addTenant(database, { name: 'Bob' })];
  await database.query('CREATE TABLE orders (id INT, tenant_id UUID, note TEXT)');
  await database.query('ALTER TABLE orders ENABLE ROW LEVEL SECURITY');
  await database.query(`CREATE POLICY own ON orders USING (tenant_id::text = current_setting('app.tenant_id', true))`);
  await database.query(`INSERT INTO orders VALUES (1, '${alice}', 'a'), (2, '${bob}', 'b')`);
  await database.query('CREATE TABLE "Open Table" (id INT)');
  await database.query('CREATE VIEW orders_view AS SELECT * FROM orders');
});
afterAll(async () => {
  for (const name of made) await dropRole(database, name);
  await database.close();
});

it('prints a password that works, once, and lets the role read the tables that are named', async () => {
  const name = named();
  const { exitCode, stdout, stderr } = await cli(adminUrlOf(database), ['--name', name, '--tables', 'orders']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const report = JSON.parse(stdout) as { password: string; tables: string[]; role: string; is_new: boolean };
  expect(report).toMatchObject({ role: name, is_new: true });
  expect(report.tables).toEqual(expect.arrayContaining(['elo_t_token_usage', 'elo_v_tenant_monthly_usage', 'orders']));
  expect(await queryAs(urlAs(database, name, report.password), 'SELECT * FROM orders', alice)).toEqual([
    { id: 1, tenant_id: alice, note: 'a' },
  ]);
});

it('takes a password from standard input, and prints none', async () => {
  const name = named();
  const { exitCode, stdout } = await cli(
    adminUrlOf(database),
    ['--name', name, '--password', '-'],
    'a-long-p@ssword\n',
  );
  expect(exitCode).toBe(0);
  expect(stdout).not.toContain('ssword');
  expect(await queryAs(urlAs(database, name, encodeURIComponent('a-long-p@ssword')), 'SELECT 1 AS one')).toEqual([
    { one: 1 },
  ]);
});

it('brings back a role that has got more than it should, under a new password', async () => {
  const name = named();
  const first = JSON.parse((await cli(adminUrlOf(database), ['--name', name, '--tables', 'orders'])).stdout) as {
    password: string;
  };
  await asAdmin(
    database,
    `ALTER ROLE ${name} CREATEDB INHERIT SET default_transaction_read_only = off`.replace(
      ' SET',
      `; ALTER ROLE ${name} SET`,
    ),
    `GRANT SELECT, DELETE ON elo_agent_secrets TO ${name}`,
  );
  const again = await cli(adminUrlOf(database), ['--name', name]);
  const report = JSON.parse(again.stdout) as { password: string; is_new: boolean };
  expect(report.is_new).toBe(false);
  await expect(queryAs(urlAs(database, name, first.password), 'SELECT 1')).rejects.toThrow(
    'password authentication failed',
  );
  const url = urlAs(database, name, report.password);
  await expect(queryAs(url, 'SELECT sealed FROM elo_agent_secrets')).rejects.toThrow('permission denied');
  await expect(queryAs(url, 'SELECT * FROM orders')).rejects.toThrow('permission denied');
  expect(await queryAs(url, 'SHOW default_transaction_read_only')).toEqual([{ default_transaction_read_only: 'on' }]);
});

it('works for an owner of the tables that may create roles, and quotes what it is given', async () => {
  const owner = newRoleName();
  await asAdmin(database, `CREATE ROLE ${owner} LOGIN CREATEROLE PASSWORD 'a-password' IN ROLE application`);
  const name = `Odd "role'; ${newRoleName().slice(0, 20)}`;
  made.push(name, owner);
  const { exitCode, stdout } = await cli(urlAs(database, owner, 'a-password'), ['--name', name]);
  expect(exitCode).toBe(0);
  const { password } = JSON.parse(stdout) as { password: string };
  const url = urlAs(database, encodeURIComponent(name), password);
  expect(await queryAs(url, 'SELECT name FROM elo_t_tenants', bob)).toEqual([{ name: 'Bob' }]);
});

it.each([
  ['a table without row-level security', ['--tables', '"Open Table"'], '"Open Table" has no row-level security'],
  ['a view', ['--tables', 'orders_view'], 'orders_view is not a table'],
  ['a table that is not there', ['--tables', 'nothing'], 'there is no table nothing'],
  ['a table of ours', ['--tables', 'elo_agent_secrets'], 'elo_agent_secrets is a table of ours'],
])('refuses %s, and makes nothing', async (_what, args, reason) => {
  const name = named();
  const outcome = await cli(adminUrlOf(database), ['--name', name, ...args]);
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
  expect(errorLine(outcome)).toMatchObject({
    code: 'SQL_ROLE_NOT_MADE',
    message: expect.stringContaining(reason) as string,
  });
  expect(await database.query('SELECT FROM pg_roles WHERE rolname = $1', [name])).toEqual([]);
});

it.each([
  ['postgres', 'that this command did not make'],
  ['application', 'that this command did not make'],
  ['', 'a name has 1 to 63 bytes'],
  ['x'.repeat(64), 'a name has 1 to 63 bytes'],
])('leaves a role alone that it did not make, and refuses what is no name: %j', async (name, reason) => {
  const outcome = await cli(adminUrlOf(database), ['--name', name]);
  expect(errorLine(outcome)).toMatchObject({
    code: 'SQL_ROLE_NOT_MADE',
    message: expect.stringContaining(reason) as string,
  });
});

it('refuses to repair a role that has become a superuser', async () => {
  const name = named();
  await cli(adminUrlOf(database), ['--name', name]);
  await asAdmin(database, `ALTER ROLE ${name} SUPERUSER`);
  const outcome = await cli(adminUrlOf(database), ['--name', name]);
  expect(errorLine(outcome).message).toContain('it has got rights');
});

it('says clearly that the connected role may not create roles', async () => {
  const outcome = await cli(database.url, ['--name', newRoleName()]);
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
  expect(errorLine(outcome)).toMatchObject({
    code: 'SQL_ROLE_NOT_MADE',
    message: expect.stringContaining('the connected role "application" may not create roles') as string,
    hint: expect.stringContaining('CREATEROLE') as string,
  });
});

it('refuses a weak password, and one on the command line, without printing it', async () => {
  const weak = await cli(adminUrlOf(database), ['--name', newRoleName(), '--password', '-'], 'hunter2');
  expect(errorLine(weak).message).toContain('12 to 128 characters');
  expect(weak.stderr).not.toContain('hunter2');
  const open = await cli(adminUrlOf(database), ['--name', newRoleName(), '--password', 'a-long-password']);
  expect(open.exitCode).toBe(2);
  expect(open.stderr).not.toContain('a-long-password');
});

it('sends no password to the server, which may log its statements', async () => {
  const postgres = createPostgres({ url: adminUrlOf(database), maxConnections: 1 });
  const sent: string[] = [];
  const recording: Postgres = {
    ...postgres,
    transaction: (work) =>
      postgres.transaction((query) =>
        work((statement) => {
          sent.push(JSON.stringify(statement));
          return query(statement);
        }),
      ),
  };
  const name = named();
  await makeSqlRole(recording, { name, password: 'a-CANARY-password', tables: [] });
  await postgres.close();
  expect(sent.join()).toContain(`CREATE ROLE \\"${name}\\"`);
  expect(sent.join()).not.toContain('CANARY');
  expect(await queryAs(urlAs(database, name, 'a-CANARY-password'), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});
