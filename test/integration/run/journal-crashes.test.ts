import { textReply, toolReply } from '../../support/servers/model-server';
import { eventually } from '../../support/values/agent-fixture';
import { assertPaired, crashWorld, neverAnswered, toolTexts } from '../../support/worlds/crash-world';

const world = crashWorld();
const models = () => world.agent().models;
const usage = { prompt: 1000, completion: 100 };
const unknown = expect.stringContaining('TOOL_OUTCOME_UNKNOWN') as string;

/** What the model was sent last, which must be a transcript that providers take. */
function lastRequest() {
  const request = models().received.at(-1);
  if (request === undefined) throw new Error('no model was asked');
  assertPaired(request);
  return request;
}

const outcomeOnRecord = (taskId: string) =>
  eventually(async () => ((await world.journalRows(taskId)).some(({ entry }) => entry !== '') ? true : undefined));

it('a process that dies in its second model call: the first is not made again, nor its tool, whose result is on record', async () => {
  const task = await world.newTask();
  const { reply, asked } = neverAnswered();
  models().script(toolReply([{ name: 'pay', arguments: { n: 1 }, id: 'a' }], usage), reply);
  const run = world.runUntilKilled(task);
  await asked;
  await outcomeOnRecord(task.task_id);
  await run.kill();
  const [before] = models().received.slice(-1);

  models().script(textReply('Paid.', usage));
  const result = await world.runAgain(task);
  expect(result).toMatchObject({ status: 'completed', iterations: 1, tokens: { total: 1100 } });
  expect(result.result.tool_calls).toMatchObject([{ tool: 'pay', result: { done: 'pay', input: { n: 1 } } }]);
  expect(lastRequest().messages).toEqual(before?.messages);
  expect(world.received('pay', task.task_id)).toBe(1);
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 2, total_tokens: 2200 }]);
  expect(await world.modelCallRows(task.task_id)).toEqual([
    { attempt: 1, step: 1, closed: true },
    { attempt: 1, step: 2, closed: false },
    { attempt: 2, step: 2, closed: true },
  ]);
  expect(await world.codes(task.task_id)).toEqual([null]);
  expect(await world.journalRows(task.task_id)).toEqual([]);
});

it('before the result is on record, the model is told that nobody knows it, and the tool is not called again', async () => {
  const task = await world.newTask();
  const { reply, asked } = neverAnswered();
  const pay = world.holdTool('pay');
  models().script(
    toolReply(
      [
        { name: 'pay', id: 'a' },
        { name: 'look', id: 'b' },
      ],
      usage,
    ),
    reply,
  );
  const run = world.runUntilKilled(task);
  await pay.asked;
  const { endWriters } = await world.blockWrites(task.task_id);
  pay.open();
  await asked;
  await run.kill();
  await endWriters();

  models().script(textReply('I do not know.', usage));
  const result = await world.runAgain(task);
  expect(result.status).toBe('completed');
  expect(toolTexts(lastRequest())).toEqual([unknown, expect.stringContaining('"done":"look"')]);
  expect([world.received('pay', task.task_id), world.received('look', task.task_id)]).toEqual([1, 2]);
  expect(await world.codes(task.task_id)).toEqual(['TOOL_OUTCOME_UNKNOWN', null]);
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 2, total_tokens: 2200 }]);
});

it('a call that its server has received and not answered is not sent again', async () => {
  const task = await world.newTask();
  const pay = world.holdTool('pay');
  models().script(toolReply([{ name: 'pay', id: 'a' }], usage));
  const run = world.runUntilKilled(task);
  await pay.asked;
  await run.kill();
  pay.open();
  expect(await world.journalRows(task.task_id)).toMatchObject([{ step: 1, entry: '' }]);

  models().script(textReply('I shall look.', usage));
  const result = await world.runAgain(task);
  expect(result.result.tool_calls).toMatchObject([{ tool: 'pay', error: { code: 'TOOL_OUTCOME_UNKNOWN' } }]);
  expect(toolTexts(lastRequest())).toEqual([unknown]);
  expect(world.received('pay', task.task_id)).toBe(1);
  expect(await world.modelCallRows(task.task_id)).toEqual([
    { attempt: 1, step: 1, closed: true },
    { attempt: 1, step: 2, closed: false },
    { attempt: 2, step: 2, closed: true },
  ]);
});

