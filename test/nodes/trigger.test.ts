import { consume } from '../../nodes/UniversalAiAgentTrigger/consume';
import type { TriggerParts } from '../../nodes/UniversalAiAgentTrigger/settings';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { eventually } from '../support/values/agent-fixture';
import { startTrigger, type TestTrigger, type TriggerOptions } from '../support/worlds/trigger';

const TENANT = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
const PENDING = 'elo:tasks:pending';
const FAILED = 'elo:tasks:failed';

let redis: TestRedis;
let trigger: TestTrigger | undefined;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());
beforeEach(() => redis.client.flushall());
afterEach(async () => {
  for (const execution of trigger?.emitted ?? []) execution.end('success');
  await trigger?.close();
  trigger = undefined;
});

async function start(options: Omit<TriggerOptions, 'redis'> = {}): Promise<TestTrigger> {
  trigger = await startTrigger({ redis, ...options });
  return trigger;
}

const task = (id: string, more: object = {}): object => ({
  task_id: id,
  task_type: 'ai_agent',
  config: { message: 'hello' },
  meta: { tenant_id: TENANT },
  ...more,
});
const withCallback = (id: string): object => task(id, { trace_id: id, callback: { result_key: `elo:results:${id}` } });
const push = (...tasks: readonly object[]): Promise<number> =>
  redis.client.lpush(PENDING, ...tasks.map((entry) => JSON.stringify(entry)));
const results = (id: string): Promise<object[]> => list(`elo:results:${id}`);
async function list(key: string): Promise<object[]> {
  return (await redis.client.lrange(key, 0, -1)).map((entry) => JSON.parse(entry) as object);
}
/** Everything that Redis holds about tasks that are not done, at one moment: a task may be moved between two questions. */
const left = async (): Promise<number> => {
  const counts = await redis.client
    .multi()
    .llen(PENDING)
    .llen(`${PENDING}:ingress`)
    .hlen(`${PENDING}:taken`)
    .hlen(`${PENDING}:dying`)
    .llen(`${PENDING}:queue:wait`)
    .llen(`${PENDING}:queue:active`)
    .zcard(`${PENDING}:queue:delayed`)
    .exec();
  return (counts ?? []).reduce((sum, [, count]) => sum + Number(count), 0);
};
const noneLeft = (): Promise<true> => eventually(async () => ((await left()) === 0 ? true : undefined));

it('emits each task as it came, with its ids and its delivery', async () => {
  const { started } = await start();
  await push(task('t1', { callback: { result_key: 'elo:results:x' }, priority: 3 }));
  await redis.client.lpush(PENDING, JSON.stringify({ ...task(''), task_id: undefined }));
  const executions = await started(2);
  const first = executions.find(({ json }) => json.task_id === 't1');
  expect(first?.json).toEqual({
    ...task('t1', { callback: { result_key: 'elo:results:x' }, priority: 3 }),
    trace_id: expect.any(String) as string,
    delivery: { attempt: 1, max_attempts: 8, acknowledge: 'executionFinishes' },
  });
  expect(executions.find(({ json }) => json.task_id !== 't1')?.json.task_id).toEqual(expect.stringMatching(/./));
});

it('leaves in the item what only others know, but nothing of it becomes the prototype', async () => {
  const { started } = await start();
  const own = '"payload":{"to":"+49"},"created_at":"now","delivery":{"attempt":9}';
  await redis.client.lpush(PENDING, `{"task_type":"send_sms",${own},"__proto__":{"task_id":"evil","priority":7}}`);
  const [execution] = await started(1);
  expect(execution?.json).toMatchObject({
    task_type: 'send_sms',
    payload: { to: '+49' },
    created_at: 'now',
    delivery: { attempt: 1 },
  });
  expect(execution?.json.task_id).not.toBe('evil');
  expect(execution?.json).not.toHaveProperty('priority', 7);
});

