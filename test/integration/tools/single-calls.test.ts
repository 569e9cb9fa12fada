import type { Tool } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { type AgentFixture, echoTool, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { aModelRequest } from '../../support/values/model-request';
import { usageOf } from '../../support/values/usage-of';

const MODEL = 'openai/gpt-4o-mini';

/** Uses a thousand tokens of a model on the account of whoever calls it. */
const summarise: Tool = {
  definition: { name: 'summarise', description: 'Makes a text shorter', inputSchema: { type: 'object' } },
  parseInput: (value) => ({ ok: true, value }),
  execute: async (_input, { run: { account } }) => {
    const call = { purpose: 'summarise', modelId: MODEL, promptTokens: 1000, completionTokens: 100 } as const;
    const callNo = await account.reserve(call);
    const reply = {
      message: { role: 'assistant', content: 'Short.' },
      finishReason: 'stop',
      usage: usageOf(900, 100),
    } as const;
    await account.charge(callNo, { request: aModelRequest({ attempts: { sent: 1, answered: 1 } }), reply });
    return { isError: false, value: 'Short.' };
  },
};

/** Does not heed its signal. */
const deaf: Tool = {
  ...echoTool,
  definition: { ...echoTool.definition, name: 'deaf' },
  execute: () => new Promise(() => undefined),
};

let fixture: AgentFixture;

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [echoTool, summarise, deaf] }));
});
afterAll(() => fixture.close());

const rowsOf = (tenantId: string) => ({
  runs: () =>
    fixture.database.query(
      `SELECT task_id, run_id, state, result ->> 'status' AS status FROM elo_agent_runs WHERE tenant_id = $1 ORDER BY created_at`,
      [tenantId],
    ),
  audit: () =>
    fixture.database.query(
      'SELECT task_id, run_id, tool, decision, code FROM elo_tool_executions WHERE tenant_id = $1',
      [tenantId],
    ),
  bill: () =>
    fixture.database.query(
      'SELECT task_type, model_id, model_calls, total_tokens, cost_usd FROM elo_t_token_usage WHERE tenant_id = $1',
      [tenantId],
    ),
  calls: () =>
    fixture.database.query('SELECT purpose, step, call_no FROM elo_agent_model_calls WHERE tenant_id = $1', [tenantId]),
});

it('a call outside a task is a run of its own, which is on no bill where it spends nothing', async () => {
  const tenantId = await addTenant(fixture.database);
  const rows = rowsOf(tenantId);
  await fixture.runtime.tools.call({ tenantId, tool: 'echo', arguments: { n: 1 } });
  const [run, ...others] = await rows.runs();
  expect([run, others]).toMatchObject([{ state: 'done', status: 'completed' }, []]);
  expect(await rows.audit()).toMatchObject([
    { task_id: run?.task_id, run_id: run?.run_id, tool: 'echo', decision: 'allow' },
  ]);
  expect([await rows.bill(), await rows.calls()]).toEqual([[], []]);
});

it('what it spends is on the bill, and counts in the month', async () => {
  const tenantId = await addTenant(fixture.database, { settings: { monthly_token_limit: 1500 } });
  const rows = rowsOf(tenantId);
  const call = () => fixture.runtime.tools.call({ tenantId, tool: 'summarise', arguments: {} });
  await expect(call()).resolves.toMatchObject({ isError: false, value: 'Short.' });
  const line = { task_type: 'tools-call', model_id: MODEL, model_calls: 1, total_tokens: 1000 };
  expect(await rows.bill()).toMatchObject([line]);
  expect(await rows.calls()).toEqual([{ purpose: 'summarise', step: 0, call_no: 1 }]);
  await expect(call()).resolves.toMatchObject({ isError: false });
  const refused = await failureOf(call());
  expect(refused).toMatchObject({ code: 'BUDGET_EXCEEDED' });
  expect(await rows.bill()).toMatchObject([line, line]);
  expect(await rows.calls()).toHaveLength(2);
  expect(await rows.runs()).toMatchObject([
    { state: 'done', status: 'completed' },
    { state: 'done', status: 'completed' },
    { state: 'done', status: 'failed' },
  ]);
});

it('a call that does not end in time is ended, with its run', async () => {
  const tenantId = await addTenant(fixture.database);
  const rows = rowsOf(tenantId);
  const stop = new AbortController();
  const call = fixture.runtime.tools.call({ tenantId, tool: 'deaf', arguments: {}, signal: stop.signal });
  while ((await rows.runs()).length === 0);
  stop.abort();
  await expect(call).resolves.toMatchObject({ isError: true, code: 'TOOL_CANCELLED' });
  expect(await rows.runs()).toMatchObject([{ state: 'done', status: 'failed' }]);
  expect(await rows.audit()).toMatchObject([{ tool: 'deaf', code: 'TOOL_CANCELLED' }]);
});
