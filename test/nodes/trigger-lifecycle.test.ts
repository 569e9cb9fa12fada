import { NodeOperationError } from 'n8n-workflow';

import { startRedis, type TestRedis } from '../support/servers/redis';
import { eventually } from '../support/values/agent-fixture';
import { startTrigger, type TestTrigger, type TriggerOptions } from '../support/worlds/trigger';

const PENDING = 'elo:tasks:pending';
const FAILED = 'elo:tasks:failed';

let redis: TestRedis;
let triggers: TestTrigger[];

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());
beforeEach(async () => {
  triggers = [];
  await redis.client.flushall();
});
afterEach(async () => {
  for (const { emitted, close } of triggers) {
    for (const execution of emitted) execution.end('success');
    await close();
  }
});

async function start(options: Omit<TriggerOptions, 'redis'> = {}): Promise<TestTrigger> {
  const trigger = await startTrigger({ redis, ...options });
  triggers.push(trigger);
  return trigger;
}

async function push(...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const task = {
      task_id: id,
      task_type: 'ai_agent',
      config: {},
      meta: {},
      callback: { result_key: `elo:results:${id}` },
    };
    await redis.client.lpush(PENDING, JSON.stringify(task));
  }
}
const idsOf = (executions: TestTrigger['emitted']): unknown[] => executions.map(({ json }) => json.task_id);
const taken = (): Promise<number> => redis.client.hlen(`${PENDING}:taken`);
const active = (): Promise<number> => redis.client.llen(`${PENDING}:queue:active`);
const none = (count: () => Promise<number>): Promise<true> =>
  eventually(async () => ((await count()) === 0 ? true : undefined));

describe('closing', () => {
  it('takes no more tasks, and the ones under way are acknowledged when they end', async () => {
    const first = await start({ parameters: { parallelTasks: 1 } });
    await push('a', 'b');
    const [running] = await first.started(1);
    const closed = first.close();
    running?.end('success');
    await closed;
    await none(active);
    expect(idsOf(first.emitted)).toEqual(['a']);
    const second = await start();
    expect(idsOf(await second.started(1))).toEqual(['b']);
  });

  it('does not wait for long executions, whose tasks nobody else gets meanwhile', async () => {
    const first = await start({ parameters: { parallelTasks: 1 } });
    await push('long', 'next');
    const [running] = await first.started(1);
    await first.close();
    const second = await start();
    expect(idsOf(await second.started(1))).toEqual(['next']);
    second.emitted[0]?.end('success');
    running?.end('success');
    await none(active);
    expect(idsOf(second.emitted)).toEqual(['next']);
    expect(await redis.client.llen(FAILED)).toBe(0);
  });

  it('may be asked for twice', async () => {
    const trigger = await start();
    await Promise.all([trigger.close(), trigger.close()]);
    await push('a');
    expect(await redis.client.llen(PENDING)).toBe(1);
    expect(trigger.emitted).toEqual([]);
  });
});

it('goes on when Redis was away', async () => {
  const durable = await startRedis({ durable: true });
  try {
    const trigger = await startTrigger({ redis: durable });
    await durable.restart();
    await durable.client.lpush(PENDING, JSON.stringify({ task_id: 'after', task_type: 'ai_agent' }));
    const [execution] = await trigger.started(1);
    expect(execution?.json.task_id).toBe('after');
    execution?.end('success');
    await trigger.close();
  } finally {
    await durable.close();
  }
});

describe('is not activated', () => {
  const refusal = async (options: TriggerOptions): Promise<NodeOperationError> => {
    const error: unknown = await startTrigger(options).catch((thrown: unknown) => thrown);
    if (error instanceof NodeOperationError) return error;
    throw new Error(`was not refused: ${String(error)}`);
  };

  it('with a wrong password, which is said without it', async () => {
    const error = await refusal({ redis: { port: redis.port, password: 'CANARY-wrong' } });
    expect(error.description).toContain('REDIS_AUTH_FAILED');
    expect(JSON.stringify(error) + error.message + String(error.stack)).not.toContain('CANARY-wrong');
  });

  it('where no Redis listens', async () => {
    const error = await refusal({ redis: { port: 1, password: '' } });
    expect(error.description).toContain('REDIS_UNAVAILABLE');
  });

  it('on a Redis that may throw tasks away', async () => {
    const evicting = await startRedis({ settings: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] });
    try {
      const error = await refusal({ redis: evicting });
      expect(error.message).toContain('allkeys-lru');
      expect(error.description).toContain('QUEUE_REDIS_EVICTS');
    } finally {
      await evicting.close();
    }
  });

  it('where the lists are the same', async () => {
    const error = await refusal({ redis, parameters: { forwardList: PENDING } });
    expect(error.description).toContain('CONFIG_INVALID');
  });
});