it('writes no line for each task to the log of n8n', async () => {
  const lines: string[] = [];
  const logAs = (level: string) => (message: string) => lines.push(`${level}: ${message}`);
  const logger = { debug: logAs('debug'), info: logAs('info'), warn: logAs('warn'), error: logAs('error') };
  const context = { logger, helpers: {}, emit: () => undefined } as unknown as TriggerParts['context'];
  const { closeFunction } = await consume({
    context,
    library: await import('../../runtime/worker'),
    settings: {
      consumer: { redis: { url: redis.url }, list: PENDING, failedList: FAILED, concurrency: 1 },
      callbacks: {},
      acknowledge: 'immediately',
      timeoutMs: 60_000,
    },
  });
  await push(task('quiet'));
  expect(await eventually(() => Promise.resolve(lines.find((line) => line.includes('task '))))).toMatch(/^debug: /);
  await closeFunction?.();
  expect(lines.filter((line) => line.startsWith('info'))).toEqual([]);
});

describe('acknowledged when the execution finishes', () => {
  it.each(['success', 'waiting'] as const)('a task is done with status %s', async (status) => {
    const { started } = await start();
    await push(task('done'));
    (await started(1))[0]?.end(status);
    await noneLeft();
    expect(await list(FAILED)).toEqual([]);
  });

  it('a task is done with an error too, and is answered with it', async () => {
    const { started, emitted } = await start();
    await push(withCallback('wrong'));
    (await started(1))[0]?.end('error', { message: 'Node "Mail" failed.' });
    await noneLeft();
    expect(await results('wrong')).toMatchObject([
      {
        result: null,
        error_code: 'EXECUTION_FAILED',
        error: 'The execution of the workflow failed: Node "Mail" failed.',
      },
    ]);
    expect(await list(FAILED)).toEqual([]);
    expect(emitted).toHaveLength(1);
  });

  it.each([
    ['it was cancelled', (execution: TestTrigger['emitted'][number]) => execution.end('canceled')],
    ['n8n lost it', (execution: TestTrigger['emitted'][number]) => execution.lose('job stalled')],
    [
      'another attempt was still running',
      (execution: TestTrigger['emitted'][number]) =>
        execution.end('error', { message: 'It runs.', description: 'Wait and ask again. (TASK_RUNNING)' }),
    ],
  ])('starts another execution when %s, and answers nothing meanwhile', async (_when, happen) => {
    const { started } = await start();
    await push(withCallback('again'));
    const [first] = await started(1);
    if (first !== undefined) happen(first);
    const [, second] = await started(2);
    expect(second?.json).toMatchObject({ task_id: 'again' });
    expect(await results('again')).toEqual([]);
    second?.end('success');
    await noneLeft();
    expect(await list(FAILED)).toEqual([]);
  });

  it('tells the next execution of a task that it is tried again for its webhook', async () => {
    const { started } = await start();
    await push(withCallback('webhook'));
    const description = 'See whether the receiver runs. (CALLBACK_FAILED)';
    (await started(1))[0]?.end('error', { message: 'The webhook of the callback failed.', description });
    const [, second] = await started(2);
    expect(second?.json.delivery).toMatchObject({ attempt: 2, last_error: 'CALLBACK_FAILED' });
    second?.end('success');
    await noneLeft();
  });

  it('gives up a task whose executions are lost again and again, with an answer and an entry on the failed list', async () => {
    const { started } = await start({ parameters: { options: { attempts: 2 } } });
    await push(withCallback('crash'));
    for (let count = 1; count <= 2; count++) (await started(count))[count - 1]?.lose('job stalled');
    await noneLeft();
    expect(await list(FAILED)).toMatchObject([{ task_id: 'crash', code: 'EXECUTION_LOST', attempts: 2 }]);
    expect(await results('crash')).toMatchObject([{ error_code: 'EXECUTION_LOST' }]);
  });
});

