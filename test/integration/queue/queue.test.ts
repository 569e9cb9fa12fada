import { takeOne } from '../../../runtime/worker';
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

it('gives each of 200 tasks once to one of three consumers', async () => {
  const done: string[][] = [[], [], []];
  const consumers = await Promise.all(
    done.map((ids) =>
      queue.consume(({ task }) => {
        ids.push(task.task_id);
        return new Promise((resolve) => setTimeout(resolve, 5));
      }),
    ),
  );
  await queue.push(...Array.from({ length: 200 }, (_, no) => aTask(no)));
  await consumers[0]?.idle();
  expect(done.flat().sort()).toEqual(Array.from({ length: 200 }, (_, no) => `task-${no}`).sort());
  expect(done.every((ids) => ids.length > 0)).toBe(true);
  await Promise.all(consumers.map((consumer) => consumer.close()));
  expect(await queue.dead()).toEqual([]);
  expect(await redis.client.exists(`${queue.config.list ?? ''}:taken`, `${queue.config.list ?? ''}:ingress`)).toBe(0);
});

/** Does what is on the list and gives what was handled, in order. */
async function workThrough(concurrency = 1): Promise<string[]> {
  const handled: string[] = [];
  const consumer = await queue.consume(
    ({ task }) => {
      handled.push(task.task_id);
      return Promise.resolve();
    },
    { concurrency },
  );
  await consumer.idle();
  await consumer.close();
  return handled;
}

it('does tasks in the order of their arrival', async () => {
  await queue.push(...Array.from({ length: 250 }, (_, no) => aTask(no)));
  expect(await workThrough()).toEqual(Array.from({ length: 250 }, (_, no) => `task-${no}`));
});

it('does those without a priority first, then by priority', async () => {
  await queue.push(aTask('c', { priority: 9 }), aTask('a'), aTask('b', { priority: 2 }), aTask('d', { priority: 9 }));
  expect(await workThrough()).toEqual(['task-a', 'task-b', 'task-c', 'task-d']);
});

it('does a repeated push once', async () => {
  await queue.push(aTask(1), aTask(1));
  const reordered = Object.fromEntries(Object.entries(aTask(1)).reverse());
  await queue.push(reordered, aTask(1, { callback: { result_key: 'elo:results:other' } }));
  expect(await workThrough()).toEqual(['task-1']);
  await queue.push(aTask(1));
  expect(await workThrough()).toEqual([]);
});

it('keeps no tasks that are done', async () => {
  await queue.push(...Array.from({ length: 20 }, (_, no) => aTask(no, { config: { message: 'x'.repeat(100_000) } })));
  expect(await workThrough(10)).toHaveLength(20);
  const jobs = await redis.client.keys(`${queue.config.list ?? ''}:queue:${'?'.repeat(64)}`);
  expect(jobs).toHaveLength(20);
  for (const job of jobs) expect(await redis.client.call('MEMORY', 'USAGE', job)).toBeLessThan(2000);
});

it('takes the same id with another request, or of another tenant, for another task', async () => {
  await queue.push(aTask(1), aTask(1, { config: { message: 'another' } }), aTask(1, { meta: { tenant_id: 'other' } }));
  expect(await workThrough()).toEqual(['task-1', 'task-1', 'task-1']);
});

it('gives a task without an id one of its own', async () => {
  const { task_id: _id, trace_id: _trace, ...task } = aTask(1);
  await queue.push(task, task);
  const handled = await workThrough();
  expect(new Set(handled).size).toBe(2);
  for (const id of handled) expect(id).toMatch(/^list-\d+-\d+$/);
});

it('says which try it is, and how many there are', async () => {
  await queue.push(aTask(1));
  const seen: unknown[] = [];
  const consumer = await queue.consume(
    ({ task: _task, ...delivery }) => {
      seen.push(delivery);
      return Promise.resolve();
    },
    { attempts: 3 },
  );
  await consumer.idle();
  expect(seen).toEqual([{ attempt: 1, maxAttempts: 3, signal: expect.any(AbortSignal) as AbortSignal }]);
});

