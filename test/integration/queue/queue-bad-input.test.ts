import { openQueueAdmin, startConsumer, takeOne } from '../../../runtime/worker';
import { freePort, startRedis, type TestRedis } from '../../support/servers/redis';
import { matching } from '../../support/setup/matchers';
import { untilTrue } from '../../support/values/until';
import { aTask, digestOf, type TestQueue, testQueue } from '../../support/worlds/queue';

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

const parts = { handle: () => Promise.resolve(), onDead: () => Promise.resolve(), log: () => undefined };

/** Does what is on the list, with a good task behind it; gives the ids of the tasks that were handled. */
async function workThrough(target: TestQueue = queue): Promise<string[]> {
  const handled: string[] = [];
  await target.push(aTask('good'));
  const consumer = await target.consume(({ task }) => {
    handled.push(task.task_id);
    return Promise.resolve();
  });
  await consumer.idle();
  return handled;
}

describe('entries that are no tasks', () => {
  it.each([
    ['text', 'hello CANARY', 'the task is not JSON'],
    ['nothing', '', 'the task is not JSON'],
    ['a number', '17', 'the task is not valid ('],
    ['a list', '[{"task_type":"ai_agent"}]', 'the task is not valid ('],
    ['a text as config', JSON.stringify(aTask(1, { config: 'CANARY' })), 'config is not valid ('],
    ['a list as meta', JSON.stringify(aTask(1, { meta: [1] })), 'meta is not valid ('],
    ['a text as callback', JSON.stringify(aTask(1, { callback: 'http://CANARY' })), 'callback is not valid ('],
    ['an id that is too long', JSON.stringify(aTask('x'.repeat(300))), 'task_id is not valid ('],
    ['a priority that is none', JSON.stringify(aTask(1, { priority: 'high' })), 'priority is not valid ('],
    ['a priority beyond all', JSON.stringify(aTask(1, { priority: 2 ** 21 })), 'priority is not valid ('],
    [
      'deep nesting',
      `{"config":${'{"a":'.repeat(300)}1${'}'.repeat(300)}}`,
      'the task is nested deeper than 200 levels',
    ],
  ])('go to the dead-letter list with the reason: %s', async (_name, raw, issue) => {
    await queue.push(raw);
    expect(await workThrough()).toEqual(['task-good']);
    const dead = await queue.dead();
    expect(dead).toEqual([
      {
        failed_at: matching(/^\d{4}-\d\d-\d\dT/),
        code: 'INPUT_INVALID',
        message: expect.stringContaining(issue) as string,
        hint: matching(/./),
        attempts: 0,
        raw,
      },
    ]);
    expect(dead[0]?.message).not.toContain('CANARY');
    expect(queue.logs.join()).not.toContain('CANARY');
    expect(queue.told).toEqual([]);
  });

  it.each([
    ['a priority that is none', { priority: 'high' }, 'task-1'],
    ['a text as config', { config: 'CANARY' }, 'task-1'],
    ['an id that is too long', { task_id: 'x'.repeat(300) }, matching(/^list-\d+-\d+$/)],
  ])('are answered where they say where: %s', async (_name, more, id) => {
    const callback = { result_key: 'elo:results:1' };
    const task = aTask(1, { callback, ...more });
    await queue.push(task);
    expect(await workThrough()).toEqual(['task-good']);
    expect(queue.told).toMatchObject([
      { attempts: 0, task: { task_id: id, callback, meta: task.meta, config: {} }, error: { code: 'INPUT_INVALID' } },
    ]);
    await untilTrue(async () => (await queue.dead()).length === 1);
    expect(await queue.dead()).toMatchObject([{ code: 'INPUT_INVALID', attempts: 0, raw: JSON.stringify(task) }]);
    expect(queue.logs.join()).not.toContain('CANARY');
  });

  it('are not those that begin with a byte order mark, or have an empty list for a map', async () => {
    await queue.push(`\ufeff${JSON.stringify(aTask(1))}\r\n`, aTask(2, { config: [], callback: [] }));
    expect((await workThrough()).sort()).toEqual(['task-1', 'task-2', 'task-good']);
    expect(await queue.dead()).toEqual([]);
  });

  it('are not guessed at where they are not UTF-8: they are answered, and kept byte for byte', async () => {
    const callback = { result_key: 'elo:results:1' };
    const latin = (task: object): Buffer => Buffer.from(JSON.stringify(task), 'latin1');
    const entries = [
      latin(aTask(1, { callback, config: { message: 'Grüße aus Köln' } })),
      // Whose answer it would be, nobody can tell.
      latin(aTask(2, { callback: { result_key: 'elo:results:Köln' } })),
      latin(aTask(3, { callback, meta: { tenant_id: 'x', user_id: 'Müller' } })),
    ];
    await queue.push(...entries);
    expect(await workThrough()).toEqual(['task-good']);
    const message = 'The task is not valid: the task is not UTF-8.';
    expect(queue.told).toMatchObject([
      { task: { task_id: 'task-1', callback }, error: { code: 'INPUT_INVALID', message } },
    ]);
    await untilTrue(async () => (await queue.dead()).length === 3);
    const kept = (await queue.dead()).map((dead) => Buffer.from(dead.raw_base64 ?? '', 'base64').toString('latin1'));
    expect(kept.sort()).toEqual(entries.map((entry) => entry.toString('latin1')).sort());
  });

  it('are answered although they hold the character that stands for unreadable bytes', async () => {
    const callback = { result_key: 'elo:results:1' };
    await queue.push(aTask(1, { callback, config: 'x', meta: { tenant_id: 'J\ufffdrg' } }));
    expect(await workThrough()).toEqual(['task-good']);
    expect(queue.told).toMatchObject([{ task: { task_id: 'task-1', callback } }]);
  });

  it('are not those whose priority is 0', async () => {
    await queue.push(aTask(1, { priority: 0 }));
    expect((await workThrough()).sort()).toEqual(['task-1', 'task-good']);
  });

  it('keep their bytes', async () => {
    const raw = Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x7d]);
    await queue.push(raw);
    expect(await workThrough()).toEqual(['task-good']);
    const [dead] = await queue.dead();
    expect(Buffer.from(dead?.raw_base64 ?? '', 'base64')).toEqual(raw);
  });

  it('are not kept whole when they are too large', async () => {
    await queue.push(aTask('large', { config: { message: 'x'.repeat(10 * 1024 * 1024) } }));
    expect(await workThrough()).toEqual(['task-good']);
    expect(await queue.dead()).toMatchObject([{ code: 'TASK_TOO_LARGE', is_cut: true, attempts: 0 }]);
    expect((await queue.dead())[0]?.raw).toHaveLength(1024);
  });

  it('are many and do not hold up the line', async () => {
    await queue.push(...Array.from({ length: 500 }, (_, no) => `poison ${no}`));
    expect(await workThrough()).toEqual(['task-good']);
    expect(await queue.dead()).toHaveLength(500);
  });
});

