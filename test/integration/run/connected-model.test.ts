import type { Connected, NamedModel } from '../../../runtime';
import { createRuntime, type ModelReply, type ModelRequest, RuntimeError } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { textReply } from '../../support/servers/model-server';
import { withCode } from '../../support/setup/matchers';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { usageOf } from '../../support/values/usage-of';

let agent: AgentFixture;

beforeAll(async () => {
  agent = await startAgentFixture();
  await agent.database.query(
    `INSERT INTO elo_model_pricing (model_id, input_cost_per_1m, output_cost_per_1m)
     VALUES ('mine/cheap', 1, 2), ('mine/dear', 10, 20)`,
  );
});
afterAll(() => agent.close());
beforeEach(() => {
  agent.models.received.length = 0;
});

type Answer = Partial<ModelReply> | RuntimeError;

/** A connected model that answers by script. */
function aModel(name: string, ...answers: readonly Answer[]): NamedModel & { readonly asked: ModelRequest[] } {
  const left = [...answers];
  const asked: ModelRequest[] = [];
  const generate = (request: ModelRequest): Promise<ModelReply> => {
    asked.push(request);
    request.attempts.sent++;
    request.attempts.answered++;
    const answer = left.shift() ?? new RuntimeError('LLM_BAD_REQUEST', { status: 400, reason: 'nothing is scripted' });
    if (answer instanceof RuntimeError) return Promise.reject(answer);
    const usage = usageOf(1000, 100);
    return Promise.resolve({ message: { role: 'assistant', content: 'Hi' }, finishReason: 'stop', usage, ...answer });
  };
  return { name, model: { generate }, asked };
}

const call = (name: string): Answer => ({
  message: {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `c-${name}`, type: 'function', function: { name, arguments: '{}' } }],
  },
  finishReason: 'tool-calls',
});
const down = new RuntimeError('LLM_UNAVAILABLE', { reason: 'down' });
const run = (connected: Connected, task = aTask(agent.tenantId)) => agent.runtime.run(task, { connected });
const codes = (warnings: readonly { readonly code: string }[]) => warnings.map(({ code }) => code);
const calls = (runId: string) =>
  agent.database.query<{ model_requested: string; model_billed: string; error_code: string | null }>(
    'SELECT model_requested, model_billed, error_code FROM elo_agent_model_calls WHERE run_id = $1 ORDER BY call_no',
    [runId],
  );

it("answers in place of the tier's model and is billed under its own name", async () => {
  const task = aTask(agent.tenantId);
  const model = aModel('mine/cheap', call('echo'), {});
  const result = await run({ model }, task);
  expect(result).toMatchObject({
    model_used: 'mine/cheap',
    agent_tier: 'pro',
    cost_usd: '0.00240000',
    result: { text: 'Hi' },
    warnings: [],
  });
  expect(await agent.usageRows(task.task_id)).toMatchObject([
    { model_id: 'mine/cheap', agent_tier: 'pro', model_calls: 2, cost_usd: '0.00240000' },
  ]);
  expect(await calls(result.run_id)).toMatchObject([
    { model_requested: 'mine/cheap', model_billed: 'mine/cheap' },
    { model_requested: 'mine/cheap', model_billed: 'mine/cheap' },
  ]);
  expect(model.asked[0]).toMatchObject({ modelId: 'mine/cheap', temperature: undefined, maxTokens: undefined });
  expect(agent.models.received).toEqual([]);
});

it("keeps the tier's other limits, and says which settings of the task it does not use", async () => {
  const config = { max_iterations: 1, temperature: 0.2, model_override: 'openai/gpt-4o' };
  const failure = await failureOf(run({ model: aModel('mine/cheap', call('echo')) }, aTask(agent.tenantId, config)));
  expect(failure.code).toBe('MAX_ITERATIONS_REACHED');
  expect(failure.result?.warnings).toEqual([
    {
      code: 'MODEL_SETTINGS_UNUSED',
      message:
        'A connected chat model answers, so these settings of the task were not used: model_override, temperature.',
      hint: 'Set them on the connected chat model, or leave them out of the task.',
    },
  ]);
});

describe('a tenant with limits', () => {
  it('may use a model that no tier has, but not a tier above its highest', async () => {
    const tenantId = await addTenant(agent.database, { settings: { max_tier: 'small' } });
    const small = aTask(tenantId, { agent_tier: 'small' });
    await expect(run({ model: aModel('mine/dear', {}) }, small)).resolves.toMatchObject({ model_used: 'mine/dear' });
    const pro = run({ model: aModel('mine/dear', {}) }, aTask(tenantId));
    await expect(pro).rejects.toThrow(withCode('TIER_NOT_ALLOWED'));
  });

  it.each(['model', 'fallback'] as const)('is refused an unpriced %s before anything is asked', async (place) => {
    const tenantId = await addTenant(agent.database, { settings: { monthly_cost_limit_usd: 5 } });
    const unpriced = aModel('mine/unknown', {});
    const connected = { model: aModel('mine/cheap', {}), [place]: unpriced };
    await expect(run(connected, aTask(tenantId))).rejects.toThrow(withCode('MODEL_UNPRICED'));
    await expect(run(connected, aTask(agent.tenantId, { max_cost_usd: '1' }))).rejects.toThrow(
      withCode('MODEL_UNPRICED'),
    );
    expect(connected.model.asked).toEqual([]);
  });
});

