import { Client } from 'pg';

import { createRuntime, type Runtime } from '../../../runtime';
import { createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { untilTrue } from '../../support/values/until';

const ORDERS = { code: 'find_orders', description: 'Find orders', endpoint: 'http://10.0.0.5/orders' };

let database: TestDatabase;
let runtimes: readonly Runtime[];

/** How many sessions of this database wait for a lock. */
const waiting = async (): Promise<number> =>
  (
    await database.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
  ).length;

/** Two processes on a database of their own. */
beforeEach(async () => {
  database = await createMigratedDatabase();
  runtimes = [0, 1].map(() => createRuntime({ database: { url: database.url }, model: {} }));
});
afterEach(async () => {
  await Promise.all(runtimes.map((runtime) => runtime.close()));
  await database.close();
});

const admin = (process: number): Runtime['admin'] => (runtimes[process % 2] as Runtime).admin;

const namesOf = async (): Promise<readonly string[]> =>
  (await database.query<{ name: string }>('SELECT name FROM elo_t_tenants ORDER BY name')).map(({ name }) => name);

it('makes one tenant of a name, however many processes set it at the same moment', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `Tenant ${index}`);
  await Promise.all([...names, ...names, ...names].map((name, index) => admin(index).tenant.set({ name })));
  expect(await namesOf()).toEqual(names);
});

it('waits by name for a tenant that is being created under an ID, and updates that one', async () => {
  const id = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
  const blocker = new Client({ connectionString: database.url });
  await blocker.connect();
  // The insert has to wait, so that the other process comes in its middle.
  await blocker.query('BEGIN; LOCK TABLE elo_t_tenants IN SHARE MODE');
  const creating = admin(0).tenant.create({ id, name: 'Acme' });
  await untilTrue(async () => (await waiting()) === 1);
  const setting = admin(1).tenant.set({ name: 'Acme' });
  await untilTrue(async () => (await waiting()) === 2);
  await blocker.query('COMMIT');
  await blocker.end();
  expect(await setting).toMatchObject({ id });
  await creating;
});

it('makes one tenant and one tool where the database reads repeatably by default', async () => {
  const [{ name: own } = { name: '' }] = await database.query<{ name: string }>('SELECT current_database() AS name');
  await database.query(`ALTER DATABASE "${own}" SET default_transaction_isolation = 'repeatable read'`);
  const made = await Promise.all(Array.from({ length: 6 }, (_, index) => admin(index).tenant.set({ name: 'Acme' })));
  expect(new Set(made.map(({ id }) => id)).size).toBe(1);
  await Promise.all(Array.from({ length: 6 }, (_, index) => admin(index).tool.set(ORDERS)));
  expect(await database.query('SELECT code FROM elo_agent_tools')).toEqual([{ code: 'find_orders' }]);
});

it('gives tools in one order, so that no two processes wait for each other', async () => {
  const codes = ['a', 'b', 'c', 'd'];
  for (const code of codes) await admin(0).tool.create({ ...ORDERS, code });
  const { id } = await admin(0).tenant.create({ name: 'Acme' });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) =>
      admin(index).tenant.set({ id, name: 'Acme', tools: index % 2 === 0 ? codes : [...codes].reverse() }),
    ),
  );
  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
});

it('finds a name with blanks around it', async () => {
  await database.query("INSERT INTO elo_t_tenants (name) VALUES ('Trail ')");
  await admin(0).tenant.set({ name: ' Trail', settings: { default_tier: 'pro' } });
  expect(await namesOf()).toEqual(['Trail']);
});

it.each([
  [
    'with a column that only its owner fills',
    "ADD COLUMN owner TEXT NOT NULL DEFAULT 'x'; ALTER TABLE elo_agent_tools ALTER owner DROP DEFAULT",
  ],
  ['without a key on the code', 'DROP CONSTRAINT elo_agent_tools_code_key'],
])('updates a tool of an adopted table %s', async (_what, change) => {
  await admin(0).tool.create(ORDERS);
  await database.query(`ALTER TABLE elo_agent_tools ${change}`);
  const changed = { code: 'find_orders', description: 'All orders' };
  await Promise.all([0, 1, 2, 3].map((process) => admin(process).tool.set(changed)));
  expect(await database.query('SELECT code, description FROM elo_agent_tools')).toEqual([changed]);
});
