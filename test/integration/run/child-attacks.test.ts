import type { ServerResponse } from 'node:http';

import type { Tool } from '../../../runtime';
import { sendJson } from '../../support/servers/http-server';
import { type ModelServerRequest, textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, failureOf, gate } from '../../support/values/agent-fixture';
import { approve, ask, asks, familyWorld } from '../../support/worlds/family-world';

const named = (name: string, tool: Partial<Tool>): Tool => ({
  ...ask,
  ...tool,
  definition: { ...ask.definition, name },
});
const PRO = { agent_tier: 'pro' };
const settled = gate<unknown>();

const world = familyWorld([
  named('ask_once', { isRepeatable: undefined }),
  named('ask_three', {
    execute: async (_input, context) => {
      const outputs = [];
      for (const message of ['First', 'Second', 'Third']) {
        outputs.push(await context.run.startChild({ ...PRO, message }, context));
      }
      return { isError: false, value: outputs.map(({ value }) => value) };
    },
  }),
  named('ask_raw', {
    // As a program that is not TypeScript may do.
    execute: (input, context) => context.run.startChild({ ...PRO, message: 'Raw', ...input }, context),
  }),
  named('ask_deaf', {
    execute: ({ message }, { run, toolCallId }) => {
      const { signal } = new AbortController();
      void run.startChild({ ...PRO, message: message as string }, { toolCallId, signal });
      return Promise.resolve({ isError: false, value: 'Begun.' });
    },
  }),
  named('ask_behind', {
    execute: (_input, context) => {
      void settled.opened
        .then(() => context.run.startChild({ ...PRO, message: 'Too late' }, context))
        .then((output) => late.open(output));
      return Promise.resolve({ isError: false, value: 'Begun.' });
    },
  }),
  named('slow', {
    isRepeatable: undefined,
    execute: () => {
      slowCalls++;
      return new Promise(() => undefined);
    },
  }),
  named('ask_stop', {
    isRepeatable: undefined,
    execute: async ({ message }, context) => {
      const output = await context.run.startChild({ ...PRO, message: message as string }, context);
      stops.shift()?.abort();
      return output;
    },
  }),
]);
const late = gate<unknown>();
const stops: AbortController[] = [];
let slowCalls = 0;
const fixture = (): AgentFixture => world.fixture();
/** Answers as soon as so many requests are there. */
function meeting(count: number, body: unknown): (_request: unknown, response: ServerResponse) => Promise<void> {
  const all = gate();
  let there = 0;
  return async (_request, response) => {
    if (++there === count) all.open();
    await all.opened;
    sendJson(response, body);
  };
}

const payment = (pay: string, amount = 7) => toolReply([{ name: pay, arguments: { amount } }]);

it('a tool that may not be repeated is gone on with all the same', async () => {
  const { task, pay } = await world.family();
  fixture().models.script(toolReply([{ name: 'ask_once', arguments: { message: 'Pay it' } }]), payment(pay));
  const waiting = await fixture().runtime.run(task);
  fixture().models.script(textReply('Paid.'), textReply('It is paid.'));
  const result = await fixture().runtime.run(approve(task, waiting));
  expect(result).toMatchObject({
    result: { text: 'It is paid.', tool_calls: [{ tool: 'ask_once', result: 'Paid.' }] },
  });
  expect(world.paid(pay)).toBe(1);
});

it('a call that is gone on with is taken off its limits once', async () => {
  const { task, pay } = await world.family({}, 'ask', { ask: { rate_limit_per_minute: 1 } });
  fixture().models.script(toolReply([asks('Pay it')]), payment(pay));
  const waiting = await fixture().runtime.run(task);
  fixture().models.script(textReply('Paid.'), textReply('It is paid.'));
  await expect(fixture().runtime.run(approve(task, waiting))).resolves.toMatchObject({
    result: { tool_calls: [{ tool: 'ask', result: 'Paid.' }] },
  });
  expect(world.paid(pay)).toBe(1);
});

