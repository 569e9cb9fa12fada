import dns from 'node:dns';
import type { LookupFunction } from 'node:net';

import { RuntimeError } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { sendJson } from '../../support/servers/http-server';
import { textReply } from '../../support/servers/model-server';
import { containing, withCode } from '../../support/setup/matchers';
import { aTask, eventually, failureOf, gate } from '../../support/values/agent-fixture';
import { callbackKeys, startTaskFixture, type TaskFixture } from '../../support/values/task-fixture';

let fixture: TaskFixture;
let answer: TaskFixture['receiver']['answer'];
/** Names as an attacker has them resolve. */
const NAMES: Readonly<Record<string, string>> = { 'inside.test': '127.0.0.1' };

beforeAll(async () => {
  fixture = await startTaskFixture();
  ({ answer } = fixture.receiver);
  const original = dns.lookup as unknown as LookupFunction;
  const lookup: LookupFunction = (host, options, callback) => {
    const address = NAMES[host];
    if (address === undefined) return original(host, options, callback);
    callback(null, [{ address, family: 4 }]);
  };
  jest.spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup);
});
afterAll(async () => {
  jest.restoreAllMocks();
  await fixture.close();
});
beforeEach(() => {
  fixture.receiver.answer = answer;
  fixture.models.always(() => textReply('Done.').body);
});

const task = (callback: object, tenantId = fixture.tenantId) => ({ ...aTask(tenantId), callback });
const webhook = () => `${fixture.receiver.url}/notify`;
const statuses =
  (...queue: number[]): typeof answer =>
  (_request, response) =>
    sendJson(response, {}, queue.shift() ?? 200);

/** How many scripts Redis has run. */
const scripts = async () =>
  Number(/cmdstat_evalsha:calls=(\d+)/.exec(await fixture.redis.client.info('commandstats'))?.[1] ?? 0);

it('calls a webhook again that fails at first', async () => {
  const keys = callbackKeys();
  const one = task({ ...keys, notify_webhook: webhook() });
  fixture.receiver.answer = statuses(500, 500);
  await fixture.runtime.handle(one);
  const sent = fixture.webhooksOf(one.task_id);
  expect(sent).toHaveLength(3);
  expect(new Set(sent.map(({ headers, body }) => `${String(headers['idempotency-key'])} ${body}`)).size).toBe(1);
});

it('a webhook that fails for good leaves the result stored, and the next attempt sends the webhook only', async () => {
  const keys = callbackKeys();
  const one = task({ ...keys, notify_webhook: webhook() });
  fixture.receiver.answer = statuses(503, 503, 503);
  const error = await fixture.failFinally(one);
  expect(error).toMatchObject({ code: 'CALLBACK_FAILED', retryable: true });
  expect(await fixture.reports(keys.result_key)).toMatchObject([{ error: null }]);
  // What went wrong is the webhook: there is no failure of the task to tell of.
  await fixture.runtime.deliverFailure(one, error);
  expect(fixture.webhooksOf(one.task_id)).toHaveLength(3);
  await fixture.runtime.handle(one);
  expect(fixture.webhooksOf(one.task_id)).toHaveLength(4);
  expect(await fixture.reports(keys.result_key)).toHaveLength(1);
  expect(fixture.modelCalls(one.task_id)).toHaveLength(1);
});

it.each([301, 308, 400, 404, 410])(
  'a webhook answered %s is sent once: the result is stored, and nothing is tried again',
  async (status) => {
    const keys = callbackKeys();
    const one = task({ ...keys, notify_webhook: webhook() });
    fixture.receiver.answer = statuses(...Array<number>(9).fill(status));
    const error = await fixture.failFinally(one);
    expect(error).toMatchObject({ code: 'CALLBACK_REFUSED', retryable: false, message: containing(`HTTP ${status}`) });
    expect(await fixture.reports(keys.result_key)).toMatchObject([{ error: null }]);
    await fixture.runtime.deliverFailure(one, error);
    expect(fixture.webhooksOf(one.task_id)).toHaveLength(1);
  },
);

it.each([408, 425, 429])('a webhook answered %s is sent again', async (status) => {
  const one = task({ ...callbackKeys(), notify_webhook: webhook() });
  fixture.receiver.answer = statuses(status);
  await fixture.runtime.handle(one);
  expect(fixture.webhooksOf(one.task_id)).toHaveLength(2);
});

