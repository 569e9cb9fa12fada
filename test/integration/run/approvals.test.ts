import { randomUUID } from 'node:crypto';

import type { AgentResult } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;
let servers: TestServer;
let nextCode = 0;

beforeAll(async () => {
  fixture = await startAgentFixture();
  servers = await startServer((_request, response) => sendJson(response, { sent: true }));
});
afterAll(async () => {
  await fixture.close();
  await servers.close();
});

/** A tenant whose tool `pay` needs an approval, and a run of it that waits for one. */
async function waitingRun(calls: readonly { name: string; arguments?: object }[] = []): Promise<{
  tenantId: string;
  pay: string;
  task: ReturnType<typeof aTask>;
  waiting: AgentResult;
}> {
  const pay = `pay_${nextCode++}`;
  const tenantId = await addTenant(fixture.database, {
    settings: { tool_config: { tool_permissions: { [pay]: { decision: 'ask', rate_limit_per_minute: 1 } } } },
  });
  await giveTool(fixture.database, tenantId, { code: pay, endpoint: servers.url });
  const asked = [{ name: 'echo', arguments: { n: 1 } }, { name: pay, arguments: { amount: 7 } }, ...calls];
  fixture.models.script(toolReply(asked));
  const plain = aTask(tenantId);
  const task = { ...plain, meta: { ...plain.meta, client_id: 'client-7' } };
  return { tenantId, pay, task, waiting: await fixture.runtime.run(task) };
}

const approve = (task: ReturnType<typeof aTask>, runId: string, decision = 'approve') => ({
  ...task,
  config: { ...task.config, approval: { run_id: runId, decision } },
});
const paid = (pay: string) => servers.requests.filter(({ body }) => body.includes(`"tool":"${pay}"`)).length;

it('a call that needs one ends the run before anything of its step is done, and says what is asked', async () => {
  const { pay, waiting, task } = await waitingRun();
  expect(waiting).toMatchObject({
    status: 'awaiting_input',
    iterations: 1,
    result: { text: '', tool_calls: [] },
    awaiting: { tool: pay, arguments: { amount: 7 }, reason: containing(pay) },
  });
  expect(paid(pay)).toBe(0);
  expect(await fixture.runRow(task.task_id)).toMatchObject({ state: 'waiting', lease_until: null });
  expect(await fixture.usageRows(task.task_id)).toMatchObject([{ model_calls: 1 }]);
});

it('approved, the run goes on where it was: the calls as they were asked, one bill, one answer', async () => {
  const { pay, waiting, task } = await waitingRun();
  fixture.models.script(textReply('Paid.'));
  const result = await fixture.runtime.run(approve(task, waiting.run_id));
  expect(result).toMatchObject({
    status: 'completed',
    task_id: task.task_id,
    iterations: 1,
    result: { text: 'Paid.' },
  });
  expect(result.result.tool_calls).toMatchObject([
    { tool: 'echo', arguments: { n: 1 } },
    { tool: pay, arguments: { amount: 7 }, result: { sent: true } },
  ]);
  expect(paid(pay)).toBe(1);
  const sent = fixture.models.received.at(-1)?.messages.map(({ role }) => role);
  expect(sent).toEqual(['user', 'assistant', 'tool', 'tool']);
  expect(await fixture.usageRows(task.task_id)).toMatchObject([{ model_calls: 2 }]);
  const audit = await fixture.database.query('SELECT decision FROM elo_tool_executions WHERE tool = $1 ORDER BY id', [
    pay,
  ]);
  expect(audit).toEqual([{ decision: 'ask' }, { decision: 'allow' }]);
});

it('refused, the model is told so and answers without it', async () => {
  const { pay, waiting, task } = await waitingRun();
  fixture.models.script(textReply('I did not pay.'));
  const result = await fixture.runtime.run(approve(task, waiting.run_id, 'deny'));
  expect(result.result.tool_calls[1]).toMatchObject({ tool: pay, error: { code: 'TOOL_APPROVAL_DENIED' } });
  expect(paid(pay)).toBe(0);
});

it('may come with nothing but the run, which goes on with the model and the context that it had', async () => {
  const { tenantId, waiting, task } = await waitingRun();
  fixture.models.script(textReply('Paid.'));
  const result = await fixture.runtime.run({
    config: { approval: { run_id: waiting.run_id, decision: 'approve' } },
    meta: { tenant_id: tenantId },
  });
  expect(result).toMatchObject({ status: 'completed', task_id: task.task_id, agent_tier: 'pro' });
  expect(JSON.parse(servers.requests.at(-1)?.body ?? '')).toMatchObject({ meta: { client_id: 'client-7' } });
});

it('is for one call: the next one is asked for again, with the first still approved', async () => {
  const { pay, task, waiting } = await waitingRun([{ name: 'echo', arguments: { n: 2 } }]);
  fixture.models.script(toolReply([{ name: pay, arguments: { amount: 9 } }]));
  const again = await fixture.runtime.run(approve(task, waiting.run_id));
  expect(again).toMatchObject({ status: 'awaiting_input', awaiting: { arguments: { amount: 9 } } });
  expect(again.result.tool_calls).toHaveLength(3);
  fixture.models.script(textReply('Done.'));
  const last = await fixture.runtime.run(approve(task, again.run_id));
  // Its limit of one call a minute holds for approved calls too.
  expect(last.result.tool_calls.map(({ error }) => (error as { code?: string } | undefined)?.code)).toEqual([
    undefined,
    undefined,
    undefined,
    'TOOL_LIMIT_REACHED',
  ]);
  expect(paid(pay)).toBe(1);
});

