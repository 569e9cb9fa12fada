import { randomUUID } from 'node:crypto';

import { createRuntime, type LedgerStore, RuntimeError } from '../../../runtime';
import { createLedgerStore } from '../../../runtime/storage/postgres/ledger/ledger-store';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../../support/servers/model-server';
import { startRedis, type TestRedis } from '../../support/servers/redis';
import { aTask, failureOf } from '../../support/values/agent-fixture';
import { untilTrue } from '../../support/values/until';

const SHARED = 'elo:agent:outbox';
let OUTBOX: string;

let database: TestDatabase;
let postgres: Postgres;
let models: ModelServer;
let redis: TestRedis;
let ledger: LedgerStore;

beforeAll(async () => {
  [database, models, redis] = await Promise.all([createMigratedDatabase(), startModelServer(), startRedis()]);
  postgres = createPostgres({ url: database.url, maxConnections: 2 });
  ledger = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
  OUTBOX = `${SHARED}:${await ledger.identify()}`;
});
beforeEach(() => redis.client.flushall());
afterAll(async () => {
  await Promise.all([models.close(), redis.close(), postgres.close()]);
  await database.close();
});

const runtimeWith = (own?: LedgerStore): ReturnType<typeof createRuntime> =>
  createRuntime({
    database: { url: database.url },
    model: { apiKey: 'k', baseUrl: models.url },
    redis: { url: redis.url },
    plugins: own === undefined ? {} : { ledger: own },
  });
const remove = (tenantId: string) => database.query('DELETE FROM elo_t_tenants WHERE id = $1', [tenantId]);
const inAll = async () => [await redis.client.llen(OUTBOX), await redis.client.hlen(`${OUTBOX}:refused`)];

/** Has the outbox looked at by a run of somebody else. */
async function look(runtime: ReturnType<typeof createRuntime>): Promise<void> {
  models.script(textReply('answer'));
  await runtime.run(aTask(await addTenant(database)));
}

it('a tenant that is deleted in the middle of a run leaves no entry, and the run says what was not billed', async () => {
  const tenantId = await addTenant(database);
  const runtime = runtimeWith();
  models.script(async (_request, response) => {
    await remove(tenantId);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(textReply('answer').body));
  });
  const { warnings } = await runtime.run(aTask(tenantId));
  expect(warnings).toMatchObject([
    { code: 'LEDGER_WRITE_FAILED', message: expect.stringContaining('does not exist') as string },
  ]);
  expect(warnings[0]?.message).toContain('100+20 tokens');
  expect(await inAll()).toEqual([0, 0]);
  await runtime.close();
});

it('entries of a tenant that is gone are put aside, and end after thirty days; those of others do not', async () => {
  const tenantId = await addTenant(database);
  const failing = runtimeWith({
    ...ledger,
    record: (progress) =>
      progress.end === undefined
        ? ledger.record(progress)
        : Promise.reject(new RuntimeError('DB_UNREACHABLE', { reason: 'it is away' })),
  });
  models.script(textReply('answer'));
  await failing.run(aTask(tenantId));
  await failing.close();
  const entry = (await redis.client.lindex(OUTBOX, 0)) ?? '';
  await redis.client.hset(
    `${OUTBOX}:refused`,
    'refused',
    JSON.stringify({ id: 'refused', entry, since: '2026-01-01T00:00:00Z' }),
  );
  const ofOther = JSON.stringify({
    ...{ version: 1, tenantId: await addTenant(database), taskId: 'unknown', runId: randomUUID() },
    ...{ leaseMs: 1000, closed: [] },
  });
  // On the list that installations share, a tenant that is unknown here may be another's.
  await redis.client.rpush(SHARED, entry);
  await redis.client.rpush(OUTBOX, ofOther);
  await remove(tenantId);
  const runtime = runtimeWith();
  await look(runtime);
  const codes = async (): Promise<readonly string[]> =>
    (await redis.client.hvals(`${OUTBOX}:refused`)).map(
      (kept) => (JSON.parse(kept) as { code?: string }).code ?? 'old',
    );
  await untilTrue(async () => !(await codes()).includes('old') && (await redis.client.llen(OUTBOX)) === 0);
  // Should the database be an earlier state of the right one, the end of the run is written there.
  expect((await codes()).toSorted()).toEqual(['RUN_UNKNOWN', 'TENANT_NOT_FOUND']);
  expect(await redis.client.lrange(SHARED, 0, -1)).toEqual([entry]);
  await runtime.close();
});

it('a run of a tenant that is gone between its steps ends with words', async () => {
  const tenantId = await addTenant(database, { settings: { monthly_cost_limit_usd: '5' } });
  const runtime = createRuntime({
    database: { url: database.url },
    model: { apiKey: 'k', baseUrl: models.url },
    plugins: {
      tools: [
        {
          definition: { name: 'leave', description: 'x', inputSchema: { type: 'object' } },
          parseInput: (value) => ({ ok: true, value }),
          execute: async () => {
            await remove(tenantId);
            return { isError: false, value: 'gone' };
          },
        },
      ],
    },
  });
  // The model call behind the first call was put on record with it.
  models.script(toolReply([{ name: 'leave' }]), toolReply([{ name: 'leave' }]));
  const failure = await failureOf(runtime.run(aTask(tenantId)));
  expect([failure.code, models.left()]).toEqual(['TENANT_NOT_FOUND', 0]);
  await runtime.close();
});