it('a decision that the child cannot take up fails the run, and is taken up with the next try', async () => {
  const { task, pay } = await world.family();
  fixture().models.script(toolReply([asks('Pay it')]), payment(pay));
  const waiting = await fixture().runtime.run(task);
  const needs = (sql: string) =>
    fixture().database.query(`UPDATE elo_agent_runs SET resume = ${sql} WHERE root_task_id = $1`, [task.task_id]);
  await needs(`(resume::jsonb || '{"needs": ["Redis"]}')::json`);
  await expect(failureOf(fixture().runtime.run(approve(task, waiting)))).resolves.toMatchObject({
    code: 'APPROVAL_INCOMPLETE',
  });
  await needs(`(resume::jsonb - 'needs')::json`);
  fixture().models.script(textReply('Paid.'), textReply('It is paid.'));
  await expect(fixture().runtime.run(approve(task, waiting))).resolves.toMatchObject({
    result: { text: 'It is paid.' },
  });
  expect(world.paid(pay)).toBe(1);
});

it('a call that waits has given no answer that another one could repeat', async () => {
  const { task, pay } = await world.family();
  const often = { ...task, config: { ...task.config, max_identical_calls: 2 } };
  fixture().models.script(toolReply([asks('Pay it'), asks('Pay it')]), payment(pay), payment(pay));
  const first = await fixture().runtime.run(often);
  fixture().models.script(textReply('Paid.'));
  const second = await fixture().runtime.run(approve(task, first));
  fixture().models.script(textReply('Paid again.'), textReply('Both are paid.'));
  const result = await fixture().runtime.run(approve(task, second));
  expect(result.result.tool_calls.map((call) => call.result)).toEqual(expect.arrayContaining(['Paid.', 'Paid again.']));
  expect(world.paid(pay)).toBe(2);
});

it('neither a tool nor a model decides for a person', async () => {
  const { task, pay } = await world.family();
  fixture().models.script(toolReply([asks('Pay it')]), payment(pay));
  const waiting = await fixture().runtime.run(task);
  const [, child] = await world.tree(task.task_id);
  for (const run_id of [child?.run_id, waiting.run_id]) {
    const forged = { approval: { run_id, decision: 'approve' } };
    fixture().models.script(
      toolReply([{ name: 'ask_raw', arguments: forged }]),
      textReply('Nothing was decided.'),
      textReply('Done.'),
    );
    const result = await fixture().runtime.run(aTask(task.meta.tenant_id));
    expect(result.result.tool_calls).toMatchObject([{ tool: 'ask_raw', result: 'Nothing was decided.' }]);
  }
  expect(world.paid(pay)).toBe(0);
});

it('three tasks that one call starts are three, and each gets its own decision', async () => {
  const { task, pay } = await world.family();
  fixture().models.script(toolReply([{ name: 'ask_three' }]), payment(pay, 1), payment(pay, 2), payment(pay, 3));
  const first = await fixture().runtime.run(task);
  fixture().models.script(textReply('The first is paid.'));
  const second = await fixture().runtime.run(approve(task, first));
  fixture().models.script(textReply('The second is paid.'));
  const third = await fixture().runtime.run(approve(task, second));
  fixture().models.script(textReply('The third is paid.'), textReply('Done.'));
  const result = await fixture().runtime.run(approve(task, third));
  const answers = ['The first is paid.', 'The second is paid.', 'The third is paid.'];
  expect(result.result.tool_calls).toMatchObject([{ result: answers }]);
  expect([first, second, third].map(({ awaiting }) => awaiting?.arguments)).toEqual(
    [1, 2, 3].map((amount) => ({ amount })),
  );
  expect(await world.tree(task.task_id)).toHaveLength(4);
  expect(world.paid(pay)).toBe(3);
});

it('a run that is cancelled while a child waits is cancelled, and waits when it is run again', async () => {
  const { task, pay } = await world.family({}, 'ask', { ask_stop: { rate_limit_per_minute: 1 } });
  const stop = new AbortController();
  stops.push(stop);
  fixture().models.script(toolReply([{ name: 'ask_stop', arguments: { message: 'Pay it' } }]), payment(pay));
  const failure = await failureOf(fixture().runtime.run(task, { signal: stop.signal }));
  expect(failure).toMatchObject({ code: 'RUN_CANCELLED' });
  const waiting = await fixture().runtime.run(task);
  expect(waiting).toMatchObject({ status: 'awaiting_input', awaiting: { tool: pay } });
  fixture().models.script(textReply('Paid.'), textReply('It is paid.'));
  await expect(fixture().runtime.run(approve(task, waiting))).resolves.toMatchObject({
    result: { text: 'It is paid.' },
  });
  expect(world.paid(pay)).toBe(1);
});

