import { Worker } from 'bullmq';

import { RuntimeError } from '../../../runtime/errors/runtime-error';
import { startRedis, type TestRedis } from '../../support/servers/redis';
import { matching } from '../../support/setup/matchers';
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
afterEach(async () => {
  jest.restoreAllMocks();
  await queue.close();
});
afterAll(() => redis.close());

const rateLimited = (): RuntimeError => new RuntimeError('LLM_RATE_LIMITED', { reason: 'slow down' });

it('tries a failed task again after a growing time, and does it in the end', async () => {
  const times: number[] = [];
  const consumer = await queue.consume(
    ({ attempt }) => {
      times.push(performance.now());
      return attempt < 3 ? Promise.reject(rateLimited()) : Promise.resolve();
    },
    { attempts: 3 },
  );
  await queue.push(aTask(1));
  await consumer.idle();
  expect(times).toHaveLength(3);
  const [first = 0, second = 0, third = 0] = times;
  expect(second - first).toBeGreaterThanOrEqual(500);
  expect(third - second).toBeGreaterThanOrEqual(1000);
  expect(await queue.dead()).toEqual([]);
  expect(queue.told).toEqual([]);
});

it('puts a task on the dead-letter list once its tries are used up', async () => {
  const attempts: number[] = [];
  const consumer = await queue.consume(
    ({ attempt }) => {
      attempts.push(attempt);
      return Promise.reject(rateLimited());
    },
    { attempts: 2 },
  );
  const task = aTask(1);
  await queue.push(task);
  await consumer.idle();
  expect(attempts).toEqual([1, 2]);
  expect(await queue.dead()).toEqual([
    {
      failed_at: matching(/^\d{4}-/),
      code: 'LLM_RATE_LIMITED',
      message: matching(/slow down/),
      hint: matching(/./),
      attempts: 2,
      task_id: 'task-1',
      tenant_id: '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f',
      raw: JSON.stringify(task),
    },
  ]);
  expect(queue.told).toMatchObject([{ attempts: 2, task: { task_id: 'task-1' }, error: { code: 'LLM_RATE_LIMITED' } }]);
});

it('does not try again what nobody can mend by waiting', async () => {
  const handle = jest.fn(() => Promise.reject(new RuntimeError('TENANT_NOT_FOUND', { tenantId: 'x' })));
  const consumer = await queue.consume(handle);
  await queue.push(aTask(1));
  await consumer.idle();
  expect(handle).toHaveBeenCalledTimes(1);
  expect(await queue.dead()).toMatchObject([{ code: 'TENANT_NOT_FOUND', attempts: 1 }]);
  expect(await consumer.metrics()).toContain('outcome="dead"} 1');
});

it('leaves the callback of a conflicting task to the other request', async () => {
  const consumer = await queue.consume(() => Promise.reject(new RuntimeError('TASK_CONFLICT', { taskId: '1' })));
  await queue.push(aTask(1));
  await consumer.idle();
  expect(await queue.dead()).toMatchObject([{ code: 'TASK_CONFLICT' }]);
  expect(queue.told).toEqual([]);
});

it.each(['DB_UNREACHABLE', 'REDIS_UNAVAILABLE', 'TASK_RUNNING'] as const)(
  'waits without using up a try: %s',
  async (code) => {
    const attempts: number[] = [];
    const consumer = await queue.consume(
      ({ attempt }) => {
        attempts.push(attempt);
        return attempts.length < 2 ? Promise.reject(new RuntimeError(code, { reason: 'gone' })) : Promise.resolve();
      },
      { attempts: 1 },
    );
    await queue.push(aTask(1));
    await consumer.idle();
    expect(attempts).toEqual([1, 1]);
    expect(await queue.dead()).toEqual([]);
  },
);

it('tells of a death until it is heard', async () => {
  const onDead = jest
    .fn<Promise<void>, []>()
    .mockRejectedValueOnce(new RuntimeError('REDIS_UNAVAILABLE', { reason: 'gone' }))
    .mockResolvedValue(undefined);
  const handle = jest.fn(() => Promise.reject(new Error('broken')));
  const consumer = await queue.consume(handle, {}, { onDead });
  await queue.push(aTask(1));
  await consumer.idle();
  expect(handle).toHaveBeenCalledTimes(1);
  expect(onDead).toHaveBeenCalledTimes(2);
  expect(await queue.dead()).toMatchObject([{ code: 'INTERNAL_ERROR' }]);
});

