import { createRuntime, RuntimeError } from '../../../runtime';
import { createLedgerStore } from '../../../runtime/storage/postgres/ledger/ledger-store';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { openQueueAdmin, startConsumer } from '../../../runtime/worker';
import { addTenant, createMigratedDatabase } from '../../support/servers/database';
import { startModelServer, textReply } from '../../support/servers/model-server';
import { startRedis, type TestRedis } from '../../support/servers/redis';

const SINCE = 'elo:agent:outbox:since';
const HOUR_MS = 3_600_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

/** Runs tasks whose ends the ledger does not take. The id of their tenant. */
async function keepEnds(tasks: readonly string[]): Promise<string> {
  const database = await createMigratedDatabase();
  const postgres = createPostgres({ url: database.url, maxConnections: 2 });
  const models = await startModelServer();
  const tenant = await addTenant(database);
  const ledger = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
  const runtime = createRuntime({
    database: { url: database.url },
    model: { apiKey: 'k', baseUrl: models.url },
    redis: { url: redis.url },
    plugins: {
      ledger: {
        ...ledger,
        record: (progress) =>
          progress.end === undefined
            ? ledger.record(progress)
            : Promise.reject(new RuntimeError('DB_UNREACHABLE', { reason: 'it is away' })),
      },
    },
  });
  for (const task_id of tasks) {
    models.script(textReply('an answer'));
    await runtime.run({ task_id, config: { agent_tier: 'pro', message: 'go' }, meta: { tenant_id: tenant } });
  }
  await Promise.all([runtime.close(), models.close(), postgres.close()]);
  await database.close();
  return tenant;
}

interface Noted {
  readonly id: string;
  readonly since: string;
}

/** What is noted of the entries, the first kept first. */
async function noted(): Promise<readonly Noted[]> {
  const all = Object.entries(await redis.client.hgetall(SINCE));
  return all
    .map(([id, text]) => ({ ...(JSON.parse(text) as Noted), id }))
    .sort((one, other) => one.since.localeCompare(other.since));
}

it('the ends that have waited longest are named, with tenant and age, and how long is a metric', async () => {
  const tenant = await keepEnds(['waits longest', 'waits', 'of an older version']);
  const [first, second, third] = (await noted()) as [Noted, Noted, Noted];
  const early = new Date(Date.now() - HOUR_MS).toISOString();
  await redis.client.hset(SINCE, first.id, JSON.stringify({ since: early, tenant_id: tenant }));
  await redis.client.hdel(SINCE, third.id);
  const config = { redis: { url: redis.url }, list: 'metrics', failedList: 'metrics-failed' };

  const admin = await openQueueAdmin(config);
  const { longest } = (await admin.status().finally(admin.close)).unwritten;
  expect(longest).toMatchObject([
    { id: third.id },
    { id: first.id, tenant_id: tenant, since: early },
    { id: second.id, tenant_id: tenant },
  ]);
  expect(longest.map((end) => (end.age_seconds ?? 0) >= HOUR_MS / 1000)).toEqual([false, true, false]);

  const parts = { handle: () => Promise.resolve(), onDead: () => Promise.resolve(), log: () => undefined };
  const consumer = await startConsumer(config, parts);
  const text = await consumer.metrics().finally(() => consumer.close());
  expect(text).toContain('universal_ai_agent_unwritten_ends{state="waiting"} 3');
  expect(text).toContain('universal_ai_agent_unwritten_ends{state="refused"} 0');
  expect(Number(/unwritten_ends_oldest_seconds (\d+)/.exec(text)?.[1])).toBeGreaterThanOrEqual(HOUR_MS / 1000);
});
