import { startRedis, type TestRedis } from '../../support/servers/redis';
import { untilTrue } from '../../support/values/until';
import { aTask, type TestQueue, testQueue } from '../../support/worlds/queue';
import type { Death } from '../../support/worlds/queue-child';
import { type QueueChild, startQueueChild } from '../../support/worlds/start-queue-child';

let redis: TestRedis;
let queue: TestQueue;
let list: string;
const children: QueueChild[] = [];
beforeAll(async () => {
  redis = await startRedis({ durable: true });
});
beforeEach(() => {
  queue = testQueue(redis, { leaseMs: 1000, attempts: 3 });
  list = queue.config.list ?? '';
});
afterEach(async () => {
  for (const { process } of children) process.kill('SIGKILL');
  await queue.close();
});
afterAll(() => redis.close());

function start(death: Death = 'never'): QueueChild {
  const child = startQueueChild(redis.url, list, death);
  children.push(child);
  return child;
}

const TASKS = Array.from({ length: 20 }, (_, no) => aTask(no));
const IDS = TASKS.map(({ task_id: id }) => id).sort();
const done = async (): Promise<string[]> => (await redis.client.lrange(`${list}-done`, 0, -1)).sort();
const taken = (): Promise<number> => redis.client.hlen(`${list}:taken`);

/** As if the time had passed after which a consumer is taken for lost. */
async function letTimePass(): Promise<void> {
  const ids = await redis.client.zrange(`${list}:taken-until`, 0, '-1');
  for (const id of ids) await redis.client.zadd(`${list}:taken-until`, 0, id);
}

it.each(['after-take', 'after-add'] as const)('loses and repeats nothing when a consumer dies %s', async (death) => {
  await queue.push(...TASKS);
  await start(death).ended;
  expect(await taken()).toBeGreaterThan(0);
  await letTimePass();
  start();
  await untilTrue(async () => (await taken()) === 0 && (await done()).length >= TASKS.length);
  // What had come twice would be left for this one.
  const consumer = await queue.consume(() => Promise.resolve());
  await consumer.idle();
  expect(await done()).toEqual(IDS);
});

it('loses nothing that was moved for a consumer that was gone by then', async () => {
  await queue.push(...TASKS);
  await redis.client.lmove(list, `${list}:ingress`, 'RIGHT', 'LEFT');
  start();
  await untilTrue(async () => (await done()).length >= TASKS.length);
  expect(await done()).toEqual(IDS);
});

it('gives the task of a lost consumer to another one', async () => {
  await queue.push(aTask(1));
  await start('in-handler').ended;
  start();
  await untilTrue(async () => (await done()).length > 0);
  expect(await done()).toEqual(['task-1']);
});

it('gives up a task that no process survives', async () => {
  await queue.push(aTask('bomb'));
  const begun = (): Promise<number> => redis.client.llen(`${list}-begun`);
  for (let times = 1; (await begun()) < 4; times++) {
    if (times > 10) throw new Error('it is not taken up again');
    await start('in-handler').ended;
  }
  const consumer = await queue.consume(() => Promise.reject(new Error('it was handled once more')));
  await untilTrue(async () => (await queue.dead()).length > 0);
  await consumer.idle();
  expect(await queue.dead()).toMatchObject([{ code: 'TASK_CRASHED', task_id: 'task-bomb', attempts: 1 }]);
  expect(queue.told.map(({ error }) => error.code)).toEqual(['TASK_CRASHED']);
});

it('goes on when Redis has been away', async () => {
  const ids: string[] = [];
  const consumer = await queue.consume(async ({ task }) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    ids.push(task.task_id);
  });
  await queue.push(...TASKS.slice(0, 10));
  await untilTrue(() => Promise.resolve(ids.length > 0));
  await redis.restart();
  await queue.push(...TASKS.slice(10));
  await untilTrue(async () => (await consumer.health()).ok);
  await consumer.idle();
  expect([...new Set(ids)].sort()).toEqual(IDS);
  expect(queue.logs.join()).toContain('Redis is back');
});