it('has a death on record before it tells of it', async () => {
  const dying = (): Promise<number> => redis.client.hlen(`${queue.config.list ?? ''}:dying`);
  const seen: number[] = [];
  const onDead = async (): Promise<void> => {
    seen.push(await dying());
  };
  const consumer = await queue.consume(() => Promise.reject(new Error('broken')), {}, { onDead });
  await queue.push(aTask(1));
  await consumer.idle();
  await untilTrue(async () => (await dying()) === 0);
  expect(seen).toEqual([1]);
});

it('tells of a death again when the webhook fails', async () => {
  const failed = new RuntimeError('CALLBACK_FAILED', { reason: 'down' });
  const onDead = jest.fn<Promise<void>, []>().mockRejectedValueOnce(failed).mockResolvedValue(undefined);
  const consumer = await queue.consume(() => Promise.reject(new Error('broken')), {}, { onDead });
  await queue.push(aTask(1));
  await consumer.idle();
  expect(onDead).toHaveBeenCalledTimes(2);
  expect(queue.logs.join()).toContain('trying again');
});

it.each(['RUN_TAKEN_OVER', 'LLM_AUTH_FAILED', 'LLM_RATE_LIMITED'] as const)(
  'leaves a task to the consumer that has it by now: %s',
  async (code) => {
    const list = queue.config.list ?? '';
    let fail = (): void => undefined;
    const lost = new Promise<void>((resolve) => (fail = resolve));
    const first = await queue.consume(() => lost.then(() => Promise.reject(new RuntimeError(code))), {
      leaseMs: 1000,
      concurrency: 1,
    });
    await queue.push(aTask(1));
    await untilTrue(async () => (await redis.client.keys(`${list}:queue:*:lock`)).length > 0);
    const locks = await redis.client.keys(`${list}:queue:*:lock`);
    // As if the first had been silent until another one has the job.
    let finish: (() => void) | undefined;
    const second = await queue.consume(() => new Promise<void>((resolve) => (finish = resolve)), { leaseMs: 1000 });
    await untilTrue(async () => {
      if (finish === undefined) await redis.client.del(...locks);
      return finish !== undefined;
    });
    fail();
    await untilTrue(() => Promise.resolve(queue.logs.some((line) => line.includes('task returned'))));
    finish?.();
    await second.idle();
    await first.idle();
    expect(queue.told).toEqual([]);
    expect(await queue.dead()).toEqual([]);
    expect(await second.metrics()).toContain('outcome="done"} 1');
  },
);

it('does not hold a task for a failure that nobody can be told of', async () => {
  const onDead = (): Promise<void> =>
    Promise.reject(new RuntimeError('CALLBACK_KEY_FORBIDDEN', { field: 'result_key' }));
  const consumer = await queue.consume(() => Promise.reject(new Error('broken')), {}, { onDead });
  await queue.push(aTask(1));
  await consumer.idle();
  expect(await queue.dead()).toMatchObject([{ code: 'INTERNAL_ERROR' }]);
});

it('does a task that failed and is pushed again', async () => {
  let isBroken = true;
  const consumer = await queue.consume(() =>
    isBroken ? Promise.reject(new RuntimeError('TENANT_INACTIVE', { tenantId: 'x' })) : Promise.resolve(),
  );
  await queue.push(aTask(1));
  await consumer.idle();
  isBroken = false;
  await queue.push(aTask(1));
  await consumer.idle();
  expect(await queue.dead()).toHaveLength(1);
  expect(await consumer.metrics()).toContain('outcome="done"} 1');
});

