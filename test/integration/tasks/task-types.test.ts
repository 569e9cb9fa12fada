import { randomUUID } from 'node:crypto';

import type { TaskReport } from '../../../runtime';
import { createRedisConnection } from '../../../runtime/storage/redis/connection';
import { createRedisRequests } from '../../../runtime/storage/redis/request-store';
import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing, withCode } from '../../support/setup/matchers';
import { failureOf, gate } from '../../support/values/agent-fixture';
import { callbackKeys, startTaskFixture, type TaskFixture } from '../../support/values/task-fixture';

let fixture: TaskFixture;
let answer: TaskFixture['receiver']['answer'];

beforeAll(async () => {
  fixture = await startTaskFixture();
  ({ answer } = fixture.receiver);
});
afterAll(() => fixture.close());
beforeEach(() => {
  fixture.receiver.answer = answer;
});

const task = (task_type: string, config: object, more: object = {}) => ({
  task_id: randomUUID(),
  trace_id: 'trace-1',
  task_type,
  config,
  meta: { tenant_id: fixture.tenantId },
  ...more,
});
const extraction = (config: object, more: object = {}) =>
  task('llm_extraction', { agent_tier: 'pro', message: 'I am Ann', ...config }, more);
const SCHEMA = { type: 'object', properties: { value: { type: 'boolean' } }, required: ['value'] };

