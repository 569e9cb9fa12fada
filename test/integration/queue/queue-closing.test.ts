import { RuntimeError } from '../../../runtime/errors/runtime-error';
import { openQueueAdmin } from '../../../runtime/worker';
import { startRedis, type TestRedis } from '../../support/servers/redis';
import { untilTrue } from '../../support/values/until';
import { aTask, type TestQueue, testQueue } from '../../support/worlds/queue';

let redis: TestRedis;
let queue: TestQueue;
beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(() => {
  queue = testQueue(redis);
});
afterEach(() => queue.close());
afterAll(() => redis.close());

/** A handler that is started, and ended by the test or by its signal. */
function longWork(): {
  readonly begun: Promise<void>;
  readonly finish: () => void;
  readonly handle: (delivery: { readonly signal: AbortSignal }) => Promise<void>;
} {
  const begun = Promise.withResolvers<undefined>();
  const end = Promise.withResolvers<undefined>();
  return {
    begun: begun.promise,
    finish: () => end.resolve(undefined),
    handle: async ({ signal }) => {
      begun.resolve(undefined);
      signal.addEventListener('abort', () => end.reject(new RuntimeError('RUN_CANCELLED')));
      await end.promise;
    },
  };
}

describe('closing', () => {
  it('waits for what is being done, and takes nothing more', async () => {
    const { begun, finish, handle } = longWork();
    const consumer = await queue.consume(handle, { concurrency: 1 });
    await queue.push(aTask(1), aTask(2));
    await begun;
    const closed = consumer.close({ graceMs: 60_000 });
    finish();
    await closed;
    const other = await queue.consume(() => Promise.resolve());
    await other.idle();
    expect(await other.metrics()).toContain('outcome="done"} 1');
  });

  it.each([
    ['a handler that obeys', true],
    ['a handler that does not', false],
  ])('gives a task back that takes too long, as if it had not been taken: %s', async (_name, isObedient) => {
    const { begun, handle } = longWork();
    const stubborn = (): Promise<void> => {
      void handle({ signal: new AbortController().signal });
      return new Promise(() => undefined);
    };
    const consumer = await queue.consume(isObedient ? handle : stubborn);
    await queue.push(aTask(1));
    await begun;
    await consumer.close({ graceMs: 10 });
    const list = queue.config.list ?? '';
    expect([await redis.client.llen(`${list}:queue:active`), await redis.client.llen(`${list}:queue:wait`)]).toEqual([
      0, 1,
    ]);
    const attempts: number[] = [];
    const other = await queue.consume(({ attempt }) => {
      attempts.push(attempt);
      return Promise.resolve();
    });
    await other.idle();
    expect(attempts).toEqual([1]);
    expect(await queue.dead()).toEqual([]);
  });

  it('ends also when Redis is away', async () => {
    const lonely = await startRedis();
    const consumer = await testQueue(lonely).consume(() => Promise.resolve());
    await lonely.close();
    await untilTrue(async () => !(await consumer.health()).ok);
    expect(await consumer.health()).toMatchObject({ ok: false, redis: 'lost', pending: -1, dead: -1 });
    expect(await consumer.metrics()).toContain('universal_ai_agent_tasks_total');
    await consumer.close({ graceMs: 10 });
  });
});

describe('looking after the queue', () => {
  it('stops all consumers of the list, and lets them go on', async () => {
    const admin = await openQueueAdmin(queue.config);
    await admin.pause();
    const consumers = await Promise.all([1, 2].map(() => queue.consume(() => Promise.resolve())));
    await queue.push(...Array.from({ length: 10 }, (_, no) => aTask(no)));
    await untilTrue(async () => (await admin.status()).workers === 2);
    expect(await admin.status()).toEqual({
      list: queue.config.list,
      failed_list: queue.config.failedList,
      ...{ pending: 10, waiting: 0, active: 0, delayed: 0, dead: 0, paused: true, workers: 2 },
      unwritten: { waiting: 0, refused: 0, longest: [], entries: [], unclaimed: [] },
    });
    expect(await consumers[0]?.health()).toMatchObject({ ok: true, paused: true, pending: 10 });
    await admin.resume();
    await consumers[0]?.idle();
    expect(await admin.status()).toMatchObject({ pending: 0, waiting: 0, paused: false });
    await admin.close();
  });

  it('moves dead tasks back, the oldest first, and each once', async () => {
    const failing = await queue.consume(() => Promise.reject(new Error('broken')));
    await queue.push(aTask(1), aTask(2), Buffer.from([0xff, 0xfe]), 'x'.repeat(2 * 1024 * 1024));
    await untilTrue(async () => (await queue.dead()).length === 4);
    await failing.idle();
    await failing.close();
    const admin = await openQueueAdmin(queue.config);
    const list = queue.config.list ?? '';

    expect(await admin.retryDead({ taskId: 'task-2' })).toEqual({ retried: 1, skipped: 0 });
    expect(await redis.client.lrange(list, 0, -1)).toEqual([JSON.stringify(aTask(2))]);
    const both = await Promise.all([admin.retryDead(), admin.retryDead()]);
    expect(both.reduce((sum, { retried }) => sum + retried, 0)).toBe(2);
    expect(await redis.client.llen(list)).toBe(3);
    expect(await redis.client.lrangeBuffer(list, 0, -1)).toContainEqual(Buffer.from([0xff, 0xfe]));
    expect(await queue.dead()).toMatchObject([{ code: 'TASK_TOO_LARGE' }]);

    const done: string[] = [];
    const consumer = await queue.consume(({ task }) => {
      done.push(task.task_id);
      return Promise.resolve();
    });
    await consumer.idle();
    expect(done.sort()).toEqual(['task-1', 'task-2']);
    await admin.close();
  });
});
