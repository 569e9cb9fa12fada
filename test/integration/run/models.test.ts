import { createRuntime, type Runtime } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;
let impatient: Runtime;

beforeAll(async () => {
  fixture = await startAgentFixture();
  impatient = createRuntime({
    database: { url: fixture.database.url },
    model: { apiKey: 'sk-test-key', baseUrl: fixture.models.url, maxRetries: 0 },
  });
});
afterAll(async () => {
  await impatient.close();
  await fixture.close();
});

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

it('a provider that fails ends the run with a code and the work so far', async () => {
  const refusal = { status: 401, body: { error: { message: 'Bad key', code: 401 } } };
  fixture.models.script(toolReply([{ name: 'echo', arguments: { a: 1 } }], { prompt: 10, completion: 1 }), refusal);
  const failure = await failureOf(fixture.runtime.run(aTask(fixture.tenantId)));
  expect(failure).toMatchObject({ code: 'LLM_AUTH_FAILED', retryable: false });
  expect(failure.result).toMatchObject({
    status: 'failed',
    iterations: 2,
    tokens: { total: 11 },
    result: { tool_calls: [{ tool: 'echo', result: { a: 1 } }] },
  });
});
