import { createRuntime, type RunEvent, type Tool } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer } from '../../support/servers/http-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { matching } from '../../support/setup/matchers';
import { type AgentFixture, aTask, echoTool, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { everyTimerBut } from '../../support/values/timers';

/** Answers when three calls of it are under way: one after another they would wait for ever. */
function meetingTool(): Tool {
  const waiting: (() => void)[] = [];
  return {
    definition: { name: 'meet', description: 'Waits for two others', inputSchema: { type: 'object' } },
    parseInput: (value) => ({ ok: true, value }),
    execute: async (value) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 3) for (const release of waiting.splice(0).reverse()) release();
      });
      return { isError: false, value };
    },
  };
}

let fixture: AgentFixture;

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [echoTool, meetingTool()] }));
});
afterAll(() => fixture.close());

it('gives back exactly what the documents promise', async () => {
  fixture.models.script(
    toolReply([{ name: 'echo', arguments: { a: 1 } }], { prompt: 1000, completion: 140 }),
    textReply('Done', { prompt: 250, completion: 200, cost: 0.0001575 }),
  );
  const task = aTask(fixture.tenantId);
  expect(await fixture.runtime.run(task)).toEqual({
    task_id: task.task_id,
    trace_id: 'trace-1',
    run_id: matching(/^[0-9a-f-]{36}$/),
    status: 'completed',
    result: {
      text: 'Done',
      tool_calls: [{ tool: 'echo', arguments: { a: 1 }, result: { a: 1 }, duration_ms: aNumber() }],
    },
    model_used: 'openai/gpt-4o-mini',
    agent_tier: 'pro',
    iterations: 2,
    tokens: { prompt: 1250, completion: 340, total: 1590, cached: 0, cache_written: 0, reasoning: 0 },
    cost_usd: '0.00039150',
    provider_cost_usd: '0.0001575',
    duration_ms: aNumber(),
    warnings: [],
  });
});

it('shows each model call and each tool call in its trace, when asked', async () => {
  fixture.models.script(toolReply([{ name: 'echo' }, { name: 'ghost' }]), textReply('Done'));
  const { trace = [] } = await fixture.runtime.run(aTask(fixture.tenantId, { include_trace: true }));
  expect(
    trace.map((entry) => [entry.kind, entry.step, entry.kind === 'tool' ? entry.code : entry.finish_reason]),
  ).toEqual([
    ['model', 1, 'tool-calls'],
    ['tool', 1, undefined],
    ['tool', 1, 'TOOL_NOT_FOUND'],
    ['model', 2, 'stop'],
  ]);
});

it('reports the time that passes until servers answer, as durations of the run, its model calls and its tool calls', async () => {
  const tenantId = await addTenant(fixture.database);
  const tools = await startServer((_request, response) => {
    jest.advanceTimersByTime(2000);
    sendJson(response, {});
  });
  await giveTool(fixture.database, tenantId, { code: 'slow', endpoint: tools.url });
  const answerAfter = (ms: number, { body }: { readonly body: unknown }): ScriptedReply => {
    return (_request, response) => {
      jest.advanceTimersByTime(ms);
      sendJson(response, body);
    };
  };
  fixture.models.script(answerAfter(300, toolReply([{ name: 'slow' }])), answerAfter(40, textReply('Done')));
  // Only the clock of durations stands still: time passes when a server lets it.
  jest.useFakeTimers({ doNotFake: everyTimerBut('performance') });
  try {
    const result = await fixture.runtime.run(aTask(tenantId, { include_trace: true }));
    expect(result.duration_ms).toBe(2340);
    expect(result.result.tool_calls).toMatchObject([{ tool: 'slow', duration_ms: 2000 }]);
    expect(result.trace?.map((entry) => [entry.kind, entry.duration_ms])).toEqual([
      ['model', 300],
      ['tool', 2000],
      ['model', 40],
    ]);
  } finally {
    jest.useRealTimers();
    await tools.close();
  }
});