it('a call of a tool that may be repeated is made again', async () => {
  const task = await world.newTask();
  const look = world.holdTool('look');
  models().script(toolReply([{ name: 'look', arguments: { n: 1 }, id: 'a' }], usage));
  const run = world.runUntilKilled(task);
  await look.asked;
  await run.kill();
  look.open();

  models().script(textReply('Seen.', usage));
  const result = await world.runAgain(task);
  expect(result.result.tool_calls).toMatchObject([{ tool: 'look', result: { done: 'look' } }]);
  expect(toolTexts(lastRequest())).toEqual([expect.stringContaining('"done":"look"')]);
  expect(world.received('look', task.task_id)).toBe(2);
});

it('what one call of a step gave is on record while another is still at work', async () => {
  const task = await world.newTask();
  const slow = world.holdTool('pay');
  models().script(
    toolReply(
      [
        { name: 'pay', id: 'slow' },
        { name: 'pay', arguments: { n: 2 }, id: 'quick' },
      ],
      usage,
    ),
  );
  const run = world.runUntilKilled(task);
  await slow.asked;
  await outcomeOnRecord(task.task_id);
  await run.kill();
  slow.open();

  models().script(textReply('Half.', usage));
  await world.runAgain(task);
  expect(toolTexts(lastRequest())).toHaveLength(2);
  expect(toolTexts(lastRequest()).filter((text) => text.includes('TOOL_OUTCOME_UNKNOWN'))).toHaveLength(1);
  expect(world.received('pay', task.task_id)).toBe(2);
});

it('two crashes in a row, in different steps, and one more attempt', async () => {
  const task = await world.newTask();
  const first = world.holdTool('pay');
  models().script(toolReply([{ name: 'pay', id: 'a' }], usage));
  const one = world.runUntilKilled(task);
  await first.asked;
  await one.kill();
  first.open();

  await world.letLeaseLapse(task.task_id);
  const second = world.holdTool('look');
  models().script(toolReply([{ name: 'look', id: 'a' }], usage));
  const two = world.runUntilKilled(task);
  await second.asked;
  await two.kill();
  second.open();

  models().script(toolReply([{ name: 'pay', arguments: { n: 2 }, id: 'a' }], usage), textReply('Done.', usage));
  const result = await world.runAgain(task);
  expect(result).toMatchObject({ status: 'completed', iterations: 2, tokens: { total: 2200 } });
  expect(result.result.tool_calls.map(({ tool, error }) => [tool, error !== undefined])).toEqual([
    ['pay', true],
    ['look', false],
    ['pay', false],
  ]);
  expect(toolTexts(lastRequest())).toHaveLength(3);
  expect(new Set(lastRequest().messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id))).size).toBe(3);
  expect([world.received('pay', task.task_id), world.received('look', task.task_id)]).toEqual([2, 2]);
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 4, total_tokens: 4400 }]);
  expect(await world.modelCallRows(task.task_id)).toEqual([
    { attempt: 1, step: 1, closed: true },
    { attempt: 1, step: 2, closed: false },
    { attempt: 2, step: 2, closed: true },
    { attempt: 2, step: 3, closed: false },
    { attempt: 3, step: 3, closed: true },
    { attempt: 3, step: 4, closed: true },
  ]);
  expect(await world.agent().runRow(task.task_id)).toMatchObject({ state: 'done', attempt: 3 });
});

it('an approved call that was sent is not sent again, by whoever goes on with the task', async () => {
  const task = await world.newTask({ tool_config: { tool_permissions: { pay: { decision: 'ask' } } } });
  models().script(toolReply([{ name: 'look', id: 'a' }], usage), toolReply([{ name: 'pay', id: 'b' }], usage));
  const waiting = await world.agent().runtime.run(task);
  expect(waiting.status).toBe('awaiting_input');
  const pay = world.holdTool('pay');
  const approval = { run_id: waiting.run_id, decision: 'approve' };
  const run = world.runUntilKilled({ ...task, config: { ...task.config, approval } });
  await pay.asked;
  await run.kill();
  pay.open();

  models().script(textReply('I shall look.', usage));
  const result = await world.runAgain(task);
  expect(result).toMatchObject({ status: 'completed', iterations: 1 });
  expect(toolTexts(lastRequest())).toEqual([expect.stringContaining('"done":"look"'), unknown]);
  expect([world.received('pay', task.task_id), world.received('look', task.task_id)]).toEqual([1, 1]);
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 3 }]);
});