describe('llm_extraction', () => {
  it('gives the JSON without the thoughts, billed as a task of its own type', async () => {
    const keys = callbackKeys();
    const one = extraction({ output_schema: SCHEMA }, { callback: keys });
    fixture.models.script(textReply('<think>{"value": 1}</think>Here: ```json\n{"value":true}\n```', { prompt: 1000 }));
    const report = await fixture.runtime.handle(one);
    expect(report).toMatchObject({
      result: { value: true },
      error: null,
      model_used: 'openai/gpt-4o-mini',
      tokens_used: 1020,
      status: 'completed',
    });
    expect(await fixture.reports(keys.result_key)).toEqual([report]);
    expect(await fixture.usageRows(one.task_id)).toMatchObject([{ task_type: 'llm_extraction', total_tokens: 1020 }]);
  });

  it('asks as the task says: prompt, schema, examples, temperature and length; no tools', async () => {
    fixture.models.script(textReply('{}'));
    await fixture.runtime.handle(
      extraction({
        prompt: 'Read: {{message}} ({{ message }})',
        message: "$& $1 {{message}} it's Ann",
        system_prompt: 'You are a reader.',
        output_schema: { name: 'text' },
        examples: [{ input: 'I am Bob', output: { name: 'Bob' } }, 'plain'],
        negative_examples: [{ name: 5 }],
        model: 'openai:gpt-4o',
      }),
    );
    const request = fixture.models.received.at(-1);
    expect(request).toMatchObject({ model: 'openai/gpt-4o', temperature: 0.1, max_tokens: 500 });
    expect(request).not.toHaveProperty('tools');
    const [system, user] = request?.messages ?? [];
    const message = "$& $1 {{message}} it's Ann";
    expect(user?.content).toBe(`Read: ${message} (${message})`);
    expect(system?.content).toBe(
      [
        'You are a reader.',
        'Answer with JSON and nothing else.',
        'The JSON has this form:\n{"name":"text"}',
        'Examples:\n- {"input":"I am Bob","output":{"name":"Bob"}}\n- plain',
        'Examples of what is wrong:\n- {"name":5}',
      ].join('\n\n'),
    );
  });

  it.each([
    ['I cannot say.', 'it holds no JSON'],
    ['{"value": "yes"}', 'value must be boolean'],
    ['{"value": tru', 'it holds no JSON'],
  ])('%s: gives the raw text and what is wrong with it, as a task that is done', async (text, reason) => {
    const one = extraction({ output_schema: SCHEMA }, { callback: callbackKeys() });
    fixture.models.script(textReply(text));
    const report = await fixture.runtime.handle(one);
    expect(report).toMatchObject({
      result: { raw: text, parse_error: containing(reason) },
      error: containing(reason),
      error_code: 'MODEL_OUTPUT_INVALID',
      status: 'completed',
    });
    await expect(fixture.runtime.handle(one)).resolves.toMatchObject({ replayed: true });
    expect(await fixture.usageRows(one.task_id)).toMatchObject([{ model_calls: 1 }]);
  });

  it.each([
    [0.4, true],
    [0.9, undefined],
  ])('marks a confidence of %d beside the 0.8 that was asked', async (confidence, isLow) => {
    fixture.models.script(textReply(JSON.stringify({ name: 'Ann', confidence })));
    const report = await fixture.runtime.handle(extraction({ min_confidence: 0.8 }));
    expect(report.result).toEqual({ name: 'Ann', confidence });
    expect(report.low_confidence).toBe(isLow);
  });

  it('has no tools even where the tenant has, and the model asks for one', async () => {
    const tenant_id = await addTenant(fixture.database);
    await giveTool(fixture.database, tenant_id, { code: 'extract_tool', endpoint: `${fixture.receiver.url}/tool` });
    fixture.models.script(toolReply([{ name: 'extract_tool' }]), textReply('{"a":1}'));
    const report = await fixture.runtime.handle(extraction({ tools: ['extract_tool'] }, { meta: { tenant_id } }));
    expect(report).toMatchObject({ result: { a: 1 } });
    expect(fixture.models.received.at(-1)).not.toHaveProperty('tools');
    expect(sentTo('/tool')).toEqual([]);
  });

  it.each([
    [{ message: '' }, 'config.message'],
    [{ min_confidence: 5 }, 'config.min_confidence'],
    [{ examples: 'x' }, 'config.examples'],
    [{ output_schema: { type: 'object', properties: { a: 'string' } } }, 'config.output_schema'],
    [{ output_schema: { type: 'string', pattern: '(a{1000}){1000}' } }, 'its patterns are larger than'],
    [{ temperature: 9 }, 'config.temperature'],
  ])('refuses %j before it asks a model', async (config, field) => {
    const asked = fixture.models.received.length;
    const error = await failureOf(fixture.runtime.handle(extraction(config)));
    expect(error).toMatchObject({ code: 'INPUT_INVALID', message: containing(field) });
    expect(fixture.models.received).toHaveLength(asked);
  });

  it('refuses a prompt with so many places that the message would fill the memory', async () => {
    const config = { message: 'm'.repeat(100_000), prompt: '{{message}}'.repeat(1000) };
    const error = await failureOf(fixture.runtime.handle(extraction(config)));
    expect(error).toMatchObject({ code: 'INPUT_INVALID', message: containing('config.prompt is longer than') });
  });

  it.each([[{ prompt: 'Read {{who}}: {{message}}' }], [{}]])(
    'takes no text for a template of variables: %j',
    async (more) => {
      const given = { message: 'I am {{who}}', examples: ['{{who}}'], system_prompt: 'Read {{who}}.' };
      const variables = { variables: { who: 'Ann' }, message_is_template: true, system_prompt_is_template: true };
      fixture.models.script(textReply('{}'));
      const answer = await fixture.runtime.handle(extraction({ ...given, ...variables, ...more }));
      const asked = JSON.stringify(fixture.models.received.at(-1)?.messages);
      expect(asked).not.toContain('Ann');
      expect(JSON.stringify(answer)).not.toContain('VARIABLE_UNKNOWN');
    },
  );

  it('another answer asked for under the same id is a conflict', async () => {
    fixture.models.script(textReply('{"value":true}'));
    const one = extraction({ output_schema: SCHEMA });
    await fixture.runtime.handle(one);
    const other = { ...one, config: { ...one.config, output_schema: { type: 'object' } } };
    await expect(fixture.runtime.handle(other)).rejects.toThrow(withCode('TASK_CONFLICT'));
  });
});

