import { randomUUID } from 'node:crypto';

import { Client } from 'pg';

import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, eventually, failureOf } from '../../support/values/agent-fixture';
import { approve, asks, familyWorld } from '../../support/worlds/family-world';

const world = familyWorld();
const fixture = (): AgentFixture => world.fixture();
const asked = (): number => fixture().models.received.length;

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  return client;
}

it('a child is a task of its own, with a transcript of its own, on the line of the task that it works for', async () => {
  const { task } = await world.family();
  fixture().models.script(
    toolReply([asks('What is due?')], { prompt: 100, completion: 10 }),
    textReply('Seven.', { prompt: 20, completion: 2 }),
    textReply('It is seven.', { prompt: 130, completion: 5 }),
  );
  const result = await fixture().runtime.run(task);
  expect(result).toMatchObject({ status: 'completed', iterations: 2, tokens: { prompt: 250, completion: 17 } });
  expect(result.result.tool_calls).toMatchObject([{ tool: 'ask', result: 'Seven.' }]);
  expect(fixture().models.received.at(-2)?.messages).toEqual([{ role: 'user', content: 'What is due?' }]);
  const tree = await world.tree(task.task_id);
  expect(tree).toMatchObject([{ state: 'done' }, { state: 'done' }]);
  expect(tree[1]?.task_id.startsWith(`${task.task_id}/call`)).toBe(true);
  const [line, ...others] = await fixture().usageRows(task.task_id);
  expect(others).toEqual([]);
  expect(line).toMatchObject({ run_id: result.run_id, model_calls: 3, total_tokens: 267, cost_usd: result.cost_usd });
  expect(await fixture().usageRows(tree[1]?.task_id ?? '')).toEqual([]);
  const { runs } = await fixture().runtime.admin.run.list({ tenantId: task.meta.tenant_id });
  expect(runs.map(({ task_id }) => task_id)).toEqual([task.task_id]);
});

