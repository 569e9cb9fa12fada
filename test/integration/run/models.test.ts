import '../../support/setup/errors-of-node';

import { createRuntime, type Runtime } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { startServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { until } from '../../support/values/until';

const KEY = 'sk-canary-1234567890';
let fixture: AgentFixture;
let retrying: Runtime;
let impatient: Runtime;

beforeAll(async () => {
  fixture = await startAgentFixture();
  retrying = runtimeFor(fixture.models.url);
  impatient = runtimeFor(fixture.models.url, 0);
});
afterAll(async () => {
  await Promise.all([retrying.close(), impatient.close()]);
  await fixture.close();
});

function runtimeFor(baseUrl: string, maxRetries = 1): Runtime {
  return createRuntime({ database: { url: fixture.database.url }, model: { apiKey: KEY, baseUrl, maxRetries } });
}

describe('the request', () => {
  it.each([
    ['nano', { model: 'qwen/qwen3-4b:free', max_tokens: 500, temperature: 0.1 }],
    ['small', { model: 'qwen/qwen3-8b', max_tokens: 800, temperature: 0.2 }],
    ['optima', { model: 'anthropic/claude-3-haiku', max_tokens: 1000, temperature: 0.3 }],
    ['pro', { model: 'openai/gpt-4o-mini', max_tokens: 2000, temperature: 0.5 }],
    ['expert', { model: 'anthropic/claude-3-5-sonnet', max_tokens: 4000, temperature: 0.7 }],
  ])('of tier %s names its model, its token limit and its temperature', async (tier, request) => {
    fixture.models.script(textReply('Done'));
    const result = await fixture.runtime.run(aTask(fixture.tenantId, { agent_tier: tier }));
    expect(fixture.models.received.at(-1)).toMatchObject(request);
    expect(result).toMatchObject({ agent_tier: tier, model_used: request.model });
  });

  it('follows what the task asks for', async () => {
    fixture.models.script(textReply('Done'));
    const config = { model_override: 'openai/gpt-4o', max_tokens: 7, temperature: 0 };
    await fixture.runtime.run(aTask(fixture.tenantId, config));
    expect(fixture.models.received.at(-1)).toMatchObject({ model: 'openai/gpt-4o', max_tokens: 7, temperature: 0 });
  });

  it("takes the tenant's default tier when the task names none", async () => {
    const tenantId = await addTenant(fixture.database, { settings: { default_tier: 'optima', max_iterations: 3 } });
    fixture.models.script(textReply('Done'));
    const result = await fixture.runtime.run(aTask(tenantId, { agent_tier: undefined }));
    expect(result.agent_tier).toBe('optima');
  });

  it('may be silent for as long as the tenant says, else the tier', async () => {
    const limit = (seconds: string): Promise<unknown> =>
      fixture.database.query(`UPDATE elo_agent_tiers SET model_silence_seconds = ${seconds} WHERE code = 'expert'`);
    await limit('0.3');
    const settings = [{}, { model_silence_seconds: 0.2 }];
    fixture.models.script(...settings.map(() => () => undefined));
    const messages = settings.map(async (own) => {
      const tenantId = await addTenant(fixture.database, { settings: own });
      return (await failureOf(impatient.run(aTask(tenantId, { agent_tier: 'expert' })))).message;
    });
    try {
      expect(await Promise.all(messages)).toEqual([
        'The model sent nothing for 0.3 seconds.',
        'The model sent nothing for 0.2 seconds.',
      ]);
    } finally {
      await limit('NULL');
    }
  });

  it('sends the transcript of each step with the results of the one before', async () => {
    fixture.models.script(toolReply([{ name: 'echo', arguments: { a: 1 }, id: 'x' }]), textReply('Done'));
    await fixture.runtime.run(aTask(fixture.tenantId, { system_prompt: 'Be short.', context: { client: 'X' } }));
    const { messages = [] } = fixture.models.received.at(-1) ?? {};
    expect(messages.map((message) => message.role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(messages[1]?.content).toContain('<context>\n{"client":"X"}\n</context>');
    expect(messages[3]).toEqual({ role: 'tool', tool_call_id: 'x', content: '{"a":1}' });
  });
});

describe('before any model is called', () => {
  const refused: [string, object, object, string][] = [
    ['an unknown tier', {}, { agent_tier: 'gold' }, 'TIER_UNKNOWN'],
    ["a tier above the tenant's", { max_tier: 'optima' }, { agent_tier: 'pro' }, 'TIER_NOT_ALLOWED'],
    [
      'an override above it',
      { max_tier: 'optima' },
      { agent_tier: 'nano', model_override: 'openai/gpt-4o-mini' },
      'MODEL_NOT_ALLOWED',
    ],
    ['an override outside the tiers', { max_tier: 'expert' }, { model_override: 'openai/o3' }, 'MODEL_NOT_ALLOWED'],
    [
      'a model without a price under a money limit',
      { monthly_cost_limit_usd: 5 },
      { model_override: 'x/unpriced' },
      'MODEL_UNPRICED',
    ],
  ];

  it.each(refused)('%s is refused', async (...[, settings, config, code]) => {
    const tenantId = await addTenant(fixture.database, { settings });
    const before = fixture.models.requests.length;
    const task = aTask(tenantId, { ...config });
    expect(await failureOf(fixture.runtime.run(task))).toMatchObject({ code, result: undefined });
    expect(fixture.models.requests).toHaveLength(before);
    expect(await fixture.usageRows(task.task_id)).toEqual([]);
  });

  it('the known tiers are named to one who asks for an unknown one', async () => {
    const error = await failureOf(fixture.runtime.run(aTask(fixture.tenantId, { agent_tier: 'gold' })));
    expect(error.message).toBe('Tier "gold" is not configured. Known tiers: nano, small, optima, pro, expert.');
  });

  it('an override of an allowed tier goes through, and is billed on the free tier', async () => {
    const tenantId = await addTenant(fixture.database, { settings: { max_tier: 'pro' } });
    fixture.models.script(textReply('Done', { prompt: 1000, completion: 0 }));
    const task = aTask(tenantId, { agent_tier: 'nano', model_override: 'openai:gpt-4o-mini' });
    expect(await fixture.runtime.run(task)).toMatchObject({ model_used: 'openai/gpt-4o-mini', cost_usd: '0.00015000' });
    expect(await fixture.usageRows(task.task_id)).toMatchObject([{ agent_tier: 'nano', cost_usd: '0.00015000' }]);
  });

  it('a ceiling holds also when an adopted table keeps the settings as text within JSON', async () => {
    const tenantId = await addTenant(fixture.database);
    await fixture.database.query('UPDATE elo_t_tenants SET settings = to_jsonb($2::text) WHERE id = $1', [
      tenantId,
      JSON.stringify({ max_tier: 'small' }),
    ]);
    expect(await failureOf(fixture.runtime.run(aTask(tenantId)))).toMatchObject({ code: 'TIER_NOT_ALLOWED' });
  });
});

describe('a provider that fails', () => {
  const error = (status: number, message: string) => ({ status, body: { error: { message, code: status } } });

  it.each([
    [error(401, `Bad key ${KEY}`), 'LLM_AUTH_FAILED'],
    [error(402, 'Insufficient credits'), 'LLM_INSUFFICIENT_CREDITS'],
    [error(404, 'No endpoints found that support tool use'), 'LLM_NO_TOOL_SUPPORT'],
    [error(404, 'No such model'), 'LLM_MODEL_NOT_FOUND'],
    [{ body: { error: { message: 'Bad key', code: 401 } } }, 'LLM_AUTH_FAILED'],
    [{ body: '<html>' }, 'LLM_BAD_REPLY'],
  ])('ends the run with a code, the work so far, and no secret: %#', async (reply, code) => {
    fixture.models.script(toolReply([{ name: 'echo', arguments: { a: 1 } }], { prompt: 10, completion: 1 }), reply);
    const task = aTask(fixture.tenantId);
    const failure = await failureOf(fixture.runtime.run(task));
    expect(failure).toMatchObject({ code, retryable: code === 'LLM_BAD_REPLY' });
    expect(failure.result).toMatchObject({
      status: 'failed',
      iterations: 2,
      tokens: { total: 11 },
      result: { tool_calls: [{ tool: 'echo', result: { a: 1 } }] },
    });
    expect(await fixture.usageRows(task.task_id)).toMatchObject([{ total_tokens: 11 }]);
  });

  it.each([
    ['HTTP 429', { ...error(429, 'Slow down'), headers: { 'retry-after': '0' } }],
    ['HTTP 502', { ...error(502, 'Bad gateway'), headers: { 'retry-after': '0' } }],
    [
      'HTTP 200 with an error in the body',
      { body: { error: { message: 'Slow down', code: 429 } }, headers: { 'retry-after': '0' } },
    ],
  ])('with %s is asked again, and only the answer is counted', async (_what, reply) => {
    fixture.models.script(reply, textReply('Done', { prompt: 10, completion: 1 }));
    expect(await retrying.run(aTask(fixture.tenantId))).toMatchObject({
      status: 'completed',
      iterations: 1,
      tokens: { total: 11 },
      warnings: [],
    });
  });

  it('in a way that can be waited out is told as retryable', async () => {
    fixture.models.script(error(429, 'Slow down'));
    expect(await failureOf(fixture.runtime.run(aTask(fixture.tenantId)))).toMatchObject({
      code: 'LLM_RATE_LIMITED',
      retryable: true,
    });
  });

  it('by breaking off is warned of as usage that nobody knows', async () => {
    fixture.models.script((_request, response) => void response.destroy(), textReply('Done'));
    const result = await retrying.run(aTask(fixture.tenantId));
    expect(result.warnings).toMatchObject([{ code: 'USAGE_UNKNOWN' }]);
  });

  it('by not being there costs nothing and is no unknown usage', async () => {
    const gone = await startServer(() => undefined);
    await gone.close();
    const runtime = runtimeFor(`${gone.url}/v1`, 0);
    const failure = await failureOf(runtime.run(aTask(fixture.tenantId)));
    await runtime.close();
    expect(failure).toMatchObject({ code: 'LLM_UNAVAILABLE', message: containing('ECONNREFUSED') });
    expect(failure.result?.warnings).toEqual([]);
  });
});

describe('usage', () => {
  it.each([
    ['missing', undefined],
    ['negative', { prompt_tokens: -5, completion_tokens: 1 }],
    ['made of texts', { prompt_tokens: '5', completion_tokens: '1' }],
    ['1e300', { prompt_tokens: 1e300, completion_tokens: 1 }],
    ['a thousand million', { prompt_tokens: 1e9, completion_tokens: 1e9 }],
  ])('that is %s is estimated, with a warning, and the ledger takes it', async (_what, usage) => {
    const { body } = textReply('Done');
    fixture.models.script({ body: { ...(body as object), usage } });
    const task = aTask(fixture.tenantId);
    const result = await fixture.runtime.run(task);
    expect(result).toMatchObject({ status: 'completed', tokens: { completion: 1 }, usage_estimated: true });
    expect(result.warnings).toMatchObject([{ code: 'USAGE_ESTIMATED' }]);
    const { total } = result.tokens;
    expect(await fixture.usageRows(task.task_id)).toMatchObject([{ total_tokens: total, cost_usd: result.cost_usd }]);
  });
});

describe('a run that is cancelled', () => {
  it('in the middle of a model call ends at once and cuts the connection', async () => {
    const controller = new AbortController();
    let wasCut = false;
    fixture.models.script((_request, response) => {
      response.on('close', () => {
        wasCut = true;
      });
      controller.abort();
    });
    const failure = await failureOf(fixture.runtime.run(aTask(fixture.tenantId), { signal: controller.signal }));
    expect(failure).toMatchObject({ code: 'RUN_CANCELLED', result: { status: 'cancelled', iterations: 1 } });
    expect(failure.result?.warnings).toMatchObject([{ code: 'USAGE_UNKNOWN' }]);
    await until(() => wasCut);
  });

  it('while it waits for the next try ends at once and makes none', async () => {
    const controller = new AbortController();
    fixture.models.script((_request, response) => {
      response.on('finish', () => setImmediate(() => controller.abort()));
      response.writeHead(429, { 'retry-after': '50', 'content-type': 'application/json' }).end('{}');
    }, textReply('too late'));
    const failure = await failureOf(retrying.run(aTask(fixture.tenantId), { signal: controller.signal }));
    expect(failure).toMatchObject({ code: 'RUN_CANCELLED' });
    expect(fixture.models.left()).toBe(1);
  });

  it('before it began calls no model', async () => {
    const before = fixture.models.requests.length;
    const failure = await failureOf(fixture.runtime.run(aTask(fixture.tenantId), { signal: AbortSignal.abort() }));
    expect(failure).toMatchObject({ code: 'RUN_CANCELLED' });
    expect(fixture.models.requests).toHaveLength(before);
  });
});

it('a run that takes longer than it may ends with RUN_TIMEOUT and what it has', async () => {
  fixture.models.script(toolReply([{ name: 'echo' }]), () => undefined);
  const failure = await failureOf(fixture.runtime.run(aTask(fixture.tenantId, { timeout_seconds: 0.5 })));
  expect(failure).toMatchObject({ code: 'RUN_TIMEOUT', result: { status: 'failed', iterations: 2 } });
  expect(failure.result?.result.tool_calls).toHaveLength(1);
});
