import { textReply, toolReply } from '../../support/servers/model-server';
import type { TestTask } from '../../support/values/agent-fixture';
import { crashWorld, neverAnswered } from '../../support/worlds/crash-world';

const world = crashWorld();
const models = () => world.agent().models;
const USAGE = { prompt: 1000, completion: 100 };
const asks = (name: string) => toolReply([{ name: `ask_${name}`, arguments: { message: 'Go on' }, id: name }], USAGE);

/** What the models of lead, billing and archive say, in the order of time. */
const REPLIES = [
  asks('billing'),
  asks('archive'),
  toolReply([{ name: 'pay', arguments: { n: 1 }, id: 'p' }], USAGE),
  textReply('Paid.', USAGE),
  textReply('It is paid.', USAGE),
  textReply('All is paid.', USAGE),
] as const;

async function aTree(): Promise<TestTask> {
  const task = await world.newTask();
  const tenantId = task.meta.tenant_id;
  const { agent } = world.agent().runtime.admin;
  await agent.create({ tenantId, name: 'archive', tools: ['pay'] });
  await agent.create({ tenantId, name: 'billing', tools: [], subAgents: ['archive'] });
  await agent.create({ tenantId, name: 'lead', tools: [], subAgents: ['billing'] });
  return { ...task, config: { ...task.config, agent: 'lead' } };
}

it.each([
  ['lead', 'its first', 0],
  ['billing', 'its first', 1],
  ['archive', 'its first', 2],
  ['archive', 'its second', 3],
  ['billing', 'its second', 4],
  ['lead', 'its second', 5],
])(
  'a process that dies while %s waits for %s answer repeats no tool call and no model call that was answered',
  async (agent, _which, answered) => {
    const task = await aTree();
    const before = models().received.length;
    const { reply, asked } = neverAnswered();
    models().script(...REPLIES.slice(0, answered), reply);
    const run = world.runUntilKilled(task);
    await asked;
    if (agent === 'archive' && answered === 3) await world.toolOnRecord('pay', task.task_id);
    await run.kill();

    models().script(...REPLIES.slice(answered));
    const result = await world.runAgain(task);
    expect(result).toMatchObject({ status: 'completed', result: { text: 'All is paid.' } });
    expect(world.received('pay', task.task_id)).toBe(1);
    expect(models().received.length - before).toBe(REPLIES.length + 1);
    expect(await world.agent().usageRows(task.task_id)).toMatchObject([
      { model_calls: REPLIES.length, total_tokens: REPLIES.length * 1100, run_id: result.run_id },
    ]);
    const { children } = await world.agent().runtime.admin.run.get({
      ...{ tenantId: task.meta.tenant_id, id: task.task_id },
    });
    expect(children).toMatchObject([
      { agent: 'billing', state: 'done', total_tokens: '2200' },
      { agent: 'archive', state: 'done', total_tokens: '2200' },
    ]);
  },
);

it('a process that dies in a skill at work by itself repeats nothing, though the skill is edited meanwhile', async () => {
  const { config, ...task } = await world.newTask();
  const tenantId = task.meta.tenant_id;
  const { skill } = world.agent().runtime.admin;
  const set = (lines: string, body: string) =>
    skill.set({ tenantId, content: `---\nname: paying\ndescription: Pays.\n${lines}---\n${body}\n` });
  await set('max_turns: 4\nallowed-tools: pay\n', 'Pay.');
  const paying = { ...task, config: { ...config, skills: ['paying'] } };
  const loads = toolReply([{ name: 'load_skill', arguments: { name: 'paying' }, id: 'l' }], USAGE);
  const { reply, asked } = neverAnswered();
  models().script(loads, REPLIES[2], reply);
  const run = world.runUntilKilled(paying);
  await asked;
  await world.toolOnRecord('pay', task.task_id);
  await run.kill();

  await set('model: expert\nallowed-tools: pay* look\n', 'Pay the bill.');
  models().script(REPLIES[3], REPLIES[4]);
  const result = await world.runAgain(paying);
  expect(result).toMatchObject({ status: 'completed', result: { tool_calls: [{ result: { answer: 'Paid.' } }] } });
  expect(models().received.at(-2)?.messages[0]?.content).toBe('Pay.');
  expect(world.received('pay', task.task_id)).toBe(1);
});
