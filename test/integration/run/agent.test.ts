import { type RunEvent } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer } from '../../support/servers/http-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { matching } from '../../support/setup/matchers';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { everyTimerBut } from '../../support/values/timers';

let fixture: AgentFixture;

beforeAll(async () => {
  fixture = await startAgentFixture();
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

it("the tenant's own limit of iterations wins over what the task asks for, and says so", async () => {
  const tenantId = await addTenant(fixture.database, { settings: { max_iterations: 1 } });
  fixture.models.script(toolReply([{ name: 'echo' }]));
  const failure = await failureOf(fixture.runtime.run(aTask(tenantId, { max_iterations: 9 })));
  expect(failure.result).toMatchObject({ iterations: 1, warnings: [{ code: 'ITERATIONS_CLAMPED' }] });
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
  expect(events.at(0)).toMatchObject({ runId: result.run_id, model: 'openai/gpt-4o-mini', tools: 1 });
  expect(events.at(-1)).toMatchObject({ status: 'completed', costUsd: result.cost_usd });
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
