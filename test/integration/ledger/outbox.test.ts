import { randomBytes, randomUUID } from 'node:crypto';

import { createRuntime, type LedgerStore, RuntimeError } from '../../../runtime';
import { createLedgerStore } from '../../../runtime/storage/postgres/ledger/ledger-store';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../../support/servers/model-server';
import { startRedis, type TestRedis } from '../../support/servers/redis';
import { eventually, gate } from '../../support/values/agent-fixture';
import { untilTrue } from '../../support/values/until';
import { usageOf } from '../../support/values/usage-of';
import { runCli } from '../../support/worlds/cli';

/** Of those who did not know which installation they belong to. */
const SHARED = 'elo:agent:outbox';
/** Since when each entry waits. */
const SINCE = `${SHARED}:since`;
/** This installation's. */
let OUTBOX: string;
let REFUSED: string;

let database: TestDatabase;
let postgres: Postgres;
let models: ModelServer;
let redis: TestRedis;
let tenant: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  postgres = createPostgres({ url: database.url, maxConnections: 2 });
  models = await startModelServer();
  redis = await startRedis();
  tenant = await addTenant(database);
  OUTBOX = `${SHARED}:${await createLedgerStore(postgres.query, { auditRetentionDays: 90 }).identify()}`;
  REFUSED = `${OUTBOX}:refused`;
});
afterAll(async () => {
  await Promise.all([models.close(), redis.close(), postgres.close()]);
  await database.close();
});

/** The real ledger, but for the ends of runs while `isDown` says so. */
function ledgerThatFails(isDown: () => boolean): LedgerStore {
  const ledger = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
  return {
    ...ledger,
    record: (progress) =>
      isDown() && progress.end !== undefined
        ? Promise.reject(new RuntimeError('DB_UNREACHABLE', { reason: 'it is away' }))
        : ledger.record(progress),
  };
}

const runtimeWith = (ledger?: LedgerStore, vaultKey?: string): ReturnType<typeof createRuntime> =>
  createRuntime({
    database: { url: database.url },
    model: { apiKey: 'k', baseUrl: models.url },
    redis: { url: redis.url },
    vaultKey,
    plugins: ledger === undefined ? {} : { ledger },
  });

const taskOf = (id: string): object => ({
  task_id: id,
  task_type: 'ai_agent',
  config: { agent_tier: 'pro', message: 'go' },
  meta: { tenant_id: tenant },
});

const lineOf = async (task: string): Promise<unknown> =>
  (
    await database.query('SELECT total_tokens, cost_usd::text AS cost FROM elo_t_token_usage WHERE task_id = $1', [
      task,
    ])
  )[0];

interface Refused {
  readonly id: string;
  readonly code: string;
  readonly entry: string;
}

const refused = async (): Promise<Refused[]> =>
  (await redis.client.hvals(REFUSED)).map((kept) => JSON.parse(kept) as Refused);

