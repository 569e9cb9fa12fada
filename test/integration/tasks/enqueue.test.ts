import { randomUUID } from 'node:crypto';

import { useTaskQueue } from '../../../runtime/host';
import { textReply } from '../../support/servers/model-server';
import { freePort } from '../../support/servers/redis';
import { containing, withCode } from '../../support/setup/matchers';
import { failureOf } from '../../support/values/agent-fixture';
import { startTaskFixture, type TaskFixture } from '../../support/values/task-fixture';

let fixture: TaskFixture;

beforeAll(async () => {
  fixture = await startTaskFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.redis.client.del('elo:tasks:pending'));

const LIST = 'elo:tasks:pending';
const pushed = async () =>
  (await fixture.redis.client.lrange(LIST, 0, -1)).map((entry) => JSON.parse(entry) as Record<string, unknown>);
const agentTask = (more: object = {}) => ({
  task_type: 'ai_agent',
  config: { agent_tier: 'pro', message: 'Hello' },
  meta: { tenant_id: fixture.tenantId },
  ...more,
});

it('pushes a task with ids and a place for its answer, which is found there when it is done', async () => {
  const { runtime } = fixture;
  const enqueued = await runtime.enqueue(agentTask({ note: 'for others' }));
  expect(enqueued.result_key).toBe(`elo:results:${enqueued.trace_id}`);
  const [task, ...more] = await pushed();
  expect(more).toEqual([]);
  expect(task).toEqual({
    ...agentTask(),
    note: 'for others',
    task_id: enqueued.task_id,
    trace_id: enqueued.trace_id,
    callback: { result_key: enqueued.result_key },
  });
  const query = { resultKey: enqueued.result_key, taskId: enqueued.task_id, waitSeconds: 20 };
  const waiting = runtime.getResult(query);
  fixture.models.script(textReply('Hi.'));
  const report = await runtime.handle(task);
  await expect(waiting).resolves.toEqual(report);
  // It stays there, for whoever else asks.
  await expect(runtime.getResult({ resultKey: enqueued.result_key })).resolves.toEqual(report);
});

it('leaves ids and callback as they are, and the newest task to the left', async () => {
  const callback = { result_key: 'elo:results:mine', counter_key: 'elo:counter:mine' };
  const given = agentTask({ task_id: 'a', trace_id: 'b', callback, priority: 3 });
  await expect(fixture.runtime.enqueue(given)).resolves.toEqual({
    task_id: 'a',
    trace_id: 'b',
    result_key: 'elo:results:mine',
  });
  await fixture.runtime.enqueue(agentTask({ task_id: 'second' }));
  expect(await pushed()).toMatchObject([{ task_id: 'second' }, given]);
});

it.each([
  ['not an object', 'text', 'INPUT_INVALID', 'the task'],
  ['no message', { config: {} }, 'INPUT_INVALID', 'config.message'],
  ['no tenant', { meta: {} }, 'INPUT_INVALID', 'meta.tenant_id'],
  ['a tenant that is no UUID', { meta: { tenant_id: 'uuid-here' } }, 'TENANT_ID_INVALID', 'uuid-here'],
  ['a config that is a list', { config: [] }, 'INPUT_INVALID', 'config'],
  ['a long id', { task_id: 'x'.repeat(201) }, 'INPUT_INVALID', 'task_id'],
  ['a long trace', { trace_id: 'x'.repeat(101) }, 'INPUT_INVALID', 'trace_id'],
  ['a strange priority', { priority: -1 }, 'INPUT_INVALID', 'priority'],
  ['a forbidden key', { callback: { result_key: LIST } }, 'CALLBACK_KEY_FORBIDDEN', 'result_key'],
  ['a trace that no key can hold', { trace_id: 'a\nb' }, 'CALLBACK_KEY_FORBIDDEN', 'result_key'],
  ['a webhook that is no URL', { callback: { notify_webhook: 'x' } }, 'CALLBACK_HOST_FORBIDDEN', 'URL'],
  ['a request without an address', { task_type: 'http_request' }, 'INPUT_INVALID', 'config.url'],
  ['an extraction without a message', { task_type: 'llm_extraction', config: {} }, 'INPUT_INVALID', 'config.message'],
])('refuses %s, and pushes nothing', async (...[, given, code, part]) => {
  const task = typeof given === 'string' ? given : agentTask(given);
  const error = await failureOf(fixture.runtime.enqueue(task));
  expect(error).toMatchObject({ code, message: containing(part) });
  expect(await pushed()).toEqual([]);
});

it('refuses a task that is nested without end', async () => {
  const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`) as object;
  await expect(fixture.runtime.enqueue(agentTask({ config: { message: 'x', context: deep } }))).rejects.toThrow(
    withCode('INPUT_INVALID'),
  );
});

it('pushes what others do as it is', async () => {
  const foreign = { task_type: 'make_coffee', config: { cups: 2 }, meta: {} };
  await fixture.runtime.enqueue(foreign);
  expect(await pushed()).toMatchObject([foreign]);
});

it('needs Redis only', async () => {
  const config = { redis: { url: fixture.redis.url, rejectUnauthorized: true }, queue: { list: 'elo:tasks:other' } };
  const enqueued = await useTaskQueue(config, ({ enqueue }) => enqueue(agentTask()));
  expect(await fixture.redis.client.llen('elo:tasks:other')).toBe(1);
  const asked = useTaskQueue(config, ({ getResult }) => getResult({ resultKey: enqueued.result_key }));
  await expect(asked).rejects.toThrow(withCode('RESULT_NOT_READY'));
});

it('finds the report of a task among many, and passes over what is none', async () => {
  const key = `elo:results:${randomUUID()}`;
  const entries = Array.from({ length: 250 }, (_, n) => JSON.stringify({ task_id: `t${n}`, result: n }));
  await fixture.redis.client.lpush(key, ...entries, 'not JSON', '"text"', '{}');
  const find = (taskId?: string) => fixture.runtime.getResult({ resultKey: key, taskId });
  await expect(find('t3')).resolves.toMatchObject({ result: 3 });
  await expect(find()).resolves.toMatchObject({ result: 249 });
  await expect(find('t250')).rejects.toThrow(withCode('RESULT_NOT_READY'));
  expect(await fixture.redis.client.llen(key)).toBe(253);
});

it('says how long it has waited, and stops when it is told to', async () => {
  const resultKey = `elo:results:${randomUUID()}`;
  const error = await failureOf(fixture.runtime.getResult({ resultKey, waitSeconds: 0.3 }));
  expect(error).toMatchObject({ code: 'RESULT_NOT_READY', retryable: true });
  // A machine with other things to do waits longer.
  expect(Number(/after ([\d.]+) seconds/.exec(error.message)?.[1])).toBeGreaterThanOrEqual(0.3);
  const stop = new AbortController();
  const waiting = fixture.runtime.getResult({ resultKey, waitSeconds: 600, signal: stop.signal });
  stop.abort();
  await expect(waiting).rejects.toThrow(withCode('RUN_CANCELLED'));
});

it('reads no other keys, and says when there is no list or no Redis', async () => {
  await fixture.redis.client.set('elo:results:text', 'x');
  const ask = (resultKey: string, runtime = fixture.runtime) => failureOf(runtime.getResult({ resultKey }));
  await expect(ask('elo:tasks:pending')).resolves.toMatchObject({ code: 'CALLBACK_KEY_FORBIDDEN' });
  await expect(ask('elo:results:text')).resolves.toMatchObject({ code: 'CALLBACK_KEY_UNUSABLE' });
  const gone = fixture.another({ redis: { url: `redis://127.0.0.1:${await freePort()}` } });
  await expect(ask('elo:results:a', gone)).resolves.toMatchObject({ code: 'REDIS_UNAVAILABLE', retryable: true });
  await expect(gone.enqueue(agentTask())).rejects.toThrow(withCode('REDIS_UNAVAILABLE'));
  await expect(ask('elo:results:a', fixture.another({ redis: undefined }))).resolves.toMatchObject({
    code: 'REDIS_MISSING',
  });
});

it('says what is wrong with a question', async () => {
  const resultKey = 'elo:results:a';
  const questions = [undefined, {}, { resultKey: '' }, { key: resultKey }, { resultKey, taskId: 5 }];
  const times = [-1, NaN, 1e9, '5'].map((waitSeconds) => ({ resultKey, waitSeconds }));
  for (const question of [...questions, ...times]) {
    await expect(fixture.runtime.getResult(question as never)).rejects.toThrow(withCode('INPUT_INVALID'));
  }
});