it('has the tools of one step under way at the same time, and gives their results in order', async () => {
  const calls = [0, 1, 2].map((n) => ({ name: 'meet', arguments: { n } }));
  fixture.models.script(toolReply(calls), textReply('Done'));
  const { result } = await fixture.runtime.run(aTask(fixture.tenantId));
  expect(result.tool_calls.map((call) => call.result)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
});

describe('at the limit of iterations', () => {
  const endless = () => toolReply([{ name: 'echo' }], { prompt: 10, completion: 1 });

  it('an error names the limit, and the work and its usage are not lost', async () => {
    fixture.models.script(endless(), endless());
    const task = aTask(fixture.tenantId, { max_iterations: 2 });
    const failure = await failureOf(fixture.runtime.run(task));
    expect(failure).toMatchObject({ code: 'MAX_ITERATIONS_REACHED', message: matching(/all 2 iterations/) });
    expect(failure.result).toMatchObject({ status: 'max_iterations', iterations: 2, tokens: { total: 22 } });
    expect(failure.result?.result.tool_calls).toHaveLength(2);
    expect(await fixture.usageRows(task.task_id)).toMatchObject([{ total_tokens: 22 }]);
  });

  it('a partial answer is a result', async () => {
    fixture.models.script(endless());
    const result = await fixture.runtime.run(
      aTask(fixture.tenantId, { max_iterations: 1, on_max_iterations: 'partial' }),
    );
    expect(result).toMatchObject({ status: 'max_iterations', iterations: 1 });
  });

  it('a final answer is asked for without tools, and billed', async () => {
    fixture.models.script(endless(), textReply('In short', { prompt: 10, completion: 1 }));
    const task = aTask(fixture.tenantId, { max_iterations: 1, on_max_iterations: 'finalAnswer' });
    const result = await fixture.runtime.run(task);
    expect(result).toMatchObject({ status: 'max_iterations', iterations: 2, result: { text: 'In short' } });
    expect(fixture.models.received.at(-1)?.tool_choice).toBe('none');
    expect(await fixture.usageRows(task.task_id)).toMatchObject([{ total_tokens: 22 }]);
  });

  it("the tenant's own limit wins over what the task asks for, and says so", async () => {
    const tenantId = await addTenant(fixture.database, { settings: { max_iterations: 1 } });
    fixture.models.script(endless());
    const failure = await failureOf(fixture.runtime.run(aTask(tenantId, { max_iterations: 9 })));
    expect(failure.result).toMatchObject({ iterations: 1, warnings: [{ code: 'ITERATIONS_CLAMPED' }] });
  });
});

it('tells a listener what happens, in order, and survives one that throws', async () => {
  const events: RunEvent[] = [];
  fixture.models.script(toolReply([{ name: 'echo', id: 'x' }]), textReply('Done'));
  const onEvent = (event: RunEvent): void => {
    events.push(event);
    throw new Error('listener');
  };
  const result = await fixture.runtime.run(aTask(fixture.tenantId), { onEvent });
  expect(events.map((event) => event.type)).toEqual([
    'run-start',
    'step-start',
    'tool-call',
    'tool-result',
    'step-end',
    'step-start',
    'step-end',
    'run-end',
  ]);
  expect(events.at(0)).toMatchObject({ runId: result.run_id, model: 'openai/gpt-4o-mini', tools: 2 });
  expect(events.at(-1)).toMatchObject({ status: 'completed', costUsd: result.cost_usd });
});

describe('before anything is spent', () => {
  it.each([
    [
      'a tenant that does not exist',
      { meta: { tenant_id: '00000000-0000-4000-8000-000000000000' } },
      'TENANT_NOT_FOUND',
    ],
    ['a tenant id that is none', { meta: { tenant_id: "' OR 1=1--" } }, 'TENANT_ID_INVALID'],
    ['a task without a message', { config: {} }, 'INPUT_INVALID'],
    ['no task at all', undefined, 'INPUT_INVALID'],
  ])('%s is refused', async (_what, rest, code) => {
    const before = fixture.models.requests.length;
    const task = rest === undefined ? undefined : { ...aTask(fixture.tenantId), ...rest };
    expect(await failureOf(fixture.runtime.run(task))).toMatchObject({ name: 'RuntimeError', code });
    expect(fixture.models.requests).toHaveLength(before);
  });

  it('a tenant that is not active is refused', async () => {
    const tenantId = await addTenant(fixture.database, { isActive: false });
    expect(await failureOf(fixture.runtime.run(aTask(tenantId)))).toMatchObject({ code: 'TENANT_INACTIVE' });
  });

  it('a database that is not there is told as such', async () => {
    const before = fixture.models.requests.length;
    const runtime = createRuntime({
      database: { url: 'postgres://user:pass@127.0.0.1:9/none' },
      model: { apiKey: 'sk', baseUrl: fixture.models.url },
    });
    const failure = await failureOf(runtime.run(aTask(fixture.tenantId)));
    await runtime.close();
    expect(failure).toMatchObject({ code: 'DB_UNREACHABLE', retryable: true });
    expect(fixture.models.requests).toHaveLength(before);
  });

  it('a database without our tables is told what to do', async () => {
    const runtime = createRuntime({
      database: { url: Object.assign(new URL(fixture.database.url), { pathname: '/postgres' }).href },
      model: { apiKey: 'sk', baseUrl: fixture.models.url },
    });
    const failure = await failureOf(runtime.run(aTask(fixture.tenantId)));
    await runtime.close();
    expect(failure).toMatchObject({ code: 'DB_SCHEMA_MISSING', hint: matching(/prepare-database/) });
  });
});

it('a tier row that cannot be used stops nobody who does not ask for it', async () => {
  await fixture.database.query('ALTER TABLE elo_agent_tiers ALTER COLUMN model_id DROP NOT NULL');
  await fixture.database.query(`INSERT INTO elo_agent_tiers (code, name) VALUES ('half', 'Half a tier')`);
  fixture.models.script(textReply('Done'));
  expect(await fixture.runtime.run(aTask(fixture.tenantId))).toMatchObject({ status: 'completed' });
  expect(await failureOf(fixture.runtime.run(aTask(fixture.tenantId, { agent_tier: 'half' })))).toMatchObject({
    code: 'TIER_UNKNOWN',
  });
});

function aNumber(): unknown {
  return expect.any(Number);
}