it('does not wait longer than five seconds for a webhook', async () => {
  const one = task({ ...callbackKeys(), notify_webhook: webhook() });
  let asked = 0;
  fixture.receiver.answer = (_request, response) => {
    // The first one hangs.
    if (++asked > 1) sendJson(response, {});
  };
  await fixture.runtime.handle(one);
  expect(fixture.webhooksOf(one.task_id)).toHaveLength(2);
});

it('a second attempt waits for the webhook that the first one is sending, and sends no other', async () => {
  const one = task({ ...callbackKeys(), notify_webhook: webhook() });
  const arrived = gate();
  const answered = gate();
  fixture.receiver.answer = async (_request, response) => {
    arrived.open();
    await answered.opened;
    sendJson(response, {});
  };
  const first = fixture.runtime.handle(one);
  await arrived.opened;
  const before = await scripts();
  let isDone = false;
  const second = fixture
    .another({})
    .handle(one)
    .then(() => (isDone = true));
  // Its report was refused, and so was the webhook, at least once.
  await eventually(async () => ((await scripts()) >= before + 3 ? true : undefined));
  expect(isDone).toBe(false);
  answered.open();
  await Promise.all([first, second]);
  expect(fixture.webhooksOf(one.task_id)).toHaveLength(1);
});

it('a cancelled delivery ends between the tries, and leaves the webhook to the next', async () => {
  const one = task({ ...callbackKeys(), notify_webhook: webhook() });
  const stop = new AbortController();
  fixture.receiver.answer = (_request, response) => {
    stop.abort();
    sendJson(response, {}, 500);
  };
  await expect(failureOf(fixture.runtime.handle(one, { signal: stop.signal }))).resolves.toMatchObject({
    code: 'RUN_CANCELLED',
  });
  expect(fixture.webhooksOf(one.task_id)).toHaveLength(1);
  fixture.receiver.answer = answer;
  await fixture.runtime.handle(one);
  expect(fixture.webhooksOf(one.task_id)).toHaveLength(2);
});

it('a task that is tried again after its failure was told of delivers its success, once, and is counted once', async () => {
  const keys = callbackKeys();
  const one = task({ ...keys, notify_webhook: webhook() });
  const refusal = { status: 401, body: { error: { message: 'no' } } };
  fixture.models.script(refusal, refusal);
  await fixture.failFinally(one);
  await fixture.failFinally(one);
  expect(await fixture.reports(keys.result_key)).toHaveLength(1);
  expect(fixture.webhooksOf(one.task_id)).toHaveLength(1);
  // As `queue retry-failed` has it done, and then the queue once more.
  await fixture.runtime.handle(one);
  await fixture.another({}).handle(one);
  await fixture.runtime.deliverFailure(one, new RuntimeError('TASK_CRASHED', { tries: 1 }));
  expect(await fixture.reports(keys.result_key)).toMatchObject([
    { result: { text: 'Done.' }, error: null },
    { result: null, error_code: 'LLM_AUTH_FAILED' },
  ]);
  expect(await fixture.redis.client.ttl(keys.result_key)).toBeGreaterThan(0);
  expect(await fixture.redis.client.mget(keys.counter_key, keys.status_key)).toEqual(['1', 'complete']);
  const told = `${fixture.tenantId}/${one.task_id}`;
  const sent = fixture.webhooksOf(one.task_id).map(({ headers }) => headers['idempotency-key']);
  expect(sent).toEqual([told, `${told}/retried`]);
});

it('what is known of a delivery does not stay for ever when it was lost in between', async () => {
  const one = task({ ...callbackKeys(), notify_webhook: webhook() });
  const { client } = fixture.redis;
  await client.del(...(await client.keys('elo:agent:delivered:*')), 'none');
  fixture.receiver.answer = async (_request, response) => {
    await client.del(await client.keys('elo:agent:delivered:*'));
    sendJson(response, {});
  };
  await fixture.runtime.handle(one);
  const [marker = '', ...more] = await client.keys('elo:agent:delivered:*');
  expect(more).toEqual([]);
  expect(await client.ttl(marker)).toBeGreaterThan(0);
});

