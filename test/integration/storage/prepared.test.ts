import { Client } from 'pg';

import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { loadTenantsStatement } from '../../../runtime/storage/sql/load-tenants';
import { createDatabase, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';

let database: TestDatabase;
let postgres: Postgres;

beforeEach(async () => {
  database = await createDatabase();
  postgres = createPostgres({ url: database.url, maxConnections: 1 });
});
afterEach(async () => {
  await postgres.close();
  await database.close();
});

const add = { text: 'SELECT $1::int + 1 AS sum', values: [1] };
const prepared = { text: 'SELECT count(*)::int AS count FROM pg_prepared_statements WHERE $1', values: [true] };

it('plans a statement once a connection', async () => {
  await postgres.query(add);
  await postgres.query(add);
  expect(await postgres.query(prepared)).toEqual([{ count: 2 }]);
});

it('goes on unprepared when a pooler has changed the connection, and runs nothing twice', async () => {
  await database.query('CREATE TABLE written (id INT)');
  const write = { text: 'INSERT INTO written VALUES ($1)', values: [7] };
  await postgres.query(write);
  // The client still believes that its statement is there, as behind a pooler.
  await postgres.query({ text: 'DEALLOCATE ALL', values: [] });
  const query = jest.spyOn(Client.prototype, 'query');
  await postgres.query(write);
  await postgres.query(write);
  const named = query.mock.calls.map(([config]) => (config as unknown as { name?: string }).name !== undefined);
  query.mockRestore();
  expect(named).toEqual([true, false, false]);
  expect(await database.query('SELECT count(*)::int AS count FROM written')).toEqual([{ count: 3 }]);
});

it('prepares a statement anew whose result has another type since the schema was changed', async () => {
  const pool = createPostgres({ url: database.url, maxConnections: 3 });
  await database.query('CREATE TABLE changing (value INT)');
  await database.query('INSERT INTO changing VALUES (7)');
  const read = { text: 'SELECT value FROM changing WHERE $1', values: [true] };
  const readAtOnce = () => Promise.all([1, 2, 3].map(() => pool.query(read)));
  // All three connections have it.
  expect((await readAtOnce()).flat()).toEqual([{ value: 7 }, { value: 7 }, { value: 7 }]);
  await database.query('ALTER TABLE changing ALTER value TYPE TEXT');
  expect((await readAtOnce()).flat()).toEqual([{ value: '7' }, { value: '7' }, { value: '7' }]);
  const again = await pool.query({
    text: "SELECT count(*)::int AS count FROM pg_prepared_statements WHERE statement = $1 AND name LIKE 'universal%'",
    values: [read.text],
  });
  expect(again).toEqual([{ count: 1 }]);
  await pool.close();
});

it('keeps one plan for loading tenants, however many there are', async () => {
  const migrated = await createMigratedDatabase();
  const own = createPostgres({ url: migrated.url, maxConnections: 1 });
  const tenant = '00000000-0000-4000-8000-000000000001';
  // Postgres decides after five of them.
  for (let times = 0; times < 8; times++) await own.query(loadTenantsStatement({ tenantIds: [tenant], modelIds: [] }));
  const text = "SELECT custom_plans::int AS planned FROM pg_prepared_statements WHERE statement LIKE '%' || $1 || '%'";
  const plans = await own.query({ text: `${text} AND name LIKE 'universal%'`, values: ['elo_v_agent_tenants'] });
  expect(plans).toEqual([{ planned: 5 }]);
  await own.close();
  await migrated.close();
});

it('asks for agents and skills only where a run names some', () => {
  const plain = { tenantIds: [], modelIds: [] };
  expect(loadTenantsStatement(plain).text).not.toMatch(/elo_agents|elo_agent_skills/);
  expect(loadTenantsStatement({ ...plain, agent: 'support' }).text).toMatch(/elo_agents AS[^]*elo_agent_skills/);
  expect(loadTenantsStatement({ ...plain, skills: ['refunds'] }).text).toContain('elo_agent_skills');
});