describe('a test in the editor', () => {
  const test = (parameters = {}): Promise<TestTrigger> => start({ mode: 'manual', parameters });

  it('takes exactly one task and leaves the others', async () => {
    await push('one', 'two', 'three');
    const trigger = await test();
    await trigger.manualTriggerFunction?.();
    await trigger.close();
    expect(idsOf(trigger.emitted)).toEqual(['one']);
    expect(await redis.client.llen(PENDING)).toBe(2);
    trigger.emitted[0]?.end('success');
    await none(taken);
    expect(await redis.client.llen(PENDING)).toBe(2);
  });

  it('waits until there is one', async () => {
    const trigger = await test();
    const manual = trigger.manualTriggerFunction?.();
    await push('late');
    await manual;
    expect(idsOf(trigger.emitted)).toEqual(['late']);
  });

  it('can be closed before the execution ends, as n8n does', async () => {
    await push('one');
    const trigger = await test();
    await trigger.manualTriggerFunction?.();
    await trigger.close();
    expect(await taken()).toBe(1);
    expect(trigger.nothings()).toBe(0);
  });

  it('that is stopped while it waits takes nothing, and n8n does not wait on', async () => {
    const trigger = await test();
    const manual = trigger.manualTriggerFunction?.();
    await trigger.close();
    await manual;
    await push('kept');
    expect(trigger.nothings()).toBeGreaterThan(0);
    expect(await redis.client.llen(PENDING)).toBe(1);
  });

  it('that is cancelled while it runs gives the task back, to be the next one', async () => {
    await push('one', 'two');
    const trigger = await test();
    await trigger.manualTriggerFunction?.();
    trigger.emitted[0]?.end('canceled');
    await none(taken);
    const again = await test();
    await again.manualTriggerFunction?.();
    expect(idsOf(again.emitted)).toEqual(['one']);
    expect(await redis.client.llen('elo:results:one')).toBe(0);
  });

  it('that fails answers the task, or gives it back where only success counts', async () => {
    await push('one', 'two');
    const finishes = await test();
    await finishes.manualTriggerFunction?.();
    finishes.emitted[0]?.end('error', { message: 'no' });
    await none(taken);
    expect(await redis.client.llen('elo:results:one')).toBe(1);

    const succeeds = await test({ acknowledge: 'executionSucceeds' });
    await succeeds.manualTriggerFunction?.();
    succeeds.emitted[0]?.end('error', { message: 'no' });
    await none(taken);
    expect(await redis.client.llen(PENDING)).toBe(1);
    expect(await redis.client.llen('elo:results:two')).toBe(0);
  });

  it('says so when the queue is paused', async () => {
    const { openQueueAdmin } = await import('../../runtime/worker');
    const admin = await openQueueAdmin({ redis: { url: redis.url } });
    await admin.pause();
    await admin.close();
    const trigger = await test();
    await expect(trigger.manualTriggerFunction?.()).rejects.toThrow('paused');
  });

  it('says what is wrong with its options, and takes nothing', async () => {
    await push('kept');
    const trigger = await test({ options: { callbackHosts: 'https://example.com/path' } });
    await expect(trigger.manualTriggerFunction?.()).rejects.toThrow(NodeOperationError);
    expect(trigger.emitted).toEqual([]);
    expect(await taken()).toBe(0);
    expect(await redis.client.llen(PENDING)).toBe(1);
  });

  it('says what is wrong with the Redis', async () => {
    const trigger = await startTrigger({ redis: { port: redis.port, password: 'wrong' }, mode: 'manual' });
    await expect(trigger.manualTriggerFunction?.()).rejects.toThrow(NodeOperationError);
  });
});