it('does not follow redirects', async () => {
  const one = task({ ...callbackKeys(), notify_webhook: webhook() });
  fixture.receiver.answer = ({ path }, response) => {
    response.writeHead(path === '/notify' ? 307 : 200, { location: '/elsewhere' }).end();
  };
  const error = await failureOf(fixture.runtime.handle(one));
  expect(error).toMatchObject({ code: 'CALLBACK_REFUSED' });
  expect(error.message).toContain('HTTP 307');
  expect(fixture.webhooksOf(one.task_id).map(({ path }) => path)).toEqual(['/notify']);
});

const FORBIDDEN_KEYS = [
  ['result_key', 'elo:tasks:pending'],
  ['result_key', 'elo:results:'],
  ['result_key', 'elo:results:a\nb'],
  ['result_key', `elo:results:${'x'.repeat(600)}`],
  ['counter_key', 'ELO:counter:a'],
  ['status_key', 'bull:elo:1'],
  ['status_key', '__proto__'],
] as const;

it.each(FORBIDDEN_KEYS)('refuses %s %j before anything is spent, and writes nothing', async (field, key) => {
  const one = task({ [field]: key });
  const error = await fixture.failFinally(one);
  expect(error).toMatchObject({ code: 'CALLBACK_KEY_FORBIDDEN', retryable: false });
  expect(error.message).toContain(field);
  expect(fixture.modelCalls(one.task_id)).toEqual([]);
  expect(await fixture.redis.client.exists(key)).toBe(0);
});

it("refuses the queue's own keys whatever prefixes are allowed, and one key for two purposes", async () => {
  const callbacks = { keyPrefixes: ['elo:'], hosts: ['127.0.0.1'] };
  const wide = fixture.another({ callbacks, queue: { forwardList: 'elo:others' } });
  for (const callback of [
    { result_key: 'elo:tasks:pending' },
    { status_key: 'elo:tasks:failed' },
    { result_key: 'elo:tasks:pending:ingress' },
    { counter_key: 'elo:tasks:failed:x' },
    { result_key: 'elo:others' },
    { result_key: 'elo:agent:delivered:x' },
    { result_key: 'elo:results:same', counter_key: 'elo:results:same' },
  ]) {
    await expect(wide.handle(task(callback))).rejects.toThrow(withCode('CALLBACK_KEY_FORBIDDEN'));
  }
});

it.each([
  ['http://10.0.0.1/'],
  ['http://user:secret@127.0.0.1/'],
  ['ftp://127.0.0.1/'],
  ['nonsense'],
  ['https://example.com/'],
])(
  'with a list of hosts, %s is refused before anything is spent; the failure is written, but not sent',
  async (url) => {
    const keys = callbackKeys();
    const one = task({ ...keys, notify_webhook: url });
    const error = await fixture.failFinally(one);
    expect(error).toMatchObject({ code: 'CALLBACK_HOST_FORBIDDEN' });
    expect(error.message).not.toContain('secret');
    expect(fixture.modelCalls(one.task_id)).toEqual([]);
    expect(await fixture.reports(keys.result_key)).toMatchObject([{ error_code: 'CALLBACK_HOST_FORBIDDEN' }]);
  },
);

it.each(['http://127.0.0.1:1/', 'http://[::ffff:127.0.0.1]/', 'http://localhost/', 'http://inside.test/'])(
  'without a list, %s is refused',
  async (url) => {
    const one = task({ ...callbackKeys(), notify_webhook: url });
    await expect(fixture.another({ callbacks: {} }).handle(one)).rejects.toThrow(withCode('CALLBACK_HOST_FORBIDDEN'));
    expect(fixture.modelCalls(one.task_id)).toEqual([]);
  },
);

it("goes to the tenant's own callback_hosts, which only a proper list can be", async () => {
  const without = fixture.another({ callbacks: {} });
  const tenantId = await addTenant(fixture.database, { settings: { callback_hosts: ['127.0.0.1'] } });
  const allowed = task({ ...callbackKeys(), notify_webhook: webhook() }, tenantId);
  await without.handle(allowed);
  expect(fixture.webhooksOf(allowed.task_id)).toHaveLength(1);
  const elsewhere = task({ ...callbackKeys(), notify_webhook: 'https://example.com/' }, tenantId);
  await expect(without.handle(elsewhere)).rejects.toThrow(withCode('CALLBACK_HOST_FORBIDDEN'));
  for (const callback_hosts of ['127.0.0.1', [1], ['a/b']]) {
    const broken = await addTenant(fixture.database, { settings: { callback_hosts } });
    const one = task({ ...callbackKeys(), notify_webhook: webhook() }, broken);
    await expect(fixture.runtime.handle(one)).rejects.toThrow(withCode('SETTING_INVALID'));
    expect(fixture.modelCalls(one.task_id)).toEqual([]);
  }
});