describe('tasks of other types', () => {
  const foreign = Buffer.concat([
    Buffer.from('{ "task_type":"video_render",  "unknown":[1.0, 2e3],"text":"'),
    Buffer.from([0xff, 0xc3, 0x28]),
    Buffer.from('","config":"anything" }'),
  ]);

  it('go to the forward list byte for byte', async () => {
    const forwardList = `${queue.config.list ?? ''}-foreign`;
    const forwarding = testQueue(redis, { forwardList });
    await forwarding.push(foreign, JSON.stringify({ task_type: 'other', blob: 'x'.repeat(2 * 1024 * 1024) }));
    expect(await workThrough(forwarding)).toEqual(['task-good']);
    const [large, small] = await redis.client.lrangeBuffer(forwardList, 0, -1);
    expect(digestOf(small ?? Buffer.alloc(0))).toBe(digestOf(foreign));
    expect(large?.length).toBeGreaterThan(2 * 1024 * 1024);
    expect(await forwarding.dead()).toEqual([]);
    await forwarding.close();
  });

  it('go there as well when only some of ours are done here', async () => {
    const forwardList = `${queue.config.list ?? ''}-foreign`;
    const forwarding = testQueue(redis, { forwardList, taskTypes: ['ai_agent'] });
    await forwarding.push(aTask(1, { task_type: 'llm_extraction' }));
    expect(await workThrough(forwarding)).toEqual(['task-good']);
    expect(await redis.client.llen(forwardList)).toBe(1);
    await forwarding.close();
  });

  it('are handed to the handler when nobody else is configured', async () => {
    await queue.push(aTask('foreign', { task_type: 'video_render' }));
    expect((await workThrough()).sort()).toEqual(['task-foreign', 'task-good']);
  });
});