describe('llm_generation', () => {
  it('gives the text, or JSON where a schema asks for it', async () => {
    fixture.models.script(textReply('<think>hm</think>\nDear Ann,'), textReply('{"value":false} as asked'));
    const text = task('llm_generation', { agent_tier: 'pro', message: 'Write' });
    await expect(fixture.runtime.handle(text)).resolves.toMatchObject({ result: 'Dear Ann,', error: null });
    expect(fixture.models.received.at(-1)).toMatchObject({ temperature: 0.7, max_tokens: 500 });
    expect(fixture.models.received.at(-1)?.messages).toHaveLength(1);
    expect(await fixture.usageRows(text.task_id)).toMatchObject([{ task_type: 'llm_generation' }]);
    const json = task('llm_generation', { agent_tier: 'pro', message: 'Write', output_schema: SCHEMA });
    await expect(fixture.runtime.handle(json)).resolves.toMatchObject({ result: { value: false } });
  });
});

const request = (config: object, more: object = {}) =>
  task('http_request', { url: `${fixture.receiver.url}/api`, ...config }, more);
const sentTo = (path: string) => fixture.receiver.requests.filter((each) => each.path === path);
/** Whoever was sending the request of a task is taken for gone. */
const endLeases = async () => {
  for (const key of await fixture.redis.client.keys('elo:agent:request:*'))
    await fixture.redis.client.hset(key, 'until', 0);
};