it('tells of its health and its numbers', async () => {
  const finish: (() => void)[] = [];
  const consumer = await queue.consume(
    ({ task }) => new Promise((resolve) => finish.push(() => resolve({ ...aReport, task_id: task.task_id }))),
    { concurrency: 1 },
  );
  await queue.push(aTask(1), aTask(2, { task_type: 'sing' }), 'poison');
  await untilTrue(async () => finish.length === 1 && (await consumer.health()).waiting === 1);
  expect(await consumer.health()).toEqual({
    ok: true,
    redis: 'ready',
    stalled: false,
    paused: false,
    ...{ pending: 0, waiting: 1, active: 1, delayed: 0, dead: 1, running: 1 },
  });
  expect(await consumer.metrics()).toContain('universal_ai_agent_queue_tasks{state="waiting"} 1');
  finish[0]?.();
  await untilTrue(() => Promise.resolve(finish.length === 2));
  finish[1]?.();
  await consumer.idle();
  const text = await consumer.metrics();
  expect(text).toContain('universal_ai_agent_tasks_total{task_type="ai_agent",outcome="done"} 1');
  expect(text).toContain('universal_ai_agent_tasks_total{task_type="other",outcome="done"} 1');
  expect(text).toContain('universal_ai_agent_tasks_total{task_type="other",outcome="rejected"} 1');
  expect(text).toContain('universal_ai_agent_tokens_total{task_type="ai_agent"} 120');
  expect(text).toContain('universal_ai_agent_cost_usd_total{task_type="ai_agent"} 0.25');
  expect(text).toContain('universal_ai_agent_task_duration_seconds_count{task_type="ai_agent"} 1');
  expect(text).not.toContain('process_cpu');
  await consumer.close();
  await consumer.close();
});

it('does not count again what an answer cost that stood there already', async () => {
  const consumer = await queue.consume(({ task }) => Promise.resolve({ ...aReport, ...task, replayed: true }));
  await queue.push(aTask(1));
  await consumer.idle();
  const text = await consumer.metrics();
  expect(text).toContain('outcome="done"} 1');
  expect(text).not.toContain('tokens_total{');
});

const aReport = {
  trace_id: 'trace',
  result: 'done',
  model_used: 'm',
  tokens_used: 120,
  duration_ms: 1,
  error: null,
  cost_usd: '0.25',
};

describe('one task by hand', () => {
  it('waits for it, and takes it off the list when it is done', async () => {
    const taking = takeOne(queue.config, { waitMs: 10_000 });
    await queue.push('poison', aTask(1), aTask(2));
    const taken = await taking;
    expect(taken?.task).toMatchObject({ task_id: 'task-1' });
    await taken?.done();
    expect(await workThrough()).toEqual(['task-2']);
    expect(await queue.dead()).toMatchObject([{ code: 'INPUT_INVALID' }]);
  });

  it('is back in its place when it was put back', async () => {
    await queue.push(aTask(1), aTask(2));
    await (await takeOne(queue.config))?.putBack();
    expect(await workThrough()).toEqual(['task-1', 'task-2']);
  });

  it('comes back by itself when nobody says what became of it', async () => {
    await queue.push(aTask(1));
    const taken = await takeOne(queue.config);
    expect(await workThroughNothing()).toEqual([]);
    const list = queue.config.list ?? '';
    for (const id of await redis.client.zrange(`${list}:taken-until`, 0, '-1')) {
      await redis.client.zadd(`${list}:taken-until`, 0, id);
    }
    expect(await workThrough()).toEqual(['task-1']);
    await taken?.done();
  });

  it('is not there', async () => {
    expect(await takeOne(queue.config)).toBeUndefined();
    const stop = new AbortController();
    const waiting = takeOne(queue.config, { waitMs: 60_000, signal: stop.signal });
    stop.abort();
    await expect(waiting).rejects.toThrow();
  });
});

/** Does nothing, since nothing can be taken: it looks once. */
async function workThroughNothing(): Promise<string[]> {
  const other = await takeOne(queue.config);
  await other?.putBack();
  return other === undefined ? [] : [other.task.task_id];
}