async function untilEmpty(): Promise<void> {
  const endsAt = performance.now() + 20_000;
  while ((await redis.client.llen(OUTBOX)) + (await redis.client.llen(SHARED)) > 0) {
    if (performance.now() > endsAt) throw new Error('the outbox was not emptied');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const entryOf = (taskId: string, runId?: string, closed: readonly object[] = []): string =>
  JSON.stringify({ version: 1, tenantId: tenant, taskId, runId, leaseMs: 1000, closed });

const queue = async (...words: string[]): Promise<Record<string, unknown>> => {
  const { stdout } = await runCli(['queue', ...words], { env: { REDIS_URL: redis.url } });
  return JSON.parse(stdout) as Record<string, unknown>;
};

it('case 33: an end that the ledger cannot take is kept, and written once when it can, by whichever process', async () => {
  let isDown = true;
  const failing = runtimeWith(ledgerThatFails(() => isDown));
  models.script(textReply('an answer', { prompt: 1000, completion: 100 }));
  const answered = await failing.run(taskOf('kept'));
  expect(answered).toMatchObject({ status: 'completed', result: { text: 'an answer' } });
  expect(answered.warnings).toMatchObject([{ code: 'LEDGER_WRITE_DELAYED' }]);
  expect(await redis.client.llen(OUTBOX)).toBe(1);
  expect(await lineOf('kept')).toBeUndefined();
  // That process is gone, and what it kept was kept twice.
  await failing.close();
  await redis.client.rpush(OUTBOX, (await redis.client.lindex(OUTBOX, 0)) ?? '');
  isDown = false;

  const other = runtimeWith();
  models.script(textReply('another answer'));
  await other.handle(taskOf('wakes the outbox up'));
  await untilEmpty();
  expect(await lineOf('kept')).toEqual({ total_tokens: 1100, cost: '0.00021000' });
  const again = await other.run(taskOf('kept'));
  expect(again).toMatchObject({ replayed: true, result: { text: 'an answer' } });
  expect(models.left()).toBe(0);
  await other.close();
});

it('an entry that the database takes exception to is put aside, and those behind it are written', async () => {
  const [run] = await database.query<{ run_id: string }>(`SELECT run_id FROM elo_agent_runs WHERE task_id = 'kept'`);
  const entry = (closed: object): string => entryOf('kept', run?.run_id, [closed]);
  const call = {
    modelRequested: 'm',
    modelBilled: 'm',
    usage: usageOf(1, 1),
    unansweredRequests: 0,
    costUsd: '0',
  };
  await redis.client.rpush(OUTBOX, entry({ ...call, step: 'not a number' }), entry({ ...call, step: 9 }));
  const runtime = runtimeWith();
  models.script(textReply('answer'));
  await runtime.handle(taskOf('wakes it up once more'));
  await untilEmpty();
  expect((await refused()).map(({ code }) => code)).toEqual(['DB_QUERY_FAILED']);
  const closed = await database.query(
    `SELECT call_no FROM elo_agent_model_calls WHERE call_no = 9 AND closed_at IS NOT NULL`,
  );
  expect(closed).toHaveLength(1);
  await runtime.close();
});

it('with a vault key no plain text is kept, and only a process with that key takes it up', async () => {
  const [key, wrongKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const failing = runtimeWith(
    ledgerThatFails(() => true),
    key,
  );
  models.script(textReply('CANARY answer'));
  await failing.run(taskOf('sealed'));
  await failing.close();
  const [entry = '', ...more] = await redis.client.lrange(OUTBOX, 0, -1);
  expect(more).toEqual([]);
  for (const plain of ['CANARY', tenant, 'sealed']) expect(entry).not.toContain(plain);
  expect(await queue('status')).toMatchObject({ unwritten: { waiting: 1, longest: [{ tenant_id: tenant }] } });

  // Without the key it stays, and does not block what lies behind it.
  const [run] = await database.query<{ run_id: string }>(`SELECT run_id FROM elo_agent_runs WHERE task_id = 'kept'`);
  await redis.client.rpush(OUTBOX, entryOf('kept', run?.run_id), 'no JSON');
  const keyless = runtimeWith();
  models.script(textReply('answer'));
  await keyless.handle(taskOf('wakes one without the key'));
  expect(await eventually(async () => onlyEntry())).toBe(entry);
  await keyless.close();

  const keyed = runtimeWith(undefined, key);
  models.script(textReply('answer'));
  await keyed.handle(taskOf('wakes one with the key'));
  await untilEmpty();
  expect(await redis.client.hlen(SINCE)).toBe(0);
  expect(await lineOf('sealed')).toMatchObject({ total_tokens: 120 });
  await keyed.close();

  await redis.client.rpush(OUTBOX, entry);
  const wrong = runtimeWith(undefined, wrongKey);
  models.script(textReply('answer'));
  await wrong.handle(taskOf('wakes one with another key'));
  await untilEmpty();
  expect((await refused()).find((kept) => kept.entry === entry)).toMatchObject({ code: 'VAULT_KEY_WRONG' });
  await wrong.close();
});

const onlyEntry = async (): Promise<string | undefined> => {
  const entries = await redis.client.lrange(OUTBOX, 0, -1);
  return entries.length === 1 ? entries[0] : undefined;
};

it('without a Redis that takes it, the warning says what has to be booked by hand', async () => {
  const lost = createRuntime({
    database: { url: database.url },
    model: { apiKey: 'k', baseUrl: models.url },
    redis: { url: 'redis://127.0.0.1:1' },
    plugins: { ledger: ledgerThatFails(() => true) },
  });
  models.script(textReply('an answer'));
  const { warnings } = await lost.run(taskOf('lost'));
  expect(warnings).toMatchObject([
    { code: 'LEDGER_WRITE_FAILED', message: expect.stringContaining('100+20') as string },
  ]);
  await lost.close();
});

describe('an end that the ledger refuses although it is there', () => {
  const TOO_LARGE = 1_000_000;
  /** As a column may be too narrow for a sum. */
  const narrow = () =>
    database.query(`ALTER TABLE elo_t_token_usage ADD CONSTRAINT narrow CHECK (total_tokens < ${TOO_LARGE})`);
  const widen = () => database.query('ALTER TABLE elo_t_token_usage DROP CONSTRAINT IF EXISTS narrow');
  const anEndTooLarge = async (id: string): Promise<string> => {
    models.script(textReply('an answer', { prompt: TOO_LARGE, completion: 1 }));
    const runtime = runtimeWith();
    expect((await runtime.run(taskOf(id))).warnings).toMatchObject([{ code: 'LEDGER_WRITE_DELAYED' }]);
    await runtime.close();
    return id;
  };
  const stateOf = async (task: string): Promise<unknown> =>
    (await database.query('SELECT state FROM elo_agent_runs WHERE task_id = $1', [task]))[0];
  /** A runtime that looks for what is kept, until it is there no more. */
  const wakeUp = async (isGone: () => Promise<unknown> = untilEmpty): Promise<void> => {
    const runtime = runtimeWith();
    models.script(textReply('answer'));
    await runtime.handle(taskOf(randomUUID()));
    await isGone();
    await runtime.close();
  };

  beforeEach(async () => {
    await redis.client.flushall();
    await narrow();
  });
  afterEach(widen);

  it('is kept and shown until a person decides, and its run does not stay under way', async () => {
    const task = await anEndTooLarge('too large');
    expect(await stateOf(task)).toEqual({ state: 'done' });
    expect(await queue('status')).toMatchObject({ unwritten: { waiting: 1, refused: 0 } });
    await wakeUp();
    expect(await lineOf(task)).toBeUndefined();
    const { unwritten } = await queue('status');
    expect(unwritten).toMatchObject({
      waiting: 0,
      refused: 1,
      entries: [{ code: 'DB_ROW_REFUSED', sql_state: '23514', task_id: task, calls: [{ prompt_tokens: TOO_LARGE }] }],
    });
    const again = runtimeWith();
    expect(await again.run(taskOf(task))).toMatchObject({ replayed: true, result: { text: 'an answer' } });
    await again.close();
    const [{ id } = { id: '' }] = await refused();
    expect(await queue('drop-unwritten', '--entry', id)).toMatchObject({ dropped: { id, task_id: task } });
    expect(await refused()).toEqual([]);
  });

  it('is written when the ledger takes it after all', async () => {
    const task = await anEndTooLarge('too large for now');
    await wakeUp();
    expect(await refused()).toHaveLength(1);
    await widen();
    await wakeUp(() => untilTrue(async () => (await refused()).length === 0));
    expect(await lineOf(task)).toMatchObject({ total_tokens: TOO_LARGE + 1 });
  });
});

describe('an entry that the database cannot take for now', () => {
  const keep = async (task: string): Promise<void> => {
    const failing = runtimeWith(ledgerThatFails(() => true));
    models.script(textReply('an answer'));
    await failing.run(taskOf(task));
    await failing.close();
  };

  beforeEach(() => redis.client.flushall());

  it('holds up none behind it, on no list, and is written when it can be', async () => {
    await keep('shared');
    await redis.client.rename(OUTBOX, SHARED);
    for (const task of ['held', 'behind']) await keep(task);
    const ledger = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
    let isHeld = true;
    const runtime = runtimeWith({
      ...ledger,
      record: (progress) =>
        isHeld && progress.taskId === 'held'
          ? Promise.reject(new RuntimeError('DB_UNAVAILABLE', { reason: 'somebody holds the row' }))
          : ledger.record(progress),
    });
    models.script(textReply('answer'));
    await runtime.handle(taskOf(randomUUID()));
    for (const task of ['behind', 'shared'])
      expect(await eventually(() => lineOf(task))).toMatchObject({ total_tokens: 120 });
    expect(await lineOf('held')).toBeUndefined();
    isHeld = false;
    expect(await eventually(() => lineOf('held'))).toMatchObject({ total_tokens: 120 });
    await runtime.close();
  });

  it('is not waited for by a process that closes, nor are those behind it', async () => {
    const tasks = ['first of those held', 'second of those held'];
    for (const task of tasks) await keep(task);
    const ledger = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
    const [asked, answer] = [gate(), gate()];
    const tried: string[] = [];
    const runtime = runtimeWith({
      ...ledger,
      record: async (progress) => {
        if (!tasks.includes(progress.taskId)) return ledger.record(progress);
        tried.push(progress.taskId);
        asked.open();
        await answer.opened;
        throw new RuntimeError('DB_UNAVAILABLE', { reason: 'somebody holds the row' });
      },
    });
    models.script(textReply('answer'));
    await runtime.handle(taskOf(randomUUID()));
    await asked.opened;
    const closed = runtime.close();
    answer.open();
    await closed;
    expect(tried).toEqual(tasks.slice(0, 1));
    expect(await redis.client.llen(OUTBOX)).toBe(2);
  });
});

describe('when the outbox is looked at', () => {
  beforeEach(() => redis.client.flushall());

  it('an end that is kept while refused ones are tried again does not wait as long as they do', async () => {
    const ledger = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
    const [tried, answer] = [gate(), gate()];
    let asked = 0;
    let isDown = true;
    const runtime = runtimeWith({
      ...ledger,
      knows: async (progress) => {
        if (progress.taskId !== 'nobody’s') return ledger.knows(progress);
        if (++asked === 2) {
          tried.open();
          await answer.opened;
        }
        return false;
      },
      record: (progress) =>
        isDown && progress.end !== undefined && progress.taskId === 'kept meanwhile'
          ? Promise.reject(new RuntimeError('DB_UNREACHABLE', { reason: 'it is away' }))
          : ledger.record(progress),
    });
    await redis.client.rpush(OUTBOX, entryOfNobody());
    models.script(textReply('answer'), textReply('an answer'));
    await runtime.handle(taskOf(randomUUID()));
    await tried.opened;
    await runtime.run(taskOf('kept meanwhile'));
    isDown = false;
    answer.open();
    await untilEmpty();
    expect(await lineOf('kept meanwhile')).toMatchObject({ total_tokens: 120 });
    await runtime.close();
  });

  it('a process that is handed its tasks one by one looks as well', async () => {
    const failing = runtimeWith(ledgerThatFails(() => true));
    models.script(textReply('an answer'));
    await failing.run(taskOf('found by a run'));
    await failing.close();
    const runtime = runtimeWith();
    models.script(textReply('answer'));
    await runtime.run(taskOf(randomUUID()));
    await untilEmpty();
    expect(await lineOf('found by a run')).toMatchObject({ total_tokens: 120 });
    await runtime.close();
  });
});

const entryOfNobody = (): string => entryOf('nobody’s', randomUUID());

it('what no installation takes up is shown with an id, and a person can drop it', async () => {
  await redis.client.flushall();
  const entry = entryOfNobody();
  await redis.client.rpush(SHARED, entry, entry);
  await redis.client.rpush(`${SHARED}:refused`, 'no JSON');
  const { unwritten } = (await queue('status')) as {
    unwritten: { unclaimed: { id: string; task_id?: string; run_id?: string }[] };
  };
  // Nobody knows since when, since it came from an older version.
  expect(unwritten).toMatchObject({ waiting: 3, refused: 0, longest: [{}, {}] });
  const [known, unreadable] = [unwritten.unclaimed[0], unwritten.unclaimed.at(-1)];
  expect(known).toMatchObject({ tenant_id: tenant, task_id: 'nobody’s', calls: [] });
  expect(unreadable).toEqual({ id: expect.stringMatching(/^[0-9a-f]{16}$/) as string });
  expect(await queue('drop-unwritten', '--entry', String(known?.id))).toEqual({ dropped: known });
  expect(await redis.client.llen(SHARED)).toBe(0);
  expect(await queue('drop-unwritten', '--entry', String(unreadable?.id))).toEqual({ dropped: unreadable });
  expect(await queue('status')).toMatchObject({ unwritten: { waiting: 0, unclaimed: [] } });
});

describe('two installations on one Redis', () => {
  let other: TestDatabase;

  beforeAll(async () => {
    other = await createMigratedDatabase();
    // As in a copy for trying things out, where tenants have the same ids.
    await other.query('INSERT INTO elo_t_tenants (id, name) VALUES ($1, $2)', [tenant, 'The same']);
  });
  beforeEach(() => redis.client.flushall());
  afterAll(() => other.close());

  it.each([
    ['the list of its own', () => OUTBOX],
    ['the list that was everybody’s', () => SHARED],
  ])('an end on %s is written by the one that it belongs to', async (where, list) => {
    let isDown = true;
    const failing = runtimeWith(ledgerThatFails(() => isDown));
    models.script(textReply('an answer', { prompt: 1000, completion: 100 }));
    const task = `of two: ${where}`;
    await failing.run(taskOf(task));
    await failing.close();
    isDown = false;
    if (list() !== OUTBOX) await redis.client.rename(OUTBOX, list());

    const another = createRuntime({
      database: { url: other.url },
      model: { apiKey: 'k', baseUrl: models.url },
      redis: { url: redis.url },
    });
    models.script(textReply('answer'));
    await another.handle(taskOf(`wakes the other one: ${where}`));
    await another.close();
    expect(await redis.client.llen(list())).toBe(1);
    expect(await other.query(`SELECT FROM elo_t_token_usage WHERE task_id = $1`, [task])).toEqual([]);

    const own = runtimeWith();
    models.script(textReply('answer'));
    await own.handle(taskOf(`wakes its own: ${where}`));
    await untilEmpty();
    await own.close();
    expect(await lineOf(task)).toMatchObject({ cost: '0.00021000' });
    expect(await refused()).toEqual([]);
  });
});
