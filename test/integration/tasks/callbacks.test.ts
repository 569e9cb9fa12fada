import { createHmac, hkdfSync, randomBytes, randomUUID } from 'node:crypto';

import { addTenant, giveTool } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { aTask, failureOf } from '../../support/values/agent-fixture';
import { documentsTask } from '../../support/values/documents-task';
import { type CallbackKeys, callbackKeys, startTaskFixture, type TaskFixture } from '../../support/values/task-fixture';

let fixture: TaskFixture;

beforeAll(async () => {
  fixture = await startTaskFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.models.always(() => textReply('Done.', { prompt: 100, completion: 20 }).body));

const task = (callback: object, meta: object = {}) => {
  const plain = aTask(fixture.tenantId);
  return { ...plain, task_type: 'ai_agent', meta: { ...plain.meta, ...meta }, callback };
};
const all = (keys: CallbackKeys): string[] => [keys.result_key, keys.counter_key, keys.status_key];
const webhook = () => `${fixture.receiver.url}/notify`;

it("does the documents' own task: the result on its key for 300 seconds, and the webhook with the real body", async () => {
  const id = randomUUID();
  const report = await fixture.runtime.handle({
    ...documentsTask(fixture.tenantId, { taskId: `agent_${id}` }),
    trace_id: `trace_${id}`,
    callback: { result_key: `elo:results:trace_${id}`, notify_webhook: webhook() },
  });
  const [stored, ...more] = await fixture.reports(`elo:results:trace_${id}`);
  expect(more).toEqual([]);
  expect(stored).toEqual(report);
  expect(stored).toMatchObject({
    task_id: `agent_${id}`,
    result: { text: 'Done.', tool_calls: [] },
    status: 'completed',
    model_used: 'openai/gpt-4o-mini',
    agent_tier: 'pro',
    iterations: 1,
    tokens: { prompt: 100, completion: 20, total: 120 },
    tokens_used: 120,
    error: null,
    warnings: [],
  });
  const ttl = await fixture.redis.client.ttl(`elo:results:trace_${id}`);
  expect(ttl).toBeGreaterThan(290);
  expect(ttl).toBeLessThanOrEqual(300);
  const [sent, ...others] = fixture.webhooksOf(`agent_${id}`);
  expect(others).toEqual([]);
  expect(JSON.parse(sent?.body ?? '')).toEqual({
    status: 'complete',
    trace_id: `trace_${id}`,
    counter: 1,
    total_tasks: 1,
    task_id: `agent_${id}`,
    result_key: `elo:results:trace_${id}`,
  });
  expect(sent).toMatchObject({
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'idempotency-key': `${fixture.tenantId}/agent_${id}`,
      'x-universal-agent-signature': `sha256=${createHmac('sha256', 'a webhook secret')
        .update(sent?.body ?? '')
        .digest('hex')}`,
    },
  });
});

it('gives back what producers sort answers by, and nothing else of meta', async () => {
  const keys = callbackKeys();
  const meta = { code: 'A1', level: 2, domain_code: 'd', vertical_code: null, secret: 'x', __proto__: { level: 9 } };
  await fixture.runtime.handle(task(keys, meta));
  const [stored] = await fixture.reports(keys.result_key);
  expect(stored).toMatchObject({ code: 'A1', level: 2, domain_code: 'd', vertical_code: null });
  expect(stored).not.toHaveProperty('secret');
});

