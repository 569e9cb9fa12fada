import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';

let agent: AgentFixture;

beforeAll(async () => {
  agent = await startAgentFixture();
});
afterAll(() => agent.close());

const aToolCall = [{ name: 'echo' }];
const codes = (warnings: readonly { readonly code: string }[]) => warnings.map(({ code }) => code);

/** Gives tier `tier` another model, for one test. */
async function withTierModel(tier: string, modelId: string, work: () => Promise<void>): Promise<void> {
  const [before] = await agent.database.query('SELECT model_id FROM elo_agent_tiers WHERE code = $1', [tier]);
  const set = (id: unknown) =>
    agent.database.query('UPDATE elo_agent_tiers SET model_id = $2 WHERE code = $1', [tier, id]);
  await set(modelId);
  await work().finally(() => set(before?.model_id));
}

it.each([undefined, 'openai/gpt-4o-mini', 'openai/gpt-4o-mini-2024-07-18'])(
  "bills the documents' 1250 and 340 tokens as 0.00039150 when the provider names the model %s",
  async (model) => {
    const task = aTask(agent.tenantId);
    agent.models.script(
      toolReply(aToolCall, { prompt: 1000, completion: 140, model }),
      textReply('Done.', { prompt: 250, completion: 200, model }),
    );
    const result = await agent.runtime.run(task);
    expect(result).toMatchObject({ cost_usd: '0.00039150', model_used: 'openai/gpt-4o-mini', warnings: [] });
    expect(await agent.usageRows(task.task_id)).toMatchObject([
      {
        trace_id: 'trace-1',
        run_id: result.run_id,
        model_id: 'openai/gpt-4o-mini',
        agent_tier: 'pro',
        task_type: 'ai_agent',
        prompt_tokens: 1250,
        completion_tokens: 340,
        total_tokens: 1590,
        model_calls: 2,
        cost_usd: '0.00039150',
        provider_cost_usd: null,
      },
    ]);
  },
);

it('counts a model without a price at zero, and says so', async () => {
  await withTierModel('pro', 'some/unpriced', async () => {
    const task = aTask(agent.tenantId);
    agent.models.script(textReply('Done.', { prompt: 1250, completion: 340, model: 'some/unpriced-2025' }));
    const result = await agent.runtime.run(task);
    expect(result.cost_usd).toBe('0.00000000');
    expect(codes(result.warnings)).toEqual(['USAGE_UNPRICED']);
    expect(await agent.usageRows(task.task_id)).toMatchObject([
      { model_id: 'some/unpriced', total_tokens: 1590, cost_usd: '0.00000000' },
    ]);
  });
});

it('bills every call at the price of its own model, and names the last on the line', async () => {
  await withTierModel('pro', 'openrouter/auto', async () => {
    const task = aTask(agent.tenantId);
    agent.models.script(
      toolReply(aToolCall, { prompt: 1000, completion: 1000, model: 'anthropic/claude-3-5-sonnet' }),
      textReply('Done.', { prompt: 1000, completion: 1000, model: 'openai/gpt-4o-mini' }),
    );
    const result = await agent.runtime.run(task);
    expect(result.cost_usd).toBe('0.01875000');
    expect(await agent.usageRows(task.task_id)).toMatchObject([
      { model_id: 'openai/gpt-4o-mini', cost_usd: '0.01875000' },
    ]);
  });
});

it('rounds half up once, on the sum of all calls', async () => {
  await agent.database.query(`INSERT INTO elo_model_pricing VALUES ('cheap/model', 'test', 0.001, 0.0005)`);
  await withTierModel('pro', 'cheap/model', async () => {
    const task = aTask(agent.tenantId);
    // 4 and 4 and 1.5 and 0 units of 1e-9 dollars: each rounds to nothing, the sum of 9.5 to one of 1e-8.
    agent.models.script(
      toolReply(aToolCall, { prompt: 4, completion: 0 }),
      toolReply(aToolCall, { prompt: 4, completion: 0 }),
      textReply('Done.', { prompt: 1, completion: 1 }),
    );
    const result = await agent.runtime.run(task);
    expect(result.cost_usd).toBe('0.00000001');
    expect(await agent.usageRows(task.task_id)).toMatchObject([{ cost_usd: '0.00000001', cost_exact: '0.0000000095' }]);
  });
});

describe('the free tier', () => {
  it('writes no line for its own model, and still tells what was used', async () => {
    const task = aTask(agent.tenantId, { agent_tier: 'nano' });
    agent.models.script(textReply('Free.', { prompt: 1250, completion: 340 }));
    const result = await agent.runtime.run(task);
    expect(result).toMatchObject({ tokens: { total: 1590 }, cost_usd: '0.00000000' });
    expect(await agent.usageRows(task.task_id)).toEqual([]);
  });

  it('is not run again either', async () => {
    const task = aTask(agent.tenantId, { agent_tier: 'nano' });
    agent.models.script(textReply('Free.'));
    await agent.runtime.run(task);
    await expect(agent.runtime.run(task)).resolves.toMatchObject({ replayed: true, result: { text: 'Free.' } });
    expect(agent.modelCalls(task.task_id)).toHaveLength(1);
  });

  it('is billed for what a router of no known price has a paid model answer', async () => {
    await withTierModel('nano', 'openrouter/auto', async () => {
      const task = aTask(agent.tenantId, { agent_tier: 'nano' });
      agent.models.script(
        toolReply(aToolCall, { prompt: 1000, completion: 10, model: 'qwen/qwen3-4b:free' }),
        textReply('Paid.', { prompt: 1250, completion: 340, model: 'openai/gpt-4o-mini' }),
      );
      await expect(agent.runtime.run(task)).resolves.toMatchObject({ cost_usd: '0.00039150' });
      expect(await agent.usageRows(task.task_id)).toMatchObject([{ total_tokens: 1590, cost_usd: '0.00039150' }]);
    });
  });
});

it('writes no line when the task says so, and still runs it once', async () => {
  const task = aTask(agent.tenantId, { record_usage: false });
  agent.models.script(textReply('Not billed.'));
  await expect(agent.runtime.run(task)).resolves.toMatchObject({ cost_usd: '0.00002700' });
  await expect(agent.runtime.run(task)).resolves.toMatchObject({ replayed: true });
  expect(agent.modelCalls(task.task_id)).toHaveLength(1);
  expect(await agent.usageRows(task.task_id)).toEqual([]);
});