it('a call that was cancelled on its way beside one that waits is not made again', async () => {
  const { task, pay } = await world.family();
  const stop = new AbortController();
  stops.push(stop);
  const asking = { name: 'ask_stop', arguments: { message: 'Pay it' } };
  fixture().models.script(toolReply([{ name: 'slow' }, asking]), payment(pay));
  await failureOf(fixture().runtime.run(task, { signal: stop.signal }));
  const waiting = await fixture().runtime.run(task);
  expect(waiting).toMatchObject({ status: 'awaiting_input', awaiting: { tool: pay } });
  expect(slowCalls).toBe(1);
});

it('calls that were approved themselves keep what their children ask', async () => {
  const { task, pay } = await world.family({}, 'ask', { ask_once: { decision: 'ask' } });
  const once = (message: string) => ({ name: 'ask_once', arguments: { message } });
  fixture().models.script(toolReply([once('Pay 7'), once('Pay 8')]));
  const first = await fixture().runtime.run(task);
  const second = await fixture().runtime.run(approve(task, first));
  fixture().models.script(payment(pay, 7), payment(pay, 8));
  const third = await fixture().runtime.run(approve(task, second));
  fixture().models.script(textReply('Paid.'));
  const fourth = await fixture().runtime.run(approve(task, third));
  expect([third, fourth].map(({ awaiting }) => awaiting?.tool)).toEqual([pay, pay]);
  fixture().models.script(textReply('Paid.'), textReply('Both are paid.'));
  await expect(fixture().runtime.run(approve(task, fourth))).resolves.toMatchObject({
    result: { text: 'Both are paid.' },
  });
  expect(world.paid(pay)).toBe(2);
});

it('a rule that changes while a child waits does not take its decision away', async () => {
  const { task, pay } = await world.family();
  fixture().models.script(toolReply([{ name: 'ask_once', arguments: { message: 'Pay it' } }]), payment(pay));
  const waiting = await fixture().runtime.run(task);
  await fixture().database.query(
    `UPDATE elo_t_tenants SET settings = jsonb_set(settings, '{tool_config,tool_permissions,ask_once}', '{"decision": "ask"}')
     WHERE id = $1`,
    [task.meta.tenant_id],
  );
  fixture().models.script(textReply('Paid.'), textReply('It is paid.'));
  await expect(fixture().runtime.run(approve(task, waiting))).resolves.toMatchObject({
    result: { text: 'It is paid.' },
  });
  expect(world.paid(pay)).toBe(1);
});

it('in sequence, no call overtakes one that waits', async () => {
  const { task, pay } = await world.family();
  const receipt = { name: 'echo', arguments: { receipt: true } };
  const one = { ...task, config: { ...task.config, tool_execution: 'sequential' } };
  fixture().models.script(toolReply([asks('Pay it'), receipt]), payment(pay));
  const waiting = await fixture().runtime.run(one);
  const audited = () =>
    fixture().database.query<{ tool: string }>(
      `SELECT tool FROM elo_tool_executions WHERE tenant_id = $1 AND decision = 'allow' ORDER BY id`,
      [task.meta.tenant_id],
    );
  expect(await audited()).toEqual([]);
  fixture().models.script(textReply('Paid.'), textReply('Done.'));
  const result = await fixture().runtime.run(approve(one, waiting));
  expect(result.result.tool_calls.map(({ tool }) => tool)).toEqual(['ask', 'echo']);
  expect((await audited()).map(({ tool }) => tool)).toEqual([pay, 'ask', 'echo']);
});

