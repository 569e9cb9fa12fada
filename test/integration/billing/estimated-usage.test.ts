import { type AgentResult, createRuntime, type Model, type ModelReply, type Runtime } from '../../../runtime';
import type { JsonObject } from '../../../runtime/util/json';
import { addTenant } from '../../support/servers/database';
import {
  type AgentFixture,
  aTask,
  echoTool,
  failureOf,
  gate,
  startAgentFixture,
} from '../../support/values/agent-fixture';
import { untilTrue } from '../../support/values/until';
import { usageOf } from '../../support/values/usage-of';
import { rawReply } from '../../support/worlds/hostile-world';

let agent: AgentFixture;
beforeAll(async () => {
  agent = await startAgentFixture();
});
afterAll(() => agent.close());

interface Line {
  readonly model_calls: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly cost_usd: string;
  readonly usage_estimated: boolean;
}

const lines = (taskId: string): Promise<Line[]> =>
  agent.database.query<Line>('SELECT * FROM elo_t_token_usage WHERE task_id = $1', [taskId]);
const calls = (taskId: string): Promise<Record<string, unknown>[]> =>
  agent.database.query('SELECT * FROM elo_agent_model_calls WHERE task_id = $1 ORDER BY call_no', [taskId]);

/** A thousand words, then nothing more. */
const WORDS = 'word '.repeat(1000);
const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: WORDS }, finish_reason: null }] })}\n\n`;

/** Cancels a run of which so much has been written. */
async function cancelled(tenantId: string): Promise<{ taskId: string; code: string; result: AgentResult }> {
  const cancel = new AbortController();
  const task = aTask(tenantId, { include_trace: true });
  agent.models.script((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk);
  });
  const onEvent = ({ type }: { readonly type: string }): void => {
    if (type === 'text-delta') cancel.abort();
  };
  const run = agent.runtime.run(task, { stream: true, signal: cancel.signal, onEvent });
  const { code, result } = await failureOf(run);
  return { taskId: task.task_id, code, result: result as AgentResult };
}

it('of a stream that was cancelled is billed, marked and told wherever a cost is told', async () => {
  const tenantId = await addTenant(agent.database);
  const { taskId, code, result } = await cancelled(tenantId);
  expect(code).toBe('RUN_CANCELLED');
  const { prompt, completion, total } = result.tokens;
  // Each word with the space before it, and the last space.
  expect([completion, total]).toEqual([1001, prompt + 1001]);
  expect(prompt).toBeGreaterThan(20);
  expect(result).toMatchObject({ usage_estimated: true, warnings: [{ code: 'USAGE_ESTIMATED' }] });
  expect(result.cost_usd).toBe(((prompt * 15 + completion * 60) / 1e8).toFixed(8));
  const billed = { prompt_tokens: prompt, completion_tokens: completion, cost_usd: result.cost_usd };
  expect(await lines(taskId)).toMatchObject([{ ...billed, model_calls: 1, usage_estimated: true }]);
  expect(await calls(taskId)).toMatchObject([
    { completion_tokens: '1001', unanswered_requests: 0, usage_estimated: true, error_code: 'RUN_CANCELLED' },
  ]);
  const { usage } = agent.runtime.admin;
  expect(await usage.unknown({ tenantId })).toEqual({ unknown_usage: [] });
  expect((await usage.export({ tenantId })).text).toContain(`,${result.cost_usd},true,`);
  const report = (await usage.report({ tenantId })).text.replaceAll(/\s+/g, ' ');
  expect(report).toContain(`$${String(Number(result.cost_usd))} of 1 call(s) is estimated from the texts`);
});

it('is on the month of the tenant: what it has used up is used up', async () => {
  const tenantId = await addTenant(agent.database, { settings: { monthly_token_limit: 1000 } });
  expect(await cancelled(tenantId)).toMatchObject({ code: 'RUN_CANCELLED' });
  const asked = agent.models.received.length;
  expect((await failureOf(agent.runtime.run(aTask(tenantId)))).code).toBe('BUDGET_EXCEEDED');
  expect(agent.models.received).toHaveLength(asked);
});

it('of an answer is shown in the trace, and an exact one is not marked', async () => {
  const task = aTask(await addTenant(agent.database), { include_trace: true });
  agent.models.script(rawReply({ role: 'assistant', content: 'Done', reasoning: WORDS }, 'stop', { usage: undefined }));
  const estimated = await agent.runtime.run(task);
  expect(estimated).toMatchObject({
    result: { text: 'Done' },
    // The words, their last space, a line break and the answer.
    tokens: { completion: 1002 },
    trace: [{ usage_estimated: true, completion_tokens: 1002 }],
  });
  agent.models.script(rawReply({ role: 'assistant', content: 'Done' }));
  const exact = await agent.runtime.run(aTask(await addTenant(agent.database), { include_trace: true }));
  expect(exact).not.toHaveProperty('usage_estimated');
  expect(exact.trace?.[0]).not.toHaveProperty('usage_estimated');
  expect(await lines(exact.task_id)).toMatchObject([{ usage_estimated: false }]);
});

describe('a model that answers although it was told to stop', () => {
  const usage = usageOf(100, 20);
  const reply: ModelReply = { message: { role: 'assistant', content: 'Late' }, finishReason: 'stop', usage };

  async function lateRun(generate: Model['generate']): Promise<{ taskId: string; runtime: Runtime }> {
    const cancel = new AbortController();
    const runtime = createRuntime({
      database: { url: agent.database.url },
      plugins: {
        model: {
          generate: (request) => {
            cancel.abort();
            return generate(request);
          },
        },
      },
    });
    const task = aTask(await addTenant(agent.database));
    expect((await failureOf(runtime.run(task, { signal: cancel.signal }))).code).toBe('RUN_CANCELLED');
    return { taskId: task.task_id, runtime };
  }

  it('has its usage billed, where it was unknown', async () => {
    const { opened, open } = gate<ModelReply>();
    const { taskId, runtime } = await lateRun(async ({ attempts }) => {
      attempts.sent++;
      const given = await opened;
      attempts.answered++;
      return given;
    });
    expect(await calls(taskId)).toMatchObject([{ closed_at: null }]);
    open(reply);
    await untilTrue(async () => (await lines(taskId))[0]?.total_tokens === 120);
    expect(await lines(taskId)).toMatchObject([{ model_calls: 1, cost_usd: '0.00002700', usage_estimated: false }]);
    expect(await calls(taskId)).toMatchObject([{ unanswered_requests: 0, prompt_tokens: '100' }]);
    await runtime.close();
  });

  it('and is refused has used nothing', async () => {
    const { opened, open } = gate();
    const { taskId, runtime } = await lateRun(async ({ attempts }) => {
      attempts.sent++;
      await opened;
      attempts.answered++;
      throw new Error('429');
    });
    expect(await calls(taskId)).toMatchObject([{ closed_at: null }]);
    open();
    await untilTrue(async () => (await calls(taskId))[0]?.closed_at !== null);
    expect(await calls(taskId)).toMatchObject([
      { cost_exact: '0', unanswered_requests: 0, error_code: 'RUN_CANCELLED' },
    ]);
    await runtime.close();
  });

  it('with something other than a reply changes nothing', async () => {
    const { opened, open } = gate();
    const { taskId, runtime } = await lateRun(async ({ attempts }) => {
      attempts.sent++;
      await opened;
      return undefined as unknown as ModelReply;
    });
    open();
    await runtime.close();
    expect(await calls(taskId)).toMatchObject([{ closed_at: null, unanswered_requests: 1 }]);
  });
});

it('of what cannot be counted is unknown, and the answer stays', async () => {
  const schema: Record<string, unknown> = { type: 'object' };
  schema.properties = { again: schema };
  const runtime = createRuntime({
    database: { url: agent.database.url },
    plugins: {
      model: {
        generate: () => Promise.resolve({ message: { role: 'assistant', content: 'Done' }, finishReason: 'stop' }),
      },
      tools: [{ ...echoTool, definition: { ...echoTool.definition, inputSchema: schema as JsonObject } }],
    },
  });
  const result = await runtime.run(aTask(await addTenant(agent.database)));
  expect(result).toMatchObject({
    result: { text: 'Done' },
    tokens: { total: 0 },
    warnings: [{ code: 'USAGE_UNKNOWN' }],
  });
  await runtime.close();
});
