import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, failureOf, gate, startAgentFixture } from '../../support/values/agent-fixture';

let agent: AgentFixture;

beforeAll(async () => {
  agent = await startAgentFixture();
});
afterAll(() => agent.close());

const aToolCall = [{ name: 'echo' }];
const refusal = { status: 400, body: { error: { message: 'the request is malformed' } } };

const openCalls = (taskId: string) =>
  agent.database.query('SELECT call_no FROM elo_agent_model_calls WHERE task_id = $1 AND closed_at IS NULL', [taskId]);

it('writes a line of nothing for a run whose first model call was refused', async () => {
  const task = aTask(agent.tenantId);
  agent.models.script(refusal);
  const error = await failureOf(agent.runtime.run(task));
  expect(error).toMatchObject({
    code: 'LLM_BAD_REQUEST',
    result: { status: 'failed', iterations: 1, cost_usd: '0.00000000' },
  });
  expect(await agent.usageRows(task.task_id)).toMatchObject([
    { total_tokens: 0, cost_usd: '0.00000000', model_id: 'openai/gpt-4o-mini', agent_tier: 'pro' },
  ]);
  expect(await openCalls(task.task_id)).toEqual([]);
});

it('bills what was used before a later model call was refused', async () => {
  const task = aTask(agent.tenantId);
  agent.models.script(toolReply(aToolCall, { prompt: 1250, completion: 340 }), refusal);
  const error = await failureOf(agent.runtime.run(task));
  expect(error.result).toMatchObject({ status: 'failed', cost_usd: '0.00039150' });
  expect(await agent.usageRows(task.task_id)).toMatchObject([{ total_tokens: 1590, cost_usd: '0.00039150' }]);
});

it('bills a run that used all its iterations', async () => {
  const task = aTask(agent.tenantId, { max_iterations: 2 });
  agent.models.script(
    toolReply(aToolCall, { prompt: 1000, completion: 140 }),
    toolReply(aToolCall, { prompt: 250, completion: 200 }),
  );
  const error = await failureOf(agent.runtime.run(task));
  expect(error).toMatchObject({ code: 'MAX_ITERATIONS_REACHED', result: { status: 'max_iterations', iterations: 2 } });
  expect(await agent.usageRows(task.task_id)).toMatchObject([{ total_tokens: 1590, cost_usd: '0.00039150' }]);
  expect(await openCalls(task.task_id)).toEqual([]);
});

it('bills a run that took too long, and may be tried again with more time', async () => {
  const task = aTask(agent.tenantId, { timeout_seconds: 1 });
  const late = gate();
  agent.models.script(toolReply(aToolCall, { prompt: 1000, completion: 140 }), async (_request, response) => {
    await late.opened;
    response.destroy();
  });
  const error = await failureOf(agent.runtime.run(task));
  late.open();
  expect(error).toMatchObject({ code: 'RUN_TIMEOUT', retryable: true });
  agent.models.script(textReply('Done.', { prompt: 250, completion: 200 }));
  await agent.runtime.run(aTask(agent.tenantId, { timeout_seconds: 60 }, task.task_id));
  expect(await agent.usageRows(task.task_id)).toMatchObject([{ total_tokens: 1590, cost_usd: '0.00039150' }]);
});

it('adds a failed attempt and the one that followed up in one line', async () => {
  const task = aTask(agent.tenantId);
  agent.models.script(toolReply(aToolCall, { prompt: 1000, completion: 140, cost: 0.1 }), refusal);
  const failed = await failureOf(agent.runtime.run(task));
  agent.models.script(textReply('Done.', { prompt: 250, completion: 200, cost: 0.2 }));
  const result = await agent.runtime.run(task);
  expect(result).toMatchObject({ cost_usd: '0.00015750', tokens: { total: 450 } });
  const rows = await agent.usageRows(task.task_id);
  expect(rows).toMatchObject([
    {
      run_id: result.run_id,
      prompt_tokens: 1250,
      completion_tokens: 340,
      total_tokens: 1590,
      model_calls: 3,
      cost_usd: '0.00039150',
    },
  ]);
  expect(Number(rows[0]?.provider_cost_usd)).toBeCloseTo(0.3, 10);
  expect(failed.result?.run_id).not.toBe(result.run_id);
  expect(await agent.runRow(task.task_id)).toMatchObject({ state: 'done', attempt: 2, run_id: result.run_id });
});
