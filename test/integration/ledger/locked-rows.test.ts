import { Client } from 'pg';

import { createRuntime, type Runtime } from '../../../runtime';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { addTenant } from '../../support/servers/database';
import { textReply } from '../../support/servers/model-server';
import { startTcpProxy, type TcpProxy } from '../../support/servers/tcp-proxy';
import { type AgentFixture, aTask, eventually, startAgentFixture } from '../../support/values/agent-fixture';

const CONNECTIONS = 5;

let agent: AgentFixture;
let locker: Client;
let proxy: TcpProxy;
let opened: Postgres | undefined;

beforeAll(async () => {
  agent = await startAgentFixture();
  proxy = await startTcpProxy(agent.database.url);
});
beforeEach(async () => {
  locker = new Client({ connectionString: agent.database.url });
  await locker.connect();
});
afterEach(async () => {
  await locker.end();
  await opened?.close();
  opened = undefined;
  proxy.up();
});
afterAll(async () => {
  await proxy.close();
  await agent.close();
});

const open = (queryTimeoutMs: number, url = agent.database.url): Postgres =>
  (opened = createPostgres({ url, maxConnections: CONNECTIONS, queryTimeoutMs }));

/** The runtime's backends, and how many of them wait for a lock. */
async function backends(): Promise<{ open: number; locked: number }> {
  const [row] = await agent.database.query<{ open: number; locked: number }>(
    `SELECT count(*)::int AS open, (count(*) FILTER (WHERE wait_event_type = 'Lock'))::int AS locked FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'universal-ai-agent'`,
  );
  return row ?? { open: -1, locked: -1 };
}

const untilNoneIsLocked = () => eventually(async () => ((await backends()).locked === 0 ? true : undefined));
const untilLocked = () => eventually(async () => ((await backends()).locked > 0 ? true : undefined));

async function lockRow(): Promise<void> {
  await locker.query('CREATE TABLE IF NOT EXISTS locked (id INT)');
  await locker.query('TRUNCATE locked');
  await locker.query('INSERT INTO locked VALUES (1)');
  await locker.query('BEGIN');
  await locker.query('SELECT FROM locked FOR UPDATE');
}

const write = (tenantId?: string) => ({ text: 'UPDATE locked SET id = $1::int', values: [2], tenantId });
const read = (tenantId?: string) => ({ text: 'SELECT $1::int AS one', values: [1], tenantId });

describe('a row of one tenant that another program holds', () => {
  let runtime: Runtime;

  beforeEach(() => {
    runtime = createRuntime({
      database: { url: agent.database.url, maxConnections: CONNECTIONS },
      model: { apiKey: 'sk-test-key', baseUrl: agent.models.url },
    });
    agent.models.always(() => textReply('Done.').body);
  });
  afterEach(() => runtime.close());

  it('keeps no other tenant waiting, and takes no more connections than there are', async () => {
    const other = await addTenant(agent.database);
    const task = aTask(agent.tenantId);
    await runtime.run(task);
    await agent.database.query(`UPDATE elo_agent_runs SET state = 'failed' WHERE task_id = $1`, [task.task_id]);
    await locker.query('BEGIN');
    await locker.query('SELECT FROM elo_agent_runs WHERE task_id = $1 FOR UPDATE', [task.task_id]);

    const stuck = Array.from({ length: 20 }, () => runtime.run(task).then(() => 'done'));
    await untilLocked();
    for (let probes = 0; probes < 8; probes++) {
      await expect(runtime.run(aTask(other))).resolves.toMatchObject({ status: 'completed' });
      expect((await backends()).open).toBeLessThanOrEqual(CONNECTIONS);
    }
    expect((await backends()).locked).toBeGreaterThan(0);
    await locker.query('ROLLBACK');
    expect(new Set(await Promise.all(stuck))).toEqual(new Set(['done']));
  });
});

it('a statement that waits for a lock ends in the server, within its own time', async () => {
  await lockRow();
  const postgres = open(600);
  await expect(postgres.query(write())).rejects.toMatchObject({ code: 'DB_UNAVAILABLE', cause: { code: '55P03' } });
  expect((await backends()).locked).toBe(0);
  await expect(postgres.query({ text: 'SELECT pg_sleep($1)', values: [30] })).rejects.toMatchObject({
    code: 'DB_UNAVAILABLE',
    cause: { code: '57014' },
  });
});

it('while a tenant waits in vain, one statement of it at a time asks again; the next that succeeds ends that', async () => {
  await lockRow();
  const postgres = open(600);
  const both = await Promise.allSettled(Array.from({ length: 12 }, () => postgres.query(write('a'))));
  expect(both.every(({ status }) => status === 'rejected')).toBe(true);
  const probe = postgres.query(write('a')).catch((error: unknown) => error);
  await untilLocked();
  await expect(postgres.query(read('a'))).rejects.toMatchObject({ code: 'DB_UNAVAILABLE' });
  await expect(postgres.query(read('b'))).resolves.toEqual([{ one: 1 }]);
  await probe;
  await locker.query('ROLLBACK');
  await postgres.query(write('a'));
  const all = await Promise.all(Array.from({ length: 12 }, () => postgres.query(read('a'))));
  expect(all).toHaveLength(12);
});

describe('behind a pooler that takes no settings of its clients', () => {
  const refused: string[] = [];
  const refuseSettings = (startup: string): string | undefined => {
    const setting = /(?:statement|lock)_timeout/.exec(startup)?.[0];
    if (setting === undefined) return undefined;
    refused.push(setting);
    return `unsupported startup parameter: ${setting}`;
  };

  it('connects without them, once it was refused', async () => {
    proxy.refuse(refuseSettings);
    const postgres = open(600, proxy.url);
    expect(await postgres.query(read())).toEqual([{ one: 1 }]);
    expect(refused).toHaveLength(1);
    await Promise.all(Array.from({ length: CONNECTIONS }, () => postgres.query(read())));
    expect(refused).toHaveLength(1);
  });

  it('a statement that the client gives up is ended in the server', async () => {
    proxy.refuse(refuseSettings);
    await lockRow();
    const postgres = open(300, proxy.url);
    const failing = postgres.query(write());
    await untilLocked();
    await expect(failing).rejects.toMatchObject({ code: 'DB_UNAVAILABLE', cause: { code: '57014' } });
    await untilNoneIsLocked();
  });

  it('a pooler that lets nobody in is waited for', async () => {
    proxy.refuse(() => 'no more connections allowed (max_client_conn)');
    await expect(open(600, proxy.url).query(read())).rejects.toMatchObject({ code: 'DB_UNREACHABLE', retryable: true });
  });
});