it('given twice, at once or later, pays once and answers alike', async () => {
  const { pay, task, waiting } = await waitingRun();
  fixture.models.script(textReply('Paid.'));
  const both = await Promise.all([1, 2].map(() => fixture.runtime.run(approve(task, waiting.run_id))));
  const later = await fixture.runtime.run(approve(task, waiting.run_id));
  expect([...both, later].map(({ result }) => result.text)).toEqual(['Paid.', 'Paid.', 'Paid.']);
  expect([...both, later].filter(({ replayed }) => replayed === true)).toHaveLength(2);
  expect(paid(pay)).toBe(1);
});

it('tells in audit and run who decided, and refuses another decision in words', async () => {
  const { tenantId, pay, waiting } = await waitingRun();
  const decide = (decision: 'approve' | 'deny', userId: string) =>
    fixture.runtime.admin.approval.decide({ tenantId, runId: waiting.run_id, decision, userId });
  fixture.models.script(textReply('Paid.'));
  expect(await decide('approve', 'boss@corp')).toMatchObject({ status: 'completed' });
  const { run } = fixture.runtime.admin;
  const [entry] = (await run.list({ tenantId })).runs;
  expect(entry).toMatchObject({ decision: 'approve', decided_by: 'boss@corp', decided_at: expect.any(Date) as Date });
  const { tool_calls: audit } = await run.get({ tenantId, id: entry?.task_id ?? '' });
  expect(audit.filter(({ tool }) => tool === pay).map(({ decision, decided_by: by }) => [decision, by])).toEqual([
    ['allow', 'boss@corp'],
    ['ask', null],
  ]);
  expect(audit.find(({ tool }) => tool === 'echo')).toMatchObject({ decided_by: null });
  const refused = await failureOf(decide('deny', 'other@corp'));
  expect(refused.code).toBe('APPROVAL_CONTRADICTED');
  expect(refused.message).toMatch(/already approved by "boss@corp" at 20\d\d-/);
  expect(await decide('approve', 'third@corp')).toMatchObject({ replayed: true });
  expect([paid(pay), (await run.list({ tenantId })).runs[0]?.decided_by]).toEqual([1, 'boss@corp']);
});

it('whose run failed goes on when it is given again, and pays once', async () => {
  const { pay, task, waiting } = await waitingRun();
  fixture.models.script({ status: 503, body: { error: { message: 'busy' } } });
  const failure = await failureOf(fixture.runtime.run(approve(task, waiting.run_id)));
  expect([failure.code, paid(pay)]).toEqual(['LLM_UNAVAILABLE', 1]);
  fixture.models.script({ status: 400, body: { error: { message: 'no' } } });
  expect(await failureOf(fixture.runtime.run(approve(task, waiting.run_id)))).toMatchObject({
    code: 'LLM_BAD_REQUEST',
  });
  fixture.models.script(textReply('Paid.'));
  const result = await fixture.runtime.run(approve(task, waiting.run_id));
  expect(result).toMatchObject({ status: 'completed', iterations: 1, result: { text: 'Paid.' } });
  expect(result.result.tool_calls).toMatchObject([{ tool: 'echo' }, { tool: pay, result: { sent: true } }]);
  const later = await fixture.runtime.run(approve(task, waiting.run_id));
  expect([later.replayed, later.result.text, paid(pay)]).toEqual([true, 'Paid.', 1]);
  expect(await fixture.database.query('SELECT resume FROM elo_agent_runs WHERE task_id = $1', [task.task_id])).toEqual([
    { resume: null },
  ]);
});

it('the same task without one gets the same question again, and spends nothing', async () => {
  const { task, waiting } = await waitingRun();
  const again = await fixture.runtime.run(task);
  expect(again).toMatchObject({ status: 'awaiting_input', replayed: true, run_id: waiting.run_id });
});

it("of another tenant's run, or of none, is refused", async () => {
  const { pay, waiting } = await waitingRun();
  const stranger = await addTenant(fixture.database);
  for (const runId of [waiting.run_id, randomUUID()]) {
    const failure = await failureOf(fixture.runtime.run(approve(aTask(stranger), runId)));
    expect(failure).toMatchObject({ code: 'APPROVAL_UNKNOWN', message: containing(runId) });
  }
  expect(paid(pay)).toBe(0);
});

it('is not enough for a tool that was taken away meanwhile', async () => {
  const { pay, tenantId, task, waiting } = await waitingRun();
  await fixture.database.query('DELETE FROM elo_t_tenant_tools WHERE tenant_id = $1', [tenantId]);
  fixture.models.script(textReply('I could not.'));
  const result = await fixture.runtime.run(approve(task, waiting.run_id));
  expect(result.result.tool_calls[1]).toMatchObject({ error: { code: 'TOOL_NOT_FOUND' } });
  expect(paid(pay)).toBe(0);
});