it("asks the host's own rules too", async () => {
  const one = task({ ...callbackKeys(), notify_webhook: webhook() });
  const egress = {
    validateUrl: () => Promise.resolve({ ok: false }),
    createSecureLookup: () => dns.lookup as unknown as LookupFunction,
  };
  await expect(fixture.runtime.handle(one, { egress })).rejects.toThrow(withCode('CALLBACK_HOST_FORBIDDEN'));
  expect(fixture.webhooksOf(one.task_id)).toEqual([]);
});

it.each([
  ['result_key', (key: string) => fixture.redis.client.set(key, 'text')],
  ['counter_key', (key: string) => fixture.redis.client.lpush(key, 'entry')],
  ['counter_key', (key: string) => fixture.redis.client.set(key, 'seven')],
  ['counter_key', (key: string) => fixture.redis.client.set(key, '007')],
  ['status_key', (key: string) => fixture.redis.client.hset(key, 'a', 1)],
] as const)('writes nothing at all when %s holds something else', async (field, put) => {
  const keys = callbackKeys();
  await put(keys[field]);
  const before = await fixture.redis.client.dump(keys[field]);
  const one = task({ ...keys, notify_webhook: webhook() });
  const error = await failureOf(fixture.runtime.handle(one));
  expect(error).toMatchObject({ code: 'CALLBACK_KEY_UNUSABLE', retryable: false });
  expect(error.message).toContain(keys[field]);
  expect(await fixture.redis.client.exists(keys.result_key, keys.counter_key, keys.status_key)).toBe(1);
  expect(await fixture.redis.client.dump(keys[field])).toEqual(before);
  expect(fixture.webhooksOf(one.task_id)).toEqual([]);
  // Put right, it is delivered, from the run that is stored.
  await fixture.redis.client.del(keys[field]);
  await fixture.runtime.handle(one);
  expect(await fixture.reports(keys.result_key)).toHaveLength(1);
  expect(fixture.modelCalls(one.task_id)).toHaveLength(1);
});

it.each([0.5, -1, 'two', true, 2_000_000])('refuses total_tasks %j', async (total_tasks) => {
  const keys = callbackKeys();
  const callback = { ...keys, notify_webhook: webhook() };
  const one = { ...task(callback), meta: { tenant_id: fixture.tenantId, total_tasks } };
  const error = await fixture.failFinally(one);
  expect(error).toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringContaining('meta.total_tasks') as string,
  });
  expect(fixture.modelCalls(one.task_id)).toEqual([]);
  expect(await fixture.reports(keys.result_key)).toMatchObject([{ error_code: 'INPUT_INVALID' }]);
  // Nobody knows when that group is complete.
  expect(await fixture.redis.client.mget(keys.counter_key, keys.status_key)).toEqual(['1', null]);
  expect(fixture.webhooksOf(one.task_id)).toEqual([]);
});

it('delivers once when Redis goes away while the task is done and comes back with what it had', async () => {
  const keys = callbackKeys();
  const one = task({ ...keys, notify_webhook: webhook() });
  fixture.models.script(async (_request, response) => {
    await fixture.redis.restart();
    sendJson(response, textReply('Done.').body);
  });
  await fixture.runtime.handle(one);
  await fixture.redis.restart('SIGKILL');
  await fixture.runtime.handle(one);
  expect(await fixture.reports(keys.result_key)).toHaveLength(1);
  expect(await fixture.redis.client.get(keys.counter_key)).toBe('1');
  expect(fixture.webhooksOf(one.task_id)).toHaveLength(1);
});

it('says that Redis is away, and that another attempt may help', async () => {
  const gone = fixture.another({ redis: { url: 'redis://:CANARY-secret@127.0.0.1:1/0' } });
  const error = await failureOf(gone.handle(task(callbackKeys())));
  expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', retryable: true });
  expect(error.message).not.toContain('CANARY');
});
