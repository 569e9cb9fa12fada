import { Worker } from 'bullmq';
import { Redis } from 'ioredis';

import { type Consumer, openQueueAdmin } from '../../../runtime/worker';
import { startRedis, type TestRedis } from '../../support/servers/redis';
import { gate } from '../../support/values/agent-fixture';
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

/** BullMQ's workers of which this says so wait for ever, as they do when they cannot get at their connection. */
function stallWorkers(isStalled: (no: number) => boolean): void {
  const prototype = Worker.prototype as unknown as { waitForJob: (blockUntil: number) => Promise<number> };
  const wait = prototype.waitForJob;
  const workers: Worker[] = [];
  jest.spyOn(prototype, 'waitForJob').mockImplementation(async function waitForJob(this: Worker, blockUntil: number) {
    if (!workers.includes(this)) workers.push(this);
    if (!isStalled(workers.indexOf(this))) return wait.call(this, blockUntil);
    await new Promise((resolve) => setTimeout(resolve, 100));
    return Number.POSITIVE_INFINITY;
  });
}

interface Handler {
  readonly handled: string[];
  readonly running: () => number;
  readonly mostRunning: () => number;
  /** Lets the task end; all others end by themselves. */
  readonly end: (taskId: string) => void;
  readonly handle: (delivery: { readonly task: { readonly task_id: string } }) => Promise<void>;
}

function handler(...held: readonly string[]): Handler {
  const gates = new Map(held.map((id) => [id, gate()]));
  const handled: string[] = [];
  let running = 0;
  let most = 0;
  return {
    handled,
    running: () => running,
    mostRunning: () => most,
    end: (taskId) => gates.get(taskId)?.open(),
    handle: async ({ task }) => {
      running++;
      most = Math.max(most, running);
      await gates.get(task.task_id)?.opened;
      handled.push(task.task_id);
      running--;
    },
  };
}

/** The connections of the consumer of ours, by a command that only one of them sends. */
function clientsThatSend(command: string): Set<Redis> {
  const clients = new Set<Redis>();
  const callBuffer = Reflect.get(Redis.prototype, 'callBuffer') as (...args: unknown[]) => unknown;
  jest.spyOn(Redis.prototype, 'callBuffer').mockImplementation(function call(this: Redis, ...args: unknown[]) {
    if (args[0] === command) clients.add(this);
    return callBuffer.apply(this, args) as never;
  });
  return clients;
}

const restarts = async (consumer: Consumer): Promise<number> =>
  Number(/consumer_restarts_total (\d+)/.exec(await consumer.metrics())?.[1]);

it('says that it stalls, and takes tasks again by itself; those under way end once', async () => {
  const { handled, running, mostRunning, end, handle } = handler('task-1');
  stallWorkers((no) => no === 0 && running() > 0);
  const consumer = await queue.consume(handle, { concurrency: 2 });
  expect(await consumer.metrics()).toContain('universal_ai_agent_consumer_stalled 0');
  await queue.push(aTask(1));
  await untilTrue(() => Promise.resolve(running() === 1));
  await queue.push(aTask(2), aTask(3));

  await untilTrue(async () => (await consumer.health()).stalled);
  expect(await consumer.health()).toMatchObject({ ok: false, redis: 'ready', running: 1 });
  expect(await consumer.metrics()).toContain('universal_ai_agent_consumer_stalled 1');
  const admin = await openQueueAdmin(queue.config);
  await untilTrue(async () => (await admin.status()).warnings?.[0]?.code === 'QUEUE_CONSUMER_STALLED');

  await untilTrue(() => Promise.resolve(handled.length === 2));
  await untilTrue(async () => (await consumer.health()).ok);
  expect(await restarts(consumer)).toBe(1);
  await untilTrue(async () => (await admin.status()).warnings === undefined);
  await admin.close();
  end('task-1');
  await consumer.idle();
  expect(handled).toEqual(['task-2', 'task-3', 'task-1']);
  expect(mostRunning()).toBe(2);
  expect(queue.logs.filter((line) => line.includes('QUEUE_CONSUMER_STALLED'))).toHaveLength(2);
  expect(await queue.dead()).toEqual([]);
});

it('does so as often as it takes', async () => {
  stallWorkers((no) => no < 2);
  const { handled, handle } = handler();
  const consumer = await queue.consume(handle);
  // Once it has seen that there is nothing, it waits.
  await untilTrue(() =>
    Promise.resolve((Worker.prototype as unknown as { waitForJob: jest.Mock }).waitForJob.mock.calls.length > 0),
  );
  await queue.push(aTask(1));
  await consumer.idle();
  await queue.push(aTask(2));
  await consumer.idle();
  expect(handled).toEqual(['task-1', 'task-2']);
});

it.each([
  ['the list', 'BLMOVE'],
  ['everything else', 'INFO'],
])('reconnects when the connection for %s has ended for good', async (_what, command) => {
  const clients = clientsThatSend(command);
  const { handled, handle } = handler();
  const consumer = await queue.consume(handle);
  await untilTrue(() => Promise.resolve(clients.size > 0));
  for (const client of clients) client.disconnect();
  await queue.push(aTask(1));
  await untilTrue(async () => (await restarts(consumer)) === 1);
  await untilTrue(() => Promise.resolve(handled.length === 1));
  await untilTrue(async () => (await consumer.health()).ok);
});

it('does not take for a stall that the queue is paused, that it is busy, or that nothing is there', async () => {
  const { running, end, handle } = handler('task-1');
  const consumer = await queue.consume(handle, { concurrency: 1 });
  await queue.push(aTask(1), aTask(2));
  await untilTrue(() => Promise.resolve(running() === 1));
  const seen: boolean[] = [];
  const watch = async (): Promise<void> => {
    // Longer than it takes to find that a consumer stalls.
    const endsAt = performance.now() + 10_000;
    while (performance.now() < endsAt) {
      seen.push((await consumer.health()).stalled);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  await watch();
  const admin = await openQueueAdmin(queue.config);
  await admin.pause();
  end('task-1');
  await untilTrue(async () => (await consumer.health()).running === 0);
  await watch();
  await admin.resume();
  await admin.close();
  await consumer.idle();
  await watch();
  expect(seen).not.toContain(true);
  expect(await restarts(consumer)).toBe(0);
});
