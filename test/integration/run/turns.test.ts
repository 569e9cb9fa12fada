import { randomUUID } from 'node:crypto';

import { createRuntime, schemaFormat, type TurnResult } from '../../../runtime';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { failureOf, type TestTask } from '../../support/values/agent-fixture';
import { heldReply } from '../../support/values/held-reply';
import { plan, review } from '../../support/values/plan-script';
import { crashWorld } from '../../support/worlds/crash-world';

const world = crashWorld();
const runtime = () => world.agent().runtime;
const models = () => world.agent().models;
const usage = { prompt: 1000, completion: 100 };
const pay = (id: string) => toolReply([{ name: 'pay', arguments: { n: 1 }, id }], usage);
const withConfig = async (config: object): Promise<TestTask> => {
  const task = await world.newTask();
  return { ...task, config: { ...task.config, ...config } };
};
async function turnsOf(task: object): Promise<TurnResult[]> {
  const turns: TurnResult[] = [];
  do {
    turns.push(await runtime().turn(task));
  } while (turns.at(-1)?.requires_followup === true);
  return turns;
}

beforeEach(() => {
  models().received.length = 0;
});

it('a turn is one model call with its tool calls; the next one continues, on the same bill line', async () => {
  const task = await world.newTask();
  models().script(pay('a'), pay('b'), textReply('Paid.', usage));
  const turns = await turnsOf(task);
  expect(turns).toMatchObject([
    { requires_followup: true, status: 'max_iterations', iterations: 1, tokens: { total: 1100 } },
    { requires_followup: true, status: 'max_iterations', iterations: 1, tokens: { total: 1100 } },
    { requires_followup: false, status: 'completed', iterations: 1, result: { text: 'Paid.' } },
  ]);
  expect(turns.map(({ result }) => result.tool_calls.length)).toEqual([1, 2, 2]);
  expect(world.received('pay', task.task_id)).toBe(2);
  expect(models().received.map(({ messages }) => messages.length)).toEqual([1, 3, 5]);
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 3, total_tokens: 3300 }]);
  expect(await runtime().turn(task)).toMatchObject({ replayed: true, requires_followup: false });
  expect(await world.journalRows(task.task_id)).toEqual([]);
});

it('between turns nothing is open: no model call, no lease, no room of the month', async () => {
  const task = await world.newTask({ monthly_token_limit: 10_000 });
  models().script(pay('a'));
  await runtime().turn(task);
  expect(await world.modelCallRows(task.task_id)).toEqual([{ step: 1, closed: true, attempt: 1 }]);
  expect(await world.agent().runRow(task.task_id)).toMatchObject({ state: 'failed', lease_until: null });
  models().script(textReply('There is room.'));
  const other = { ...task, task_id: randomUUID() };
  expect(await runtime().run(other)).toMatchObject({ result: { text: 'There is room.' } });
});

it('another process continues, and a run does the rest', async () => {
  const task = await world.newTask();
  models().script(pay('a'));
  await runtime().turn(task);
  const other = createRuntime({
    database: { url: world.agent().database.url, maxConnections: 2 },
    model: { apiKey: 'sk-test-key', baseUrl: models().url },
  });
  models().script(pay('b'), textReply('Paid.'));
  const result = await other.run(task);
  await other.close();
  expect(result).toMatchObject({ status: 'completed', iterations: 2, result: { text: 'Paid.' } });
  expect(result).not.toHaveProperty('requires_followup');
  expect(world.received('pay', task.task_id)).toBe(2);
});

it('a turn that was killed in a tool call is finished by the next one, which asks no model', async () => {
  const task = await withConfig({ tool_execution: 'single' });
  const held = world.holdTool('look');
  models().script(toolReply([{ name: 'look', arguments: {} }]));
  const dying = world.runUntilKilled(task);
  await held.asked;
  await dying.kill();
  held.open();
  await world.letLeaseLapse(task.task_id);
  const asked = models().received.length;
  expect(await runtime().turn(task)).toMatchObject({ requires_followup: true, iterations: 0 });
  expect(models().received).toHaveLength(asked);
  models().script(textReply('Seen.'));
  expect(await runtime().turn(task)).toMatchObject({ requires_followup: false, result: { text: 'Seen.' } });
});

it('calls that are refused hold no turn up', async () => {
  const task = await withConfig({ disabled_tools: ['look'], max_calls_per_tool: 1 });
  models().script(
    toolReply([{ name: 'look' }, { name: 'nothing_like_it' }, { name: 'pay', arguments: 'no JSON' }]),
    pay('a'),
    pay('b'),
    textReply('Paid once.'),
  );
  const turns = await turnsOf(task);
  expect(turns.map(({ iterations }) => iterations)).toEqual([1, 1, 1, 1]);
  expect(world.received('pay', task.task_id)).toBe(1);
});

it('two turns of one task at once are made in order', async () => {
  const task = await world.newTask();
  const held = heldReply(pay('a'));
  models().script(held.reply, textReply('Paid.'));
  const first = runtime().turn(task);
  await held.asked;
  const second = runtime().turn(task);
  held.open();
  expect([await first, await second]).toMatchObject([{ requires_followup: true }, { requires_followup: false }]);
  expect(world.received('pay', task.task_id)).toBe(1);
});