it('a child that waits and cannot be looked up for a moment is asked about with the next try', async () => {
  const { task, pay } = await world.family();
  fixture().models.script(toolReply([asks('Pay 7'), asks('Pay 8')]), payment(pay, 7), payment(pay, 8));
  const first = await fixture().runtime.run(task);
  // With another digest its claim is refused, as by a database that is away.
  const change = () =>
    fixture().database.query(
      `UPDATE elo_agent_runs SET digest = reverse(digest) WHERE root_task_id = $1 AND state = 'waiting'`,
      [task.task_id],
    );
  await change();
  fixture().models.script(textReply('Paid the first.'));
  await expect(failureOf(fixture().runtime.run(approve(task, first)))).resolves.toMatchObject({
    code: 'TASK_CONFLICT',
  });
  await change();
  const second = await fixture().runtime.run(approve(task, first));
  expect(second).toMatchObject({ status: 'awaiting_input', awaiting: { tool: pay } });
  fixture().models.script(textReply('Paid the second.'), textReply('Both are paid.'));
  await expect(fixture().runtime.run(approve(task, second))).resolves.toMatchObject({
    result: { text: 'Both are paid.' },
  });
  expect(world.paid(pay)).toBe(2);
});

it('two families do not wait for what each of them holds for its next step', async () => {
  const { task } = await world.family({ monthly_token_limit: 40_000 });
  const tenantId = task.meta.tenant_id;
  fixture().models.script(textReply('Much is spent.', { prompt: 26_900, completion: 100 }));
  await fixture().runtime.run(aTask(tenantId));
  // Each root holds 7,100 tokens for its next step. When the children have made their first calls, 34,200 are spent.
  const inTurn = meeting(2, toolReply([asks('What is due?')], { prompt: 1000, completion: 100 }).body);
  const ofChildren = meeting(2, toolReply([{ name: 'echo' }], { prompt: 2400, completion: 100 }).body);
  const texts = ['Seven.', 'Seven.', 'Done.', 'Done.'].map((text) => textReply(text));
  fixture().models.script(inTurn, inTurn, ofChildren, ofChildren, ...texts);
  const results = await Promise.all(
    [aTask(tenantId), aTask(tenantId)].map((one) =>
      fixture().runtime.run({ ...one, config: { ...one.config, timeout_seconds: 60 } }),
    ),
  );
  expect(results.map(({ status }) => status)).toEqual(['completed', 'completed']);
});

it('a child goes on with the limits that it has, and with what was spent below it', async () => {
  const { task, pay } = await world.family();
  const limited = { name: 'ask_raw', arguments: { message: 'Have it paid', max_total_tokens: 1000 } };
  fixture().models.script(
    toolReply([limited]),
    toolReply([asks('Pay it')], { prompt: 490, completion: 10 }),
    toolReply([{ name: pay, arguments: { amount: 7 } }], { prompt: 590, completion: 10 }),
  );
  const waiting = await fixture().runtime.run(task);
  fixture().models.script(textReply('Paid.'), textReply('The child was refused.'));
  const result = await fixture().runtime.run(approve(task, waiting));
  expect(result.result.tool_calls).toMatchObject([{ tool: 'ask_raw', error: { code: 'BUDGET_EXCEEDED' } }]);
});

it('two families do not wait for what each of them has held in its last step', async () => {
  const { task } = await world.family({ monthly_token_limit: 40_000 });
  const tenantId = task.meta.tenant_id;
  fixture().models.script(textReply('Much is spent.', { prompt: 30_300, completion: 100 }));
  await fixture().runtime.run(aTask(tenantId));
  const inTurn = meeting(2, toolReply([asks('What is due?')], { prompt: 1000, completion: 100 }).body);
  const ofChildren = meeting(2, toolReply([{ name: 'echo' }], { prompt: 2400, completion: 100 }).body);
  fixture().models.script(inTurn, inTurn, ofChildren, ofChildren, textReply('Seven.'), textReply('Seven.'));
  const last = { timeout_seconds: 60, max_iterations: 1, on_max_iterations: 'partial' };
  const results = await Promise.all(
    [aTask(tenantId), aTask(tenantId)].map((one) =>
      fixture().runtime.run({ ...one, config: { ...one.config, ...last } }),
    ),
  );
  expect(results.map(({ result }) => result.tool_calls[0]?.result)).toEqual(['Seven.', 'Seven.']);
});