it('says complete only after the last of the tasks that share a counter, and calls the webhook then', async () => {
  const keys = callbackKeys();
  const both = [1, 2].map(() => task({ ...keys, notify_webhook: webhook() }, { total_tasks: 2 }));
  await fixture.runtime.handle(both[0]);
  expect(await fixture.redis.client.mget(keys.counter_key, keys.status_key)).toEqual(['1', null]);
  expect(both.flatMap(({ task_id }) => fixture.webhooksOf(task_id))).toEqual([]);
  await fixture.runtime.handle(both[1]);
  expect(await fixture.redis.client.mget(keys.counter_key, keys.status_key)).toEqual(['2', 'complete']);
  const ttls = await Promise.all([keys.counter_key, keys.status_key].map((key) => fixture.redis.client.ttl(key)));
  expect(ttls.map((seconds) => Math.round(seconds / 100) * 100)).toEqual([3600, 3600]);
  expect(await fixture.reports(keys.result_key)).toHaveLength(2);
  const sent = both.flatMap(({ task_id }) => fixture.webhooksOf(task_id));
  expect(sent.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([{ counter: 2, total_tasks: 2 }]);
});

it('without a counter every task calls the webhook', async () => {
  const { result_key } = callbackKeys();
  const both = [1, 2].map(() => task({ result_key, notify_webhook: webhook() }, { total_tasks: 2 }));
  for (const each of both) await fixture.runtime.handle(each);
  expect(both.map(({ task_id }) => fixture.webhooksOf(task_id).length)).toEqual([1, 1]);
});

it('writes everything once however many handle the task at the same time', async () => {
  const keys = callbackKeys();
  const one = task({ ...keys, notify_webhook: webhook() });
  const runtimes = [fixture.runtime, fixture.another({})];
  await Promise.all(Array.from({ length: 10 }, () => runtimes.map((runtime) => runtime.handle(one))).flat());
  expect(await fixture.reports(keys.result_key)).toHaveLength(1);
  expect(await fixture.redis.client.mget(keys.counter_key, keys.status_key)).toEqual(['1', 'complete']);
  expect(fixture.webhooksOf(one.task_id)).toHaveLength(1);
  expect(fixture.modelCalls(one.task_id)).toHaveLength(1);
  // The receiver has read the answer and deleted the keys; a late delivery does not bring them back.
  await fixture.redis.client.del(keys.result_key, keys.counter_key, keys.status_key);
  await fixture.runtime.handle(one);
  expect(await fixture.redis.client.exists(keys.result_key, keys.counter_key, keys.status_key)).toBe(0);
  expect(fixture.webhooksOf(one.task_id)).toHaveLength(1);
});

it('keeps the same task id of two tenants apart', async () => {
  const keys = callbackKeys();
  const other = await addTenant(fixture.database);
  const one = task(keys);
  await fixture.runtime.handle(one);
  await fixture.runtime.handle({ ...one, meta: { tenant_id: other } });
  expect(await fixture.reports(keys.result_key)).toHaveLength(2);
});

it('tells of a failure in its own shape when no later attempt comes, once, and only then', async () => {
  const keys = callbackKeys();
  const failing = task(keys, { code: 'A1' });
  fixture.models.script(toolReply([{ name: 'none' }], { prompt: 10, completion: 5 }), {
    status: 401,
    body: { error: { message: 'no' } },
  });
  const error = await failureOf(fixture.runtime.handle(failing));
  expect(error.code).toBe('LLM_AUTH_FAILED');
  expect(await fixture.reports(keys.result_key)).toEqual([]);
  await fixture.runtime.deliverFailure(failing, error);
  await fixture.runtime.deliverFailure(failing, error);
  expect(await fixture.reports(keys.result_key)).toEqual([
    {
      task_id: failing.task_id,
      trace_id: 'trace-1',
      code: 'A1',
      result: null,
      model_used: 'openai/gpt-4o-mini',
      tokens_used: 15,
      duration_ms: expect.any(Number) as number,
      error: error.message,
      error_code: 'LLM_AUTH_FAILED',
      hint: error.hint,
      status: 'failed',
      run_id: expect.any(String) as string,
      agent_tier: 'pro',
      tokens: expect.objectContaining({ total: 15 }) as object,
      cost_usd: '0.00000450',
      iterations: 2,
      tool_calls: [expect.objectContaining({ tool: 'none' })],
    },
  ]);
  expect(await fixture.redis.client.get(keys.counter_key)).toBe('1');
});

it('tells of the failure of a type that nobody knows', async () => {
  const keys = callbackKeys();
  const unknown = { ...task({ ...keys, notify_webhook: webhook() }), task_type: 'make_coffee' };
  const error = await fixture.failFinally(unknown);
  expect(error.code).toBe('TASK_TYPE_UNKNOWN');
  expect(await fixture.reports(keys.result_key)).toMatchObject([
    { result: null, error: 'Unknown task_type: make_coffee', error_code: 'TASK_TYPE_UNKNOWN', tokens_used: 0 },
  ]);
  expect(fixture.webhooksOf(unknown.task_id)).toHaveLength(1);
});

it('never writes to the callback of another request under the same id', async () => {
  const first = task({});
  await fixture.runtime.handle(first);
  const keys = callbackKeys();
  const second = { ...first, config: { ...first.config, message: `Other ${first.task_id}` }, callback: keys };
  const error = await fixture.failFinally(second);
  expect(error.code).toBe('TASK_CONFLICT');
  await fixture.runtime.deliverFailure(second, error);
  expect(await fixture.redis.client.exists(...all(keys))).toBe(0);
});

it('delivers a run that waits for a person, and its answer after the approval, each once', async () => {
  const tenantId = await addTenant(fixture.database, {
    settings: { tool_config: { tool_permissions: { pay_callback: { decision: 'ask' } } } },
  });
  await giveTool(fixture.database, tenantId, { code: 'pay_callback', endpoint: fixture.receiver.url });
  const keys = callbackKeys();
  const asked = { ...task({ ...keys, notify_webhook: webhook() }), meta: { tenant_id: tenantId } };
  fixture.models.script(toolReply([{ name: 'pay_callback' }]), textReply('Paid.'));
  const waiting = await fixture.runtime.handle(asked);
  await fixture.runtime.handle(asked);
  expect(waiting).toMatchObject({ status: 'awaiting_input', awaiting: { tool: 'pay_callback' }, error: null });
  expect(await fixture.redis.client.exists(keys.counter_key, keys.status_key)).toBe(0);
  const approval = { run_id: waiting.run_id, decision: 'approve' };
  for (let time = 1; time <= 2; time++) {
    await fixture.runtime.handle({ ...asked, config: { ...asked.config, approval } });
  }
  const reports = await fixture.reports(keys.result_key);
  expect(reports.map(({ status, result }) => [status, (result as { text: string }).text])).toEqual([
    ['completed', 'Paid.'],
    ['awaiting_input', ''],
  ]);
  expect(await fixture.redis.client.get(keys.counter_key)).toBe('1');
  const bodies = fixture.webhooksOf(asked.task_id).filter(({ path }) => path === '/notify');
  expect(bodies.map(({ body }) => (JSON.parse(body) as { status: string }).status)).toEqual([
    'awaiting_input',
    'complete',
  ]);
  expect(new Set(bodies.map(({ headers }) => headers['idempotency-key'])).size).toBe(2);
});

it('signs with a key made from the vault key, and says so when there is none', async () => {
  const key = randomBytes(32);
  const sealed = fixture.another({ vaultKey: key.toString('base64'), callbacks: { hosts: ['127.0.0.1'] } });
  const signed = task({ ...callbackKeys(), notify_webhook: webhook() });
  await sealed.handle(signed);
  const [sent] = fixture.webhooksOf(signed.task_id);
  const derived = Buffer.from(hkdfSync('sha256', key, '', 'universal-ai-agent/webhook', 32));
  const expected = createHmac('sha256', derived)
    .update(sent?.body ?? '')
    .digest('hex');
  expect(sent?.headers['x-universal-agent-signature']).toBe(`sha256=${expected}`);

  const open = task({ ...callbackKeys(), notify_webhook: webhook() });
  const report = await fixture.another({ callbacks: { hosts: ['127.0.0.1'] } }).handle(open);
  expect(report.warnings).toMatchObject([{ code: 'WEBHOOK_UNSIGNED' }]);
  expect(fixture.webhooksOf(open.task_id)[0]?.headers).not.toHaveProperty('x-universal-agent-signature');
});

it('run writes no callback, and handle needs a Redis for one before anything is spent', async () => {
  const keys = callbackKeys();
  const one = task(keys);
  const { warnings } = await fixture.runtime.run(one);
  expect(warnings).toMatchObject([{ code: 'CALLBACK_NOT_DELIVERED' }]);
  expect(await fixture.redis.client.exists(keys.result_key)).toBe(0);
  const without = fixture.another({ redis: undefined });
  const other = task(keys);
  await expect(failureOf(without.handle(other))).resolves.toMatchObject({ code: 'REDIS_MISSING' });
  expect(fixture.modelCalls(other.task_id)).toEqual([]);
  await expect(without.handle(task({}))).resolves.toMatchObject({ error: null });
});