it('limits of the run hold over all turns', async () => {
  const task = await withConfig({ max_iterations: 2, max_calls_per_tool: 1 });
  models().script(pay('a'), pay('b'));
  expect(await runtime().turn(task)).toMatchObject({ requires_followup: true });
  expect(await failureOf(runtime().turn(task))).toMatchObject({ code: 'MAX_ITERATIONS_REACHED' });
  expect(world.received('pay', task.task_id)).toBe(1);
  const cheap = await withConfig({ max_total_tokens: 1000 });
  models().script(pay('a'));
  expect(await failureOf(turnsOf(cheap))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
  expect(models().left()).toBe(0);
});

it('the last step without tools is a turn of its own', async () => {
  const task = await withConfig({ max_iterations: 1, on_max_iterations: 'finalAnswer' });
  models().script(pay('a'), textReply('Enough.'));
  expect(await turnsOf(task)).toMatchObject([
    { requires_followup: true },
    { requires_followup: false, status: 'max_iterations', result: { text: 'Enough.' } },
  ]);
});

it('a call that a person decides on waits, and turns continue after the decision', async () => {
  const rules = { tool_config: { tool_permissions: { pay: { decision: 'ask' } } } };
  const task = await world.newTask(rules);
  models().script(toolReply([{ name: 'look', arguments: {} }]), pay('b'));
  expect(await runtime().turn(task)).toMatchObject({ requires_followup: true });
  const waiting = await runtime().turn(task);
  expect(waiting).toMatchObject({ requires_followup: false, status: 'awaiting_input', awaiting: { tool: 'pay' } });
  const approval = { run_id: waiting.run_id, decision: 'approve' };
  const approved = { config: { approval }, meta: task.meta };
  const asked = models().received.length;
  expect(await runtime().turn(approved)).toMatchObject({ requires_followup: true, task_id: task.task_id });
  expect(models().received).toHaveLength(asked);
  models().script(textReply('Paid.'));
  expect(await runtime().turn(task)).toMatchObject({ requires_followup: false, result: { text: 'Paid.' } });
  expect(world.received('pay', task.task_id)).toBe(1);
});

it('a session keeps one turn of the conversation, when the task has ended', async () => {
  const task = await withConfig({ session_id: randomUUID() });
  const talking = {
    body: toolReply([{ name: 'look' }]).body as { choices: { message: { content: string | null } }[] },
  };
  for (const { message } of talking.body.choices) message.content = 'Let me see.';
  const rows = () =>
    world
      .agent()
      .database.query<{ role: string }>(
        'SELECT role FROM elo_agent_session_messages WHERE tenant_id = $1 ORDER BY no',
        [task.meta.tenant_id],
      );
  models().script(talking, textReply('Seen.'));
  expect(await runtime().turn(task)).toMatchObject({ requires_followup: true });
  expect(await rows()).toEqual([]);
  await runtime().turn(task);
  expect((await rows()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

it('planner, steps and supervisor are turns of their own', async () => {
  const task = await withConfig({ mode: 'plan' });
  models().script(plan('Look'), textReply('Looked.'), review('SUCCESS'), textReply('Done.'));
  const turns = await turnsOf(task);
  expect(turns.at(-1)).toMatchObject({ status: 'completed', result: { text: 'Done.' } });
  expect(turns.length).toBeGreaterThan(2);
  expect(models().left()).toBe(0);
});

it('an answer that is not of its form, or empty, is asked for again in the same turn', async () => {
  const task = await world.newTask();
  const format = schemaFormat({ type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] });
  models().script(pay('a'), textReply('Hm.'), textReply('{"a":1}'));
  const options = { connected: { format } };
  expect(await runtime().turn(task, options)).toMatchObject({ requires_followup: true });
  expect(await runtime().turn(task, options)).toMatchObject({ requires_followup: false, structured_output: { a: 1 } });
  expect(JSON.stringify(models().received.at(-1))).toContain('does not have the required format');
  models().script(textReply(''), textReply(''));
  expect(await failureOf(runtime().turn(await world.newTask()))).toMatchObject({ code: 'LLM_EMPTY_REPLY' });
  expect(models().left()).toBe(0);
});

it.each([[undefined], [null]])(
  'a task without an id is refused, since nothing could continue it: %j',
  async (taskId) => {
    const { config, meta } = await world.newTask();
    expect(await failureOf(runtime().turn({ task_id: taskId, config, meta }))).toMatchObject({
      code: 'INPUT_INVALID',
      message: containing('task_id'),
    });
  },
);

it('a turn reports its events', async () => {
  const task = await world.newTask();
  models().script(textReply('Hi.'));
  const events: string[] = [];
  await runtime().turn(task, { onEvent: ({ type }) => events.push(type) });
  expect(events).toEqual(['run-start', 'step-start', 'step-end', 'run-end']);
});
