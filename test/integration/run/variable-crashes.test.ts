import { addTool, enableTool } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { eventually } from '../../support/values/agent-fixture';
import { crashWorld, neverAnswered } from '../../support/worlds/crash-world';

const world = crashWorld();
const models = () => world.agent().models;
const usage = { prompt: 1000, completion: 100 };
let setVariable: number;

beforeAll(async () => {
  const row = { code: 'set_variable', transport: 'builtin', endpoint: null };
  setVariable = await addTool(world.agent().database, row);
});

async function newTask(variables: object, settings: object = {}) {
  const { meta, config, ...task } = await world.newTask(settings);
  await enableTool(world.agent().database, { tenantId: meta.tenant_id, toolId: setVariable });
  return { ...task, meta, config: { ...config, variables, system_prompt: 'Serve {{who}}.' } };
}

/** Waits until so many calls that ended are on record. */
const written = (taskId: string, count: number) =>
  eventually(async () => {
    const rows = await world.journalRows(taskId);
    return rows.filter(({ entry }) => entry !== '').length === count ? true : undefined;
  });
const set = (name: string, value: unknown, id: string) => ({ name: 'set_variable', arguments: { name, value }, id });
const pay = (n: string | number, id: string) => ({ name: 'pay', arguments: { n }, id });

it('a run whose process died after set_variable goes on with the variable, and calls nothing twice', async () => {
  const asks = await newTask({ who: 'Ann', n: 1 });
  const { reply, asked } = neverAnswered();
  models().script(toolReply([set('n', 2, 'a')], usage), toolReply([pay('{{n}}', 'b')], usage), reply);
  const run = world.runUntilKilled(asks);
  await asked;
  await written(asks.task_id, 2);
  await run.kill();
  const [before] = models().received.slice(-1);
  models().script(toolReply([{ name: 'look', arguments: { n: '{{n}}' }, id: 'c' }], usage), textReply('Paid.', usage));
  const result = await world.runAgain(asks);
  expect(result).toMatchObject({ status: 'completed', variables: { who: 'Ann', n: 2 } });
  expect(result.result.tool_calls.map(({ arguments: given }) => given)).toEqual([
    { name: 'n', value: 2 },
    { n: 2 },
    { n: 2 },
  ]);
  expect(models().received.at(-2)?.messages).toEqual(before?.messages);
  expect(models().received.at(-1)?.messages[0]).toEqual({ role: 'system', content: 'Serve Ann.' });
  expect(world.received('pay', asks.task_id)).toBe(1);
  expect(await world.agent().usageRows(asks.task_id)).toMatchObject([{ model_calls: 4, total_tokens: 4400 }]);
});

it('the calls of a step that broke off are filled with what was there before it, whichever of them had ended', async () => {
  const asks = await newTask({ who: 'Ann', n: 1 });
  const { database } = world.agent();
  const own = `UPDATE elo_t_tenant_tools own SET custom_config = '{"store_as": "n"}' FROM elo_agent_tools tool`;
  await database.query(`${own} WHERE tool.id = tool_id AND code = 'pay' AND tenant_id = $1`, [asks.meta.tenant_id]);
  const hold = world.holdTool('look');
  models().script(toolReply([pay('{{n}}', 'a'), { name: 'look', arguments: { n: '{{n}}' }, id: 'b' }], usage));
  const run = world.runUntilKilled(asks);
  await hold.asked;
  await written(asks.task_id, 1);
  await run.kill();
  hold.open();
  models().script(
    toolReply([{ name: 'look', arguments: { n: '{{n.input.n}}' }, id: 'c' }], usage),
    textReply('Done.', usage),
  );
  const result = await world.runAgain(asks);
  expect(result).toMatchObject({ status: 'completed', variables: { n: { done: 'pay', input: { n: 1 } } } });
  expect(result.result.tool_calls.map(({ tool, arguments: given }) => [tool, given])).toEqual([
    ['pay', { n: 1 }],
    ['look', { n: 1 }],
    ['look', { n: 1 }],
  ]);
  expect(world.received('pay', asks.task_id)).toBe(1);
});

it('the day and the tenant that a model was told of stay while a task runs', async () => {
  const asks = await newTask({ who: 'Ann' }, { tell_context: true, language: 'de' });
  const { reply, asked } = neverAnswered();
  models().script(toolReply([{ name: 'look', arguments: { n: 1 }, id: 'a' }], usage), reply);
  const run = world.runUntilKilled(asks);
  await asked;
  await written(asks.task_id, 1);
  await run.kill();
  const [before] = models().received.slice(-1);
  const settings = { tell_context: true, language: 'fr' };
  await world.agent().runtime.admin.tenant.update({ tenantId: asks.meta.tenant_id, settings });
  models().script(textReply('Done.', usage));
  expect(await world.runAgain(asks)).toMatchObject({ status: 'completed' });
  expect(models().received.at(-1)?.messages).toEqual(before?.messages);
  expect(JSON.stringify(before?.messages)).toContain('Language: de');
});

it('of what the calls of a step set, the last holds after a crash', async () => {
  const asks = await newTask({ who: 'Ann', n: 1 });
  const { reply, asked } = neverAnswered();
  models().script(
    toolReply([set('m', 1, 'z'), set('n', 2, 'y'), set('n', 3, 'a')], usage),
    toolReply([set('n', 4, 'c'), set('n', 5, 'b')], usage),
    reply,
  );
  const sequential = { ...asks, config: { ...asks.config, tool_execution: 'sequential' } };
  const run = world.runUntilKilled(sequential);
  await asked;
  await written(asks.task_id, 5);
  await run.kill();
  models().script(textReply('Done.', usage));
  const result = await world.runAgain(sequential);
  expect(result).toMatchObject({ status: 'completed', variables: { who: 'Ann', m: 1, n: 5 } });
});

it('a tenant that begins to tell its context while a task runs leaves the prompt of that task as it was', async () => {
  const asks = await newTask({ who: 'Ann' });
  const { reply, asked } = neverAnswered();
  models().script(toolReply([{ name: 'look', arguments: { n: 1 }, id: 'a' }], usage), reply);
  const run = world.runUntilKilled(asks);
  await asked;
  await written(asks.task_id, 1);
  await run.kill();
  await world.agent().runtime.admin.tenant.update({ tenantId: asks.meta.tenant_id, settings: { tell_context: true } });
  models().script(textReply('Done.', usage));
  expect(await world.runAgain(asks)).toMatchObject({ status: 'completed' });
  expect(models().received.at(-1)?.messages[0]).toEqual({ role: 'system', content: 'Serve Ann.' });
});

it('of what two processes set in the same step, the last holds', async () => {
  const asks = await newTask({ who: 'Ann', n: 1 });
  const sequential = { ...asks, config: { ...asks.config, tool_execution: 'sequential' } };
  const hold = world.holdTool('look');
  const { reply, asked } = neverAnswered();
  models().script(
    toolReply([set('n', 2, 'b'), pay(1, 'o'), { name: 'look', arguments: { n: 1 }, id: 'm' }, set('n', 3, 'a')], usage),
    reply,
  );
  const first = world.runUntilKilled(sequential);
  await hold.asked;
  await written(asks.task_id, 2);
  await first.kill();
  hold.open();
  await world.letLeaseLapse(asks.task_id);
  const second = world.runUntilKilled(sequential);
  await asked;
  await written(asks.task_id, 4);
  await second.kill();
  models().script(textReply('Done.', usage));
  expect(await world.runAgain(sequential)).toMatchObject({ status: 'completed', variables: { who: 'Ann', n: 3 } });
  expect(world.received('pay', asks.task_id)).toBe(1);
});
