import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { startRedis, type TestRedis } from '../../support/servers/redis';
import { untilTrue } from '../../support/values/until';
import { aTask, type TestQueue, testQueue } from '../../support/worlds/queue';

let redis: TestRedis;
let queue: TestQueue;
beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(() => {
  queue = testQueue(redis, { concurrency: 4, leaseMs: 1000 });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await takeWrites();
  await queue.close();
});
afterAll(() => redis.close());

/** As after a failover that left no replica. */
const refuseWrites = (): Promise<unknown> => redis.client.config('SET', 'min-replicas-to-write', '1');
const takeWrites = (): Promise<unknown> => redis.client.config('SET', 'min-replicas-to-write', '0');
const refusals = (): readonly string[] => queue.logs.filter((line) => line.includes('NOREPLICAS'));

const DISCONNECT: (reconnect?: boolean) => void = Reflect.get(Redis.prototype, 'disconnect');

it.each([
  ['busy', 20],
  ['idle', 0],
])('rests where Redis refuses writes while it is %s, and goes on when it takes them again', async (_, waiting) => {
  const timers = jest.spyOn(globalThis, 'setTimeout');
  const done = new Set<string>();
  const consumer = await queue.consume(async ({ task }) => {
    await sleep(100);
    done.add(task.task_id);
  });
  await queue.push(aTask('first'), ...Array.from({ length: waiting }, (_task, no) => aTask(no)));
  await untilTrue(() => Promise.resolve(done.size > 0));
  await refuseWrites();
  await untilTrue(() => Promise.resolve(refusals().length > 0));
  const before = refusals().length;
  await sleep(2000);
  // Without a rest there are thousands.
  expect(refusals().length - before).toBeLessThan(12);
  await takeWrites();
  await queue.push(aTask('last'));
  await consumer.idle();
  expect(done).toContain('task-last');
  expect(done.size).toBe(waiting + 2);
  expect(await queue.dead()).toEqual([]);
  // BullMQ's own rest, which would keep a process that has closed the consumer from ending.
  expect(timers.mock.calls.map(([, delayMs]) => delayMs)).not.toContain(5000);
});

it.each(['-info', '-eval'])('says at the start that the user lacks a right (%s)', async (right) => {
  await redis.client.call('ACL', 'SETUSER', 'limited', 'reset', 'on', '>secret', '~*', '&*', '+@all', right);
  const url = `redis://limited:secret@127.0.0.1:${redis.port}/0`;
  await expect(queue.consume(() => Promise.resolve(), { redis: { url } })).rejects.toMatchObject({
    code: 'QUEUE_REDIS_UNSUITABLE',
    message: expect.stringContaining(`permissions to run the '${right.slice(1)}' command`) as string,
  });
});

it('a consumer that closes does not close what is closed, which would keep the process from ending', async () => {
  const disconnect = jest.spyOn(Redis.prototype, 'disconnect');
  const states: string[] = [];
  disconnect.mockImplementation(function (this: Redis, ...args) {
    states.push(this.status);
    return DISCONNECT.apply(this, args);
  });
  const consumer = await queue.consume(() => Promise.resolve());
  // BullMQ closes its blocking connection twice when that is not ready yet.
  await untilTrue(async () => /cmd=bz?popmin/i.test(String(await redis.client.client('LIST'))));
  await consumer.close();
  expect(states.length).toBeGreaterThan(1);
  expect(states).not.toContain('end');
});