describe('a Redis that will not do', () => {
  const open = (url: string): Promise<unknown> => startConsumer({ redis: { url } }, parts);

  it('refuses the password', async () => {
    const url = `redis://:CANARY-wrong@127.0.0.1:${redis.port}/0`;
    for (const attempt of [open(url), takeOne({ redis: { url } })]) {
      const error = await attempt.then(
        () => undefined,
        (thrown: unknown) => thrown as Error,
      );
      expect(error).toMatchObject({ code: 'REDIS_AUTH_FAILED' });
      expect(JSON.stringify([error?.message, String(error?.cause)])).not.toContain('CANARY');
    }
    await expect(open(`redis://127.0.0.1:${redis.port}/0`)).rejects.toMatchObject({ code: 'REDIS_AUTH_FAILED' });
  });

  it('holds something else where the tasks should be', async () => {
    const { list = '', failedList = '' } = queue.config;
    for (const key of [list, failedList]) {
      await redis.client.xadd(key, '*', 'a', 'b');
      const refused = { code: 'QUEUE_KEY_UNUSABLE', message: matching(new RegExp(`"${key}" of Redis holds a stream`)) };
      await expect(queue.consume(parts.handle)).rejects.toMatchObject(refused);
      await expect(takeOne(queue.config)).rejects.toMatchObject(refused);
      await expect(openQueueAdmin(queue.config)).rejects.toMatchObject(refused);
      await redis.client.del(key);
    }
    await queue.consume(parts.handle);
    await redis.client.xadd(list, '*', 'a', 'b');
    await untilTrue(() =>
      Promise.resolve(queue.logs.some((line) => line.includes(`${list}\\" of Redis holds a stream`))),
    );
    await redis.client.del(list);
  });

  it('is not there', async () => {
    const error = open(`redis://:CANARY@127.0.0.1:${await freePort()}`);
    await expect(error).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE', message: matching(/ECONNREFUSED/) });
  });

  it('may evict keys', async () => {
    const evicting = await startRedis({ settings: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] });
    await expect(open(evicting.url)).rejects.toMatchObject({
      code: 'QUEUE_REDIS_EVICTS',
      message: matching(/maxmemory-policy allkeys-lru/),
    });
    await evicting.client.config('SET', 'maxmemory', '0');
    const consumer = await startConsumer({ redis: { url: evicting.url } }, parts);
    await consumer.close();
    await evicting.close();
  });

  it('is a replica', async () => {
    const replica = await startRedis({ settings: ['--replicaof', '127.0.0.1', '1'] });
    await expect(open(replica.url)).rejects.toMatchObject({ code: 'QUEUE_REDIS_UNSUITABLE' });
    await replica.close();
  });
});

it.each([
  [{ list: 'a', failedList: 'a' }, 'three different lists'],
  [{ list: 'a', forwardList: 'a' }, 'three different lists'],
  [{ concurrency: 0 }, 'concurrency is not valid ('],
  [{ attempts: 0 }, 'attempts is not valid ('],
  [{ redis: { url: 'CANARY' } }, 'redis.url is not a'],
])('refuses the configuration %j', async (config, issue) => {
  const error = await startConsumer({ redis: { url: redis.url }, ...config }, parts).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(issue) as string });
  expect((error as Error).message).not.toContain('CANARY');
});

it('writes nothing of a task into its log', async () => {
  await queue.push(aTask('quiet', { config: { message: 'CANARY' } }));
  const consumer = await queue.consume(() => Promise.reject(new Error('CANARY')), { attempts: 1 });
  await untilTrue(async () => (await queue.dead()).length === 1);
  await consumer.idle();
  expect(queue.logs.length).toBeGreaterThan(0);
  expect(queue.logs.join()).not.toContain('CANARY');
});