describe('http_request and webhook_call', () => {
  it.each([
    ['http_request', { body: { a: [1, null], __proto__: 1, constructor: 'x' } }],
    ['webhook_call', { payload: { a: [1, null], __proto__: 1, constructor: 'x' } }],
  ])('%s posts the body, and writes result and counter', async (type, config) => {
    const keys = callbackKeys();
    const path = `/${randomUUID()}`;
    const url = `${fixture.receiver.url}${path}`;
    const one = task(type, { ...config, url, webhook_url: url }, { callback: keys });
    const report = await fixture.runtime.handle(one);
    expect(report).toEqual({
      task_id: one.task_id,
      trace_id: 'trace-1',
      result: { status: 200, body: { ok: true } },
      model_used: null,
      tokens_used: 0,
      duration_ms: expect.any(Number) as number,
      error: null,
    });
    expect(sentTo(path)).toMatchObject([
      { method: 'POST', body: '{"a":[1,null],"constructor":"x"}', headers: { 'content-type': 'application/json' } },
    ]);
    expect(await fixture.reports(keys.result_key)).toEqual([report]);
    expect(await fixture.redis.client.mget(keys.counter_key, keys.status_key)).toEqual(['1', 'complete']);
    // A second attempt gives the same answer and sends nothing.
    await expect(fixture.runtime.handle(one)).resolves.toEqual(report);
    expect(sentTo(path)).toHaveLength(1);
  });

  it('takes a method, headers and text', async () => {
    const path = `/${randomUUID()}`;
    const config = { url: fixture.receiver.url + path, method: 'put', headers: { 'X-Api': 5 }, body: 'text ü' };
    await fixture.runtime.handle(request(config));
    expect(sentTo(path)).toMatchObject([
      { method: 'PUT', body: 'text ü', headers: { 'x-api': '5', 'content-type': 'text/plain; charset=utf-8' } },
    ]);
  });

  it('cuts a long answer, and gives none that is no text', async () => {
    fixture.receiver.answer = (_request, response) => void response.end('x'.repeat(200_000));
    const { result } = (await fixture.runtime.handle(request({ method: 'GET' }))) as TaskReport & {
      result: { body: string };
    };
    expect(result).toMatchObject({ status: 200, truncated: true });
    expect(result.body).toHaveLength(64 * 1024);
    fixture.receiver.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' }).end('x');
    };
    await expect(fixture.runtime.handle(request({ method: 'GET' }))).resolves.toMatchObject({ result: { body: '' } });
  });

  it('an HTTP error is a failure, told of with the answer; it is not asked again', async () => {
    const keys = callbackKeys();
    fixture.receiver.answer = (_request, response) => sendJson(response, { why: 'full' }, 503);
    const one = request({ url: `${fixture.receiver.url}/full` }, { callback: keys });
    for (let time = 1; time <= 2; time++) {
      const error = await fixture.failFinally(one);
      expect(error).toMatchObject({ code: 'TASK_HTTP_ERROR', retryable: false });
    }
    expect(sentTo('/full')).toHaveLength(1);
    expect(await fixture.reports(keys.result_key)).toMatchObject([
      { result: null, error: containing('HTTP 503: {"why":"full"}'), error_code: 'TASK_HTTP_ERROR' },
    ]);
  });

  it.each([{ method: 'GET' }, { repeatable: true }])(
    'with %j a passing HTTP error may be tried again',
    async (config) => {
      const one = request(config);
      fixture.receiver.answer = (_request, response) => sendJson(response, {}, 503);
      await expect(fixture.runtime.handle(one)).rejects.toThrow(withCode('TASK_REQUEST_FAILED', { retryable: true }));
      fixture.receiver.answer = answer;
      await expect(fixture.runtime.handle(one)).resolves.toMatchObject({ result: { status: 200 } });
    },
  );

  it('a request that broke off is never sent again, and nobody says how it ended', async () => {
    const keys = callbackKeys();
    const one = request({ url: `${fixture.receiver.url}/broken` }, { callback: keys });
    fixture.receiver.answer = (_request, response) => void response.destroy();
    for (let time = 1; time <= 2; time++) {
      const error = await fixture.failFinally(one);
      expect(error).toMatchObject({ code: 'TASK_OUTCOME_UNKNOWN', retryable: false });
    }
    expect(sentTo('/broken')).toHaveLength(1);
    expect(await fixture.reports(keys.result_key)).toMatchObject([{ error_code: 'TASK_OUTCOME_UNKNOWN' }]);
  });

  it('a second process waits for the outcome of the first, and takes one that is gone for lost', async () => {
    const arrived = gate();
    const answered = gate();
    fixture.receiver.answer = async (_request, response) => {
      arrived.open();
      await answered.opened;
      sendJson(response, { n: 1 });
    };
    const one = request({ url: `${fixture.receiver.url}/slow` });
    const other = fixture.another({});
    const first = fixture.runtime.handle(one);
    await arrived.opened;
    const second = other.handle(one);
    answered.open();
    expect((await second).result).toEqual((await first).result);

    const lost = request({ url: `${fixture.receiver.url}/slow` });
    const never = gate();
    const reached = gate();
    fixture.receiver.answer = async (_request, response) => {
      reached.open();
      await never.opened;
      sendJson(response, {});
    };
    const hanging = fixture.runtime.handle(lost);
    await reached.opened;
    await endLeases();
    await expect(other.handle(lost)).rejects.toThrow(withCode('TASK_OUTCOME_UNKNOWN'));
    never.open();
    await hanging;
    expect(sentTo('/slow')).toHaveLength(2);
  });

  it('a Redis that starts again when the answer comes does not cost it', async () => {
    const one = request({ url: `${fixture.receiver.url}/restart` });
    let restarted: Promise<void> | undefined;
    fixture.receiver.answer = async (_request, response) => {
      await fixture.redis.stop();
      sendJson(response, { n: 1 });
      // Longer than the connection itself is patient.
      restarted = new Promise((resolve) => setTimeout(resolve, 3000)).then(fixture.redis.start);
    };
    await expect(fixture.runtime.handle(one)).resolves.toMatchObject({ result: { body: { n: 1 } } });
    await restarted;
    await expect(fixture.another({}).handle(one)).resolves.toMatchObject({ result: { body: { n: 1 } } });
    expect(sentTo('/restart')).toHaveLength(1);
  });

  it('an intent whose answer was lost with the connection is still that of its holder', async () => {
    const redis = createRedisConnection({ url: fixture.redis.url, rejectUnauthorized: true });
    const { begin } = createRedisRequests(redis);
    const intent = { marker: randomUUID(), digest: 'd', holder: 'one', leaseMs: 1000, fresh: false };
    expect([await begin(intent), await begin(intent)]).toEqual([{ kind: 'ours' }, { kind: 'ours' }]);
    await expect(begin({ ...intent, holder: 'other' })).resolves.toMatchObject({ kind: 'held' });
    await redis.close();
  });

  it('nobody there: nothing was sent, so it may be tried again', async () => {
    const one = request({ url: 'http://127.0.0.1:1/' });
    for (let time = 1; time <= 2; time++) {
      await expect(fixture.runtime.handle(one)).rejects.toThrow(withCode('TASK_REQUEST_FAILED', { retryable: true }));
    }
    expect(await fixture.redis.client.keys('elo:agent:request:*')).not.toContain(one.task_id);
  });

  it('another request under the same id is a conflict; a fresh test run sends it again', async () => {
    const one = request({ url: `${fixture.receiver.url}/twice`, body: { n: 1 } });
    await fixture.runtime.handle(one);
    const other = { ...one, config: { ...one.config, body: { n: 2 } } };
    await expect(fixture.runtime.handle(other)).rejects.toThrow(withCode('TASK_CONFLICT'));
    await fixture.runtime.handle(one, { fresh: true });
    expect(sentTo('/twice')).toHaveLength(2);
  });

  it('follows no redirect, and asks no private host that nobody allowed', async () => {
    fixture.receiver.answer = (_request, response) => {
      response.writeHead(302, { location: '/inside' }).end();
    };
    await expect(fixture.runtime.handle(request({}))).rejects.toThrow(withCode('TASK_HTTP_ERROR'));
    expect(sentTo('/inside')).toEqual([]);
    const strict = fixture.another({ callbacks: {} });
    for (const url of [`${fixture.receiver.url}/private`, 'http://169.254.169.254/', 'file:///etc/passwd', 'x']) {
      await expect(strict.handle(request({ url }))).rejects.toThrow(withCode('TASK_REQUEST_REFUSED'));
    }
    expect(sentTo('/private')).toEqual([]);
  });

  it.each([
    [{ url: '' }, 'config.url'],
    [{ method: 'TRACE' }, 'config.method'],
    [{ headers: { host: 'x' } }, 'config.headers.host'],
    [{ headers: { a: 'x\r\nb: y' } }, 'config.headers.a'],
  ])('refuses %j', async (config, field) => {
    const error = await failureOf(fixture.runtime.handle(request(config)));
    expect(error).toMatchObject({ code: 'INPUT_INVALID', message: containing(field) });
  });

  it('sends nothing for a tenant that is not there or not active, nor unrepeatably without a Redis', async () => {
    const path = '/nobody';
    const url = fixture.receiver.url + path;
    const inactive = await addTenant(fixture.database, { isActive: false });
    for (const [tenant_id, code] of [
      [inactive, 'TENANT_INACTIVE'],
      [randomUUID(), 'TENANT_NOT_FOUND'],
      ['me', 'TENANT_ID_INVALID'],
      [undefined, 'INPUT_INVALID'],
    ] as const) {
      await expect(fixture.runtime.handle(request({ url }, { meta: { tenant_id } }))).rejects.toThrow(withCode(code));
    }
    const without = fixture.another({ redis: undefined });
    await expect(without.handle(request({ url }))).rejects.toThrow(withCode('REDIS_MISSING'));
    expect(sentTo(path)).toEqual([]);
    await expect(without.handle(request({ url, method: 'GET' }))).resolves.toMatchObject({ error: null });
  });
});