it('leaves no line for the free tier on its own model, connected or not, and one for any other', async () => {
  const free = aTask(agent.tenantId, { agent_tier: 'nano' });
  await run({ model: aModel('qwen/qwen3-4b:free', {}) }, free);
  expect(await agent.usageRows(free.task_id)).toEqual([]);
  const billed = aTask(agent.tenantId, { agent_tier: 'nano' });
  await run({ model: aModel('mine/cheap', {}) }, billed);
  expect(await agent.usageRows(billed.task_id)).toHaveLength(1);
});

describe('a fallback', () => {
  it('answers the call that failed, and is billed for it under its own name', async () => {
    const task = aTask(agent.tenantId);
    const fallback = aModel('mine/dear', call('echo'));
    const result = await run({ model: aModel('mine/cheap', down, {}), fallback }, task);
    expect(result).toMatchObject({ model_used: 'mine/cheap', cost_usd: '0.01320000', result: { text: 'Hi' } });
    expect(result.warnings).toEqual([
      {
        code: 'MODEL_FALLBACK',
        message: 'Model "mine/cheap" failed with LLM_UNAVAILABLE, so the fallback "mine/dear" answered.',
        hint: 'Nothing to do, unless it happens often: then check the first model.',
      },
    ]);
    expect(await calls(result.run_id)).toMatchObject([
      { model_requested: 'mine/dear', model_billed: 'mine/dear', error_code: null },
      { model_requested: 'mine/cheap', model_billed: 'mine/cheap', error_code: null },
    ]);
    expect(fallback.asked[0]?.modelId).toBe('mine/dear');
  });

  it("stands in for the tier's model where no other is connected", async () => {
    agent.models.script({ status: 500, body: {} });
    const result = await run({ fallback: aModel('mine/dear', {}) });
    expect(result).toMatchObject({ model_used: 'mine/dear', result: { text: 'Hi' } });
    expect(agent.models.received[0]).toMatchObject({ model: 'openai/gpt-4o-mini', max_tokens: 2000 });
  });

  it('that fails too leaves the failure of the first one', async () => {
    const fallback = aModel('mine/dear', new RuntimeError('LLM_AUTH_FAILED', { status: 401 }));
    const failure = await failureOf(run({ model: aModel('mine/cheap', down), fallback }));
    expect(failure.code).toBe('LLM_UNAVAILABLE');
    expect(fallback.asked).toHaveLength(1);
  });

  it('is not asked when the run was stopped', async () => {
    const controller = new AbortController();
    const fallback = aModel('mine/dear', {});
    const generate = (): Promise<never> => {
      controller.abort();
      return Promise.reject(down);
    };
    const connected = { model: { name: 'mine/cheap', model: { generate } }, fallback };
    const stopped = agent.runtime.run(aTask(agent.tenantId), { connected, signal: controller.signal });
    await expect(stopped).rejects.toThrow(withCode('RUN_CANCELLED'));
    expect(fallback.asked).toEqual([]);
  });

  it('has the calls of the free tier on record', async () => {
    const task = aTask(agent.tenantId, { agent_tier: 'nano' });
    await run({ model: aModel('qwen/qwen3-4b:free', down), fallback: aModel('mine/dear', {}) }, task);
    expect(await agent.usageRows(task.task_id)).toMatchObject([{ model_id: 'mine/dear', cost_usd: '0.01200000' }]);
  });
});

it('replays what was stored, whatever is connected then', async () => {
  const task = aTask(agent.tenantId);
  await run({ model: aModel('mine/cheap', {}) }, task);
  const model = aModel('mine/dear', {});
  await expect(run({ model }, task)).resolves.toMatchObject({ replayed: true, model_used: 'mine/cheap' });
  expect(model.asked).toEqual([]);
});

it('without a model of its own a runtime runs what brings one, and nothing else', async () => {
  const runtime = createRuntime({ database: { url: agent.database.url } });
  try {
    const task = aTask(agent.tenantId);
    await expect(runtime.run(task)).rejects.toThrow(withCode('MODEL_MISSING'));
    await expect(runtime.run(task, { connected: { fallback: aModel('mine/cheap', {}) } })).rejects.toThrow(
      withCode('MODEL_MISSING'),
    );
    const result = await runtime.run(task, { connected: { model: aModel('mine/cheap', {}) } });
    expect(codes(result.warnings)).toEqual([]);
  } finally {
    await runtime.close();
  }
});

it('has the result of a format that was asked for stored and replayed', async () => {
  const format: Connected['format'] = {
    tool: { name: 'answer', description: 'Takes it', inputSchema: { type: 'object' } },
    instructions: 'Use answer.',
    parse: ({ text }) => Promise.resolve({ ok: true, value: { said: text } }),
  };
  const task = aTask(agent.tenantId, { system_prompt: 'Be kind.' });
  agent.models.script(textReply('yes'));
  const first = await run({ format }, task);
  expect(first).toMatchObject({ structured_output: { said: 'yes' }, result: { text: 'yes' } });
  expect(agent.models.received[0]?.messages[0]?.content).toBe('Be kind.\n\nUse answer.');
  await expect(run({ format }, task)).resolves.toMatchObject({ replayed: true, structured_output: { said: 'yes' } });
});