it('an approval two runs below makes all of them wait, and after a restart all go on once', async () => {
  const { task, pay } = await world.family();
  const before = asked();
  fixture().models.script(
    toolReply([{ name: 'echo', arguments: { n: 1 } }, asks('Ask further')]),
    toolReply([asks('Pay it')]),
    toolReply([{ name: pay, arguments: { amount: 7 } }]),
  );
  const waiting = await fixture().runtime.run(task);
  expect(waiting).toMatchObject({ status: 'awaiting_input', awaiting: { tool: pay, arguments: { amount: 7 } } });
  expect((await world.tree(task.task_id)).map(({ state }) => state)).toEqual(['waiting', 'waiting', 'waiting']);
  const { approvals } = await fixture().runtime.admin.approval.list({ tenantId: task.meta.tenant_id });
  expect(approvals).toMatchObject([{ run_id: waiting.run_id, task_id: task.task_id, tool: pay }]);
  expect(world.paid(pay)).toBe(0);

  fixture().models.script(textReply('Paid.'), textReply('It is paid.'), textReply('All is paid.'));
  const result = await world.elsewhere((runtime) => runtime.run(approve(task, waiting)));
  expect(result).toMatchObject({ status: 'completed', result: { text: 'All is paid.' } });
  expect(result.result.tool_calls).toMatchObject([{ tool: 'echo' }, { tool: 'ask', result: 'It is paid.' }]);
  expect(world.paid(pay)).toBe(1);
  expect(asked() - before).toBe(6);
  expect((await world.tree(task.task_id)).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
  expect(await fixture().usageRows(task.task_id)).toMatchObject([{ model_calls: 6 }]);

  const again = await fixture().runtime.run(approve(task, waiting));
  expect(again).toMatchObject({ replayed: true, result: { text: 'All is paid.' } });
  expect([world.paid(pay), asked() - before]).toEqual([1, 6]);
});

it('a decision is for the run that asks: the child is told of a denial, and its parent of the answer', async () => {
  const { task, pay } = await world.family();
  fixture().models.script(toolReply([asks('Pay it')]), toolReply([{ name: pay, arguments: { amount: 7 } }]));
  const waiting = await fixture().runtime.run(task);
  fixture().models.script(textReply('I may not.'), textReply('It was not paid.'));
  const result = await fixture().runtime.run(approve(task, waiting, 'deny'));
  expect(result).toMatchObject({
    status: 'completed',
    result: { tool_calls: [{ tool: 'ask', result: 'I may not.' }] },
  });
  expect(JSON.stringify(fixture().models.received.at(-2)?.messages)).toContain('TOOL_APPROVAL_DENIED');
  expect(world.paid(pay)).toBe(0);
});

it('who decided stands with the call that was decided on, and with nothing else', async () => {
  const { task, pay } = await world.family();
  const ofAda = { ...task, meta: { ...task.meta, user_id: 'ada' } };
  fixture().models.script(toolReply([asks('Pay it')]), toolReply([{ name: pay, arguments: { amount: 7 } }]));
  const waiting = await fixture().runtime.run(ofAda);
  fixture().models.script(textReply('Paid.'), textReply('It is paid.'));
  const approved = approve(task, waiting);
  await fixture().runtime.run({ ...approved, meta: { ...approved.meta, user_id: 'grace' } });
  const audit = await fixture().database.query(
    `SELECT tool, user_id, decided_by FROM elo_tool_executions WHERE tenant_id = $1 AND decision = 'allow' ORDER BY id`,
    [task.meta.tenant_id],
  );
  expect(audit).toEqual([
    { tool: pay, user_id: 'ada', decided_by: 'grace' },
    { tool: 'ask', user_id: 'ada', decided_by: null },
  ]);
});

it('a call that a person has allowed is not asked about again when its child asks', async () => {
  const { task, pay } = await world.family({}, 'ask', { ask: { decision: 'ask' } });
  fixture().models.script(toolReply([asks('Pay it')]));
  const first = await fixture().runtime.run(task);
  expect(first.awaiting).toMatchObject({ tool: 'ask' });
  fixture().models.script(toolReply([{ name: pay, arguments: { amount: 7 } }]));
  const second = await fixture().runtime.run(approve(task, first));
  expect(second.awaiting).toMatchObject({ tool: pay });
  fixture().models.script(textReply('Paid.'), textReply('It is paid.'));
  const result = await fixture().runtime.run(approve(task, second));
  expect(result).toMatchObject({ status: 'completed', result: { text: 'It is paid.' } });
  expect(world.paid(pay)).toBe(1);
});

it('what a child asks again after a denial is decided anew', async () => {
  const { task, pay } = await world.family();
  const again = toolReply([{ name: pay, arguments: { amount: 7 } }]);
  fixture().models.script(toolReply([asks('Pay it')]), again);
  const first = await fixture().runtime.run(task);
  fixture().models.script(again);
  const second = await fixture().runtime.run(approve(task, first, 'deny'));
  expect(second).toMatchObject({ status: 'awaiting_input', awaiting: { arguments: { amount: 7 } } });
  fixture().models.script(textReply('Paid.'), textReply('It is paid.'));
  await expect(fixture().runtime.run(approve(task, second))).resolves.toMatchObject({
    result: { text: 'It is paid.' },
  });
  expect(world.paid(pay)).toBe(1);
});

it('two children of one step that wait are decided on one after the other', async () => {
  const { task, pay } = await world.family();
  const [one, other] = [7, 8].map((amount) => [{ name: pay, arguments: { amount } }]);
  fixture().models.script(toolReply([asks('Pay 7'), asks('Pay 8')]), toolReply(one ?? []), toolReply(other ?? []));
  const first = await fixture().runtime.run(task);
  expect(first).toMatchObject({ status: 'awaiting_input' });
  fixture().models.script(textReply('Paid the first.'));
  const second = await fixture().runtime.run(approve(task, first));
  expect(second).toMatchObject({ status: 'awaiting_input' });
  expect(new Set([first, second].map(({ awaiting }) => JSON.stringify(awaiting?.arguments))).size).toBe(2);
  fixture().models.script(textReply('Paid the second.'), textReply('Both are paid.'));
  const result = await fixture().runtime.run(approve(task, second));
  expect(result).toMatchObject({ status: 'completed', result: { text: 'Both are paid.' } });
  expect(world.paid(pay)).toBe(2);
  expect(await fixture().usageRows(task.task_id)).toMatchObject([{ model_calls: 6 }]);
});

it('a child that waits is not decided on past its parent', async () => {
  const { task, pay } = await world.family();
  fixture().models.script(toolReply([asks('Pay it')]), toolReply([{ name: pay, arguments: { amount: 7 } }]));
  await fixture().runtime.run(task);
  const [, child] = await world.tree(task.task_id);
  const failure = await failureOf(
    fixture().runtime.run(approve(aTask(task.meta.tenant_id), { run_id: child?.run_id ?? '' })),
  );
  expect(failure).toMatchObject({ code: 'APPROVAL_UNKNOWN' });
  expect(world.paid(pay)).toBe(0);
});

it('runs are nested three levels below a task, and no further', async () => {
  const { task } = await world.family();
  const deeper = [1, 2, 3, 4].map((level) => toolReply([asks(`Level ${level}`)]));
  fixture().models.script(...deeper, ...[4, 3, 2, 1].map((level) => textReply(`Answer ${level}`)));
  const result = await fixture().runtime.run(task);
  expect(result).toMatchObject({ status: 'completed', result: { text: 'Answer 1' } });
  expect(await world.tree(task.task_id)).toHaveLength(4);
  expect(JSON.stringify(fixture().models.received.at(-4)?.messages)).toContain('TOOL_TOO_DEEP');
});

it('what a child spends counts towards the limit of the run that it works for', async () => {
  const { task } = await world.family();
  const usage = { prompt: 600, completion: 10 };
  fixture().models.script(toolReply([asks('What is due?')], usage), toolReply([{ name: 'echo' }], usage));
  const failure = await failureOf(
    fixture().runtime.run({ ...task, config: { ...task.config, max_total_tokens: 1000 } }),
  );
  expect(failure).toMatchObject({ code: 'BUDGET_EXCEEDED', result: { tokens: { total: 1220 } } });
  expect(await fixture().usageRows(task.task_id)).toMatchObject([{ model_calls: 2, total_tokens: 1220 }]);
});

it('a child has room where its parent alone holds the rest of the month', async () => {
  const { task } = await world.family({ monthly_token_limit: 20_000 });
  const usage = { prompt: 10_000, completion: 500 };
  fixture().models.script(toolReply([asks('What is due?')], usage), textReply('Seven.'), textReply('It is seven.'));
  const result = await fixture().runtime.run({ ...task, config: { ...task.config, timeout_seconds: 30 } });
  expect(result).toMatchObject({ status: 'completed', result: { text: 'It is seven.' } });
});

it('a task that is cancelled cancels its children, and has their usage on its line', async () => {
  const { task } = await world.family();
  const stop = new AbortController();
  fixture().models.script(
    toolReply([asks('What is due?')], { prompt: 100, completion: 10 }),
    toolReply([{ name: 'echo' }], { prompt: 50, completion: 5 }),
    () => stop.abort(),
  );
  const failure = await failureOf(fixture().runtime.run(task, { signal: stop.signal }));
  expect(failure).toMatchObject({ code: 'RUN_CANCELLED' });
  expect((await world.tree(task.task_id)).map(({ state }) => state)).toEqual(['failed', 'failed']);
  expect(await fixture().usageRows(task.task_id)).toMatchObject([{ model_calls: 2, total_tokens: 165 }]);
});

it('a task that is cancelled ends after its children', async () => {
  const { task } = await world.family();
  const stop = new AbortController();
  const { database } = fixture();
  const [blocker, watcher] = await Promise.all([connect(database.url), connect(database.url)]);
  fixture().models.script(toolReply([asks('What is due?')]), async () => {
    // The end of the child cannot be written as long as its row is locked.
    await blocker.query('BEGIN');
    await blocker.query('SELECT FROM elo_agent_runs WHERE root_task_id = $1 FOR UPDATE', [task.task_id]);
    stop.abort();
  });
  const failing = failureOf(fixture().runtime.run(task, { signal: stop.signal }));
  await eventually(async () => {
    const { rows } = await watcher.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length > 0 ? true : undefined;
  });
  expect(await fixture().runRow(task.task_id)).toMatchObject({ state: 'running' });
  await blocker.query('ROLLBACK');
  await expect(failing).resolves.toMatchObject({ code: 'RUN_CANCELLED' });
  expect((await world.tree(task.task_id)).map(({ state }) => state)).toEqual(['failed', 'failed']);
  await Promise.all([blocker.end(), watcher.end()]);
});

it('a manual test begins its children afresh, though their calls have the ids of the test before', async () => {
  const { task } = await world.family();
  const call = asks('What is due?', `same-${randomUUID()}`);
  for (const answer of ['Seven.', 'Eight.']) {
    fixture().models.script(toolReply([call]), textReply(answer), textReply('Done.'));
    const result = await fixture().runtime.run(task, { fresh: true });
    expect(result.result.tool_calls).toMatchObject([{ tool: 'ask', result: answer }]);
  }
});