describe('a death that breaks off half-way', () => {
  const handle = jest.fn(() => Promise.reject(new RuntimeError('TENANT_INACTIVE', { tenantId: 'x' })));
  beforeEach(() => handle.mockClear());

  it('is on the dead-letter list once when the job had not ended', async () => {
    // BullMQ hears of the failure, and the process is gone before it can write it down.
    const ended = jest
      .spyOn(Worker.prototype as unknown as { handleFailed: () => Promise<undefined> }, 'handleFailed')
      .mockImplementationOnce(() => Promise.resolve(undefined));
    const consumer = await queue.consume(handle, { leaseMs: 1000 });
    await queue.push(aTask(1));
    await untilTrue(() => Promise.resolve(ended.mock.calls.length >= 2));
    await consumer.idle();
    await consumer.close();
    expect(handle).toHaveBeenCalledTimes(1);
    expect(await queue.dead()).toMatchObject([{ code: 'TENANT_INACTIVE', attempts: 1 }]);
    // Nobody knows whether it was told before: it is told again.
    expect(queue.told.map(({ error }) => error.message)).toEqual(
      Array.from({ length: 2 }, () => 'Tenant "x" is not active.'),
    );
  });

  it('is on the dead-letter list as well when the task was pushed again and done meanwhile', async () => {
    const dying = `${queue.config.list ?? ''}:dying`;
    const consumer = await queue.consume(() => Promise.resolve());
    await queue.push(aTask(1));
    await consumer.idle();
    const [job = ''] = await redis.client.keys(`${queue.config.list ?? ''}:queue:${'?'.repeat(64)}`);
    const { id } = JSON.parse((await redis.client.hget(job, 'data')) ?? '') as { readonly id: string };
    const jobId = job.slice(-64);
    await redis.client.hset(
      dying,
      `1-1:${jobId}`,
      '{"code":"of the push before"}',
      `${id}:${jobId}`,
      '{"code":"done"}',
    );
    await queue.consume(() => Promise.resolve());
    await untilTrue(async () => (await redis.client.exists(dying)) === 0);
    expect(await queue.dead()).toEqual([{ code: 'of the push before' }]);
  });

  it('is on the dead-letter list before the consumer is idle', async () => {
    jest.spyOn(Worker.prototype, 'emit').mockReturnValue(true);
    const consumer = await queue.consume(handle);
    await queue.push(aTask(1));
    await consumer.idle();
    expect(await queue.dead()).toMatchObject([{ code: 'TENANT_INACTIVE' }]);
  });

  it('is on the dead-letter list once when it had', async () => {
    jest.spyOn(Worker.prototype, 'emit').mockReturnValue(true);
    const consumer = await queue.consume(handle);
    await queue.push(aTask(1));
    const job = `${queue.config.list ?? ''}:queue:${'?'.repeat(64)}`;
    await untilTrue(async () => handle.mock.calls.length === 1 && (await redis.client.keys(job)).length === 0);
    await consumer.close();
    jest.restoreAllMocks();
    expect(await queue.dead()).toEqual([]);
    expect((await consumer.health()).ok).toBe(false);

    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'queueMicrotask', 'performance'] });
    const next = await queue.consume(handle);
    jest.advanceTimersByTime(60_000);
    jest.useRealTimers();
    await untilTrue(async () => (await queue.dead()).length > 0);
    await next.close();
    expect(await queue.dead()).toMatchObject([{ code: 'TENANT_INACTIVE', attempts: 1 }]);
    expect(handle).toHaveBeenCalledTimes(1);
  });
});

it('does not lose a task when Redis fails it in between', async () => {
  const moveToWait = jest
    .spyOn(Worker.prototype as unknown as { callProcessJob: () => Promise<unknown> }, 'callProcessJob')
    .mockRejectedValueOnce(new Error('broken'));
  const consumer = await queue.consume(() => Promise.resolve());
  await queue.push(aTask(1));
  await consumer.idle();
  expect(moveToWait).toHaveBeenCalledTimes(2);
  expect(await consumer.metrics()).toContain('outcome="done"} 1');
});

describe('tasks at a time for a tenant', () => {
  it('are never more than the limit, over all consumers, and others go on', async () => {
    const running = new Map<unknown, number>();
    const most = new Map<unknown, number>();
    const ended: unknown[] = [];
    const handle = async ({ task }: { readonly task: { readonly meta: Record<string, unknown> } }): Promise<void> => {
      const { tenant_id: tenant } = task.meta;
      const now = (running.get(tenant) ?? 0) + 1;
      running.set(tenant, now);
      most.set(tenant, Math.max(now, most.get(tenant) ?? 0));
      await new Promise((resolve) => setTimeout(resolve, 30));
      running.set(tenant, now - 1 < 0 ? 0 : (running.get(tenant) ?? 1) - 1);
      ended.push(tenant);
    };
    const config = { tenantConcurrency: 2, concurrency: 10 };
    const [consumer] = await Promise.all([queue.consume(handle, config), queue.consume(handle, config)]);
    const tasks = (tenant: string, count: number): unknown[] =>
      Array.from({ length: count }, (_, no) => aTask(`${tenant}-${no}`, { meta: { tenant_id: tenant } }));
    await queue.push(...tasks('busy', 40), ...tasks('quiet', 2));
    await consumer.idle();
    expect(most.get('busy')).toBe(2);
    expect(ended).toHaveLength(42);
    expect(ended.lastIndexOf('quiet')).toBeLessThan(30);
    expect(await redis.client.keys(`${queue.config.list ?? ''}:slots:*`)).toEqual([]);
  });

  it('count no longer when their process is lost', async () => {
    const list = queue.config.list ?? '';
    await redis.client.zadd(`${list}:slots:busy`, Date.now() + 300, 'a lost one');
    const consumer = await queue.consume(() => Promise.resolve(), { tenantConcurrency: 1 });
    await queue.push(aTask(1, { meta: { tenant_id: 'busy' } }));
    await consumer.idle();
    expect(await consumer.metrics()).toContain('outcome="done"} 1');
  });
});
