import { textReply, toolReply } from '../../support/servers/model-server';
import { eventually } from '../../support/values/agent-fixture';
import { crashWorld, neverAnswered } from '../../support/worlds/crash-world';

const world = crashWorld();
const models = () => world.agent().models;
const skills = () => world.agent().runtime.admin.skill;
const usage = { prompt: 1000, completion: 100 };
const content = (tools: string, body: string) =>
  `---\nname: refunds\ndescription: Pays back.\nallowed-tools: ${tools}\n---\n${body}\n`;

const toolsSent = () =>
  models()
    .received.at(-1)
    ?.tools?.map(({ function: { name } }) => name);

it('a run whose process died after load_skill goes on with its text and its tools, and loads nothing again', async () => {
  const { meta, config, ...task } = await world.newTask();
  const tenantId = meta.tenant_id;
  await skills().create({ tenantId, content: content('pay', 'Before.') });
  const asks = { ...task, meta, config: { ...config, skills: ['refunds'] } };
  const { reply, asked } = neverAnswered();
  models().script(
    toolReply([{ name: 'load_skill', arguments: { name: 'refunds' }, id: 'a' }], usage),
    toolReply([{ name: 'pay', arguments: { n: 1 }, id: 'b' }], usage),
    reply,
  );
  const run = world.runUntilKilled(asks);
  await asked;
  await eventually(async () => {
    const rows = await world.journalRows(task.task_id);
    return rows.filter(({ entry }) => entry !== '').length === 2 ? true : undefined;
  });
  await run.kill();
  const [before] = models().received.slice(-1);
  await skills().update({ tenantId, name: 'refunds', content: content('look', 'After.') });
  models().script(textReply('Paid.', usage));
  const result = await world.runAgain(asks);
  expect(result).toMatchObject({ status: 'completed', result: { text: 'Paid.' } });
  expect(models().received.at(-1)?.messages).toEqual(before?.messages);
  expect(toolsSent()).toEqual(['pay', 'load_skill']);
  expect(world.received('pay', task.task_id)).toBe(1);
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 3, total_tokens: 3300 }]);
});

it('what the model is told of skills stays as it was when the run began', async () => {
  const { meta, config, ...task } = await world.newTask();
  const tenantId = meta.tenant_id;
  await skills().create({ tenantId, content: content('pay look', 'Before.') });
  const asks = { ...task, meta, config: { ...config, skills: ['*'] } };
  const { reply, asked } = neverAnswered();
  models().script(toolReply([{ name: 'look', arguments: { n: 1 }, id: 'a' }], usage), reply);
  const run = world.runUntilKilled(asks);
  await asked;
  await eventually(async () => {
    const rows = await world.journalRows(task.task_id);
    return rows.some(({ entry }) => entry !== '') ? true : undefined;
  });
  await run.kill();
  const [before] = models().received.slice(-1);
  await skills().delete({ tenantId, name: 'refunds' });
  models().script(textReply('Done.', usage));
  expect(await world.runAgain(asks)).toMatchObject({ status: 'completed' });
  expect(models().received.at(-1)?.messages).toEqual(before?.messages);
  expect(toolsSent()).toEqual(['pay', 'look', 'echo']);
});