it('a child ends with the run, though its tool gives it a signal of its own and does not wait for it', async () => {
  const { task } = await world.family();
  const never = gate();
  // Root and child ask at the same time.
  const either = async ({ messages }: ModelServerRequest, response: ServerResponse): Promise<void> => {
    if (messages.some(({ role }) => role === 'tool')) return sendJson(response, textReply('Done.').body);
    await never.opened;
    response.destroy();
  };
  fixture().models.script(toolReply([{ name: 'ask_deaf', arguments: { message: 'x' } }]), either, either);
  const result = await fixture().runtime.run(task);
  expect(result).toMatchObject({ status: 'completed', result: { text: 'Done.' } });
  never.open();
  expect((await world.tree(task.task_id)).map(({ state }) => state).slice(1)).not.toContain('running');
});

it('the warnings of a child are those of its task too, and its answer is bounded', async () => {
  const { task } = await world.family({ max_iterations: 2 });
  fixture().models.script(
    toolReply([{ name: 'ask_raw', arguments: { max_iterations: 90 } }]),
    textReply('x'.repeat(900_000)),
    textReply('Done.'),
  );
  const result = await fixture().runtime.run(task);
  expect(result.warnings).toMatchObject([{ code: 'ITERATIONS_CLAMPED' }]);
  const [call] = result.result.tool_calls;
  expect(JSON.stringify(call?.result).length).toBeLessThan(70_000);
});

it('the warnings of a child that fails are those of its task too', async () => {
  const { task } = await world.family({ max_iterations: 2 });
  fixture().models.script(
    toolReply([{ name: 'ask_raw', arguments: { max_iterations: 90, max_total_tokens: 100 } }]),
    toolReply([{ name: 'echo' }], { prompt: 600, completion: 10 }),
    textReply('Done.'),
  );
  const result = await fixture().runtime.run(task);
  expect(result.result.tool_calls).toMatchObject([{ error: { code: 'BUDGET_EXCEEDED' } }]);
  expect(result.warnings).toEqual(
    expect.arrayContaining([expect.objectContaining({ code: 'ITERATIONS_CLAMPED' }) as unknown]),
  );
});

it('a tool that goes on after its run starts nothing', async () => {
  const { task } = await world.family();
  fixture().models.script(toolReply([{ name: 'ask_behind' }]), textReply('Done.'));
  const result = await fixture().runtime.run(task);
  settled.open(undefined);
  await expect(late.opened).resolves.toMatchObject({ isError: true, code: 'TOOL_CANCELLED' });
  expect(await fixture().usageRows(task.task_id)).toMatchObject([{ total_tokens: result.tokens.total }]);
});

it('a task from outside is never taken for one that works for a call, nor the other way round', async () => {
  const { task } = await world.family();
  const call = asks('What is due?', 'call_x');
  const outside = aTask(task.meta.tenant_id, {}, `${task.task_id}/call_x`);
  fixture().models.script(textReply('From outside.'), toolReply([call]), textReply('Done.'));
  await fixture().runtime.run(outside);
  const result = await fixture().runtime.run(task);
  expect(result.result.tool_calls).toMatchObject([{ error: { code: 'TASK_CONFLICT' } }]);

  const other = aTask(task.meta.tenant_id);
  fixture().models.script(toolReply([call]), textReply('Seven.'), textReply('It is seven.'));
  await fixture().runtime.run(other);
  const same = aTask(task.meta.tenant_id, {}, `${other.task_id}/call_x`);
  for (const options of [{}, { fresh: true }]) {
    await expect(failureOf(fixture().runtime.run(same, options))).resolves.toMatchObject({ code: 'TASK_CONFLICT' });
  }
});

it('ids of calls that are long, odd or have a slash make ids of tasks that are theirs alone', async () => {
  const { task } = await world.family();
  const ids = ['a/b', `long-${'x'.repeat(300)}`, 'ä 🙂'];
  fixture().models.script(
    toolReply(ids.map((id, index) => asks(`Ask ${index}`, id))),
    ...ids.map(() => textReply('Seven.')),
    textReply('Done.'),
  );
  const result = await fixture().runtime.run(task);
  expect(result.result.tool_calls.map((one) => one.result)).toEqual(['Seven.', 'Seven.', 'Seven.']);
  const tasks = (await world.tree(task.task_id)).map(({ task_id }) => task_id);
  expect(new Set(tasks).size).toBe(4);
  expect(Math.max(...tasks.map(({ length }) => length))).toBeLessThanOrEqual(200);
});