describe('acknowledged when the execution succeeds', () => {
  const parameters = { acknowledge: 'executionSucceeds', options: { attempts: 2 } };

  it('a task is tried again after an error, and in the end fails with it', async () => {
    const { started } = await start({ parameters });
    await push(withCallback('twice'));
    (await started(1))[0]?.end('error', { message: 'first' });
    const [, second] = await started(2);
    expect(second?.json.delivery).toEqual({
      attempt: 2,
      max_attempts: 2,
      acknowledge: 'executionSucceeds',
      last_error: 'EXECUTION_FAILED',
    });
    expect(await results('twice')).toEqual([]);
    second?.end('error', { message: 'second' });
    await noneLeft();
    expect(await list(FAILED)).toMatchObject([{ task_id: 'twice', code: 'EXECUTION_FAILED' }]);
    expect(await results('twice')).toMatchObject([{ error: expect.stringContaining('second') as string }]);
  });

  it('a task fails at once after an error of the agent that no other try mends', async () => {
    const { started, emitted } = await start({ parameters });
    await push(withCallback('final'));
    const error = { message: 'Tier "gold" is not configured.', description: 'Use a known tier. (TIER_UNKNOWN)' };
    (await started(1))[0]?.end('error', error);
    await noneLeft();
    expect(await list(FAILED)).toMatchObject([{ code: 'TIER_UNKNOWN', message: error.message, attempts: 1 }]);
    expect(emitted).toHaveLength(1);
  });

  it('a failure that the node has answered is not answered again', async () => {
    const { started } = await start({ parameters });
    await push(withCallback('told'));
    const [execution] = await started(1);
    const { createFailureDelivery, RuntimeError } = await import('../../runtime/worker');
    const node = createFailureDelivery({ redis: { url: redis.url } });
    await node.deliver(withCallback('told'), new RuntimeError('TIER_UNKNOWN', { tier: 'gold', knownTiers: 'nano' }));
    await node.close();
    execution?.end('error', { message: 'no', description: 'x (TIER_UNKNOWN)' });
    await noneLeft();
    expect(await results('told')).toMatchObject([{ error: expect.stringContaining('gold') as string }]);
  });
});

it('acknowledged at once, a task is done while its execution runs', async () => {
  const { started } = await start({ parameters: { acknowledge: 'immediately' } });
  await push(task('quick'));
  const [execution] = await started(1);
  expect(execution?.isWaitedFor).toBe(false);
  await noneLeft();
});

it('runs no more executions at a time than it may', async () => {
  const { started, emitted } = await start({ parameters: { parallelTasks: 2 } });
  await push(task('a'), task('b'), task('c'));
  const [first] = await started(2);
  await eventually(async () => ((await redis.client.llen(`${PENDING}:queue:wait`)) === 1 ? true : undefined));
  expect(emitted).toHaveLength(2);
  first?.end('success');
  expect(await started(3)).toHaveLength(3);
});

it('leaves tasks of other types to others, byte for byte', async () => {
  const { started, emitted } = await start({ parameters: { taskTypes: ['ai_agent'], forwardList: 'elo:tasks:other' } });
  const foreign = '{"task_type" : "llm_extraction",  "config":{"x":1}, "own": [1.0]}';
  await redis.client.lpush(PENDING, foreign);
  await push(task('mine'));
  expect((await started(1))[0]?.json.task_id).toBe('mine');
  expect(await eventually(async () => (await redis.client.rpop('elo:tasks:other')) ?? undefined)).toBe(foreign);
  expect(emitted).toHaveLength(1);
});

it('starts the workflow for tasks of other types where there is no list for them', async () => {
  const { started } = await start({ parameters: { taskTypes: ['ai_agent'] } });
  await push(task('other', { task_type: 'llm_extraction' }));
  expect((await started(1))[0]?.json).toMatchObject({ task_id: 'other', task_type: 'llm_extraction' });
});
