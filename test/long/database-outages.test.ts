import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { Client } from 'pg';

import { sendJson } from '../support/servers/http-server';
import { type ModelServerRequest, textReply, toolReply } from '../support/servers/model-server';
import { untilTrue } from '../support/values/until';
import { type Order, workerWorld } from '../support/worlds/worker-world';

const TASKS = 200;
/** Long enough for tasks to begin, to be under way and to end meanwhile. */
const OUTAGE_MS = 4000;

const world = workerWorld();

/** Requests of each task that are on its line of the bill. */
const BILLED = `
SELECT task_id AS task, sum(model_calls)::int AS requests FROM elo_t_token_usage
WHERE task_id = ANY ($1) GROUP BY task_id`;

/** The id that the message of each task names. */
const taskOf = ({ messages }: ModelServerRequest): string =>
  /Do ([0-9a-f-]{36})"/.exec(JSON.stringify(messages))?.[1] ?? 'none';

/** For what only a superuser may do. */
async function asAdmin(...statements: readonly string[]): Promise<void> {
  const url = new URL(process.env.TEST_POSTGRES_ADMIN_URL ?? '');
  url.pathname = new URL(world.database().url).pathname;
  const admin = new Client({
    connectionString: url.href,
    options: '-c default_transaction_read_only=off',
  });
  await admin.connect();
  for (const statement of statements) await admin.query(statement);
  await admin.end();
}

const name = (): string => new URL(world.database().url).pathname.slice(1);
const breakConnections = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'universal-ai-agent'`;
const WRITTEN = ['elo_agent_runs', 'elo_agent_model_calls', 'elo_t_token_usage'];

/** Before each write of our tables the server does what the body says. */
const atEachWrite = (body: string): Promise<void> =>
  asAdmin(
    `CREATE OR REPLACE FUNCTION outage() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NEW; END $$`,
  );
const noneAtWrites = (): Promise<void> => atEachWrite('');

beforeAll(async () => {
  await noneAtWrites();
  await asAdmin(
    ...WRITTEN.map(
      (table) => `CREATE TRIGGER outage BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION outage()`,
    ),
  );
});

interface Outage {
  /** How often it was met; undefined: as often as tasks were put off. */
  readonly count?: () => Promise<number>;
  readonly begin: () => Promise<void>;
  readonly end: () => Promise<void>;
}

const OUTAGES: readonly Outage[] = [
  {
    // 25006: the standby that a failover has left behind the address.
    begin: () => asAdmin(`ALTER DATABASE ${name()} SET default_transaction_read_only = on`, breakConnections),
    end: () => asAdmin(`ALTER DATABASE ${name()} RESET default_transaction_read_only`, breakConnections),
  },
  {
    // 08P01: a pooler that breaks what it has and lets nobody in.
    begin: () => Promise.resolve(world.postgres().refuse(() => 'no more connections allowed (max_client_conn)')),
    end: () => Promise.resolve(world.postgres().up()),
  },
  {
    // 53100, as the server says it when a table cannot grow; the disk itself is not filled.
    begin: () => atEachWrite(`RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100';`),
    end: noneAtWrites,
  },
  {
    // 40P01: real ones, of statements that take two locks in any order.
    count: async () => {
      const [row] = await world
        .database()
        .query<{ deadlocks: number }>(
          'SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()',
        );
      return row?.deadlocks ?? 0;
    },
    begin: async () => {
      await asAdmin(`ALTER DATABASE ${name()} SET deadlock_timeout = '20ms'`, breakConnections);
      await atEachWrite(`IF random() < 0.5 THEN
          PERFORM pg_advisory_xact_lock(1), pg_sleep(0.02), pg_advisory_xact_lock(2);
        ELSE PERFORM pg_advisory_xact_lock(2), pg_sleep(0.02), pg_advisory_xact_lock(1); END IF;`);
    },
    end: async () => {
      await noneAtWrites();
      await asAdmin(`ALTER DATABASE ${name()} RESET deadlock_timeout`, breakConnections);
    },
  },
];

it('four kinds of outage while 200 tasks run: each has one result, all that the model was asked is on the bill, none is dead', async () => {
  // Half of them call a tool, so that an outage meets some between a model call and what comes after it.
  world.models().always(({ messages }) => {
    const usesTool = /Do [0-9a-f-]*[02468ace]"/.test(JSON.stringify(messages));
    const isFirst = messages.every(({ role }) => role !== 'tool');
    return usesTool && isFirst ? toolReply([{ name: 'look' }]).body : textReply('The answer').body;
  });
  world.tools().answer = async (_request, response) => {
    await sleep(300);
    sendJson(response, { ok: true });
  };
  const before = world.models().received.length;
  const workers = [1, 2].map(() => world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '1' } }));
  await Promise.all(workers.map((worker) => worker.says('worker started')));

  const tasks = Array.from({ length: TASKS }, (): Order => world.order());
  const countDeferred = (): Promise<number> =>
    Promise.resolve(workers.flatMap((worker) => worker.lines()).filter(({ msg }) => msg === 'task deferred').length);
  const share = TASKS / OUTAGES.length;
  for (const [index, outage] of OUTAGES.entries()) {
    await world.push(...tasks.slice(index * share, (index + 0.5) * share));
    await sleep(500);
    const met = outage.count ?? countDeferred;
    const metBefore = await met();
    await outage.begin();
    await world.push(...tasks.slice((index + 0.5) * share, (index + 1) * share));
    await sleep(OUTAGE_MS);
    // None of them passes unnoticed.
    await untilTrue(async () => (await met()) > metBefore);
    await outage.end();
  }

  const reports = async (): Promise<number[]> =>
    Promise.all(tasks.map(async ({ task_id: id }) => (await world.reports(id)).length));
  await untilTrue(async () => (await reports()).every((count) => count > 0), 180_000);
  const asked = (): Record<string, number> => {
    const requests = Map.groupBy(world.models().received.slice(before), taskOf);
    return Object.fromEntries([...requests].map(([task, { length }]) => [task, length]));
  };
  const billed = async (): Promise<Record<string, number>> => {
    const rows = await world
      .database()
      .query<{ task: string; requests: number }>(BILLED, [tasks.map(({ task_id: id }) => id)]);
    return Object.fromEntries(rows.map(({ task, requests }) => [task, requests]));
  };
  // Workers go on writing what the outbox keeps after the last answer.
  await untilTrue(async () => isDeepStrictEqual(await billed(), asked()), 60_000).catch(() => undefined);

  expect(await billed()).toEqual(asked());
  expect(new Set(await reports())).toEqual(new Set([1]));
  expect(await world.dead()).toEqual([]);
  const states = await world
    .database()
    .query('SELECT state, count(*)::int AS runs FROM elo_agent_runs WHERE task_id = ANY ($1) GROUP BY state', [
      tasks.map(({ task_id: id }) => id),
    ]);
  expect(states).toEqual([{ state: 'done', runs: TASKS }]);
}, 300_000);
