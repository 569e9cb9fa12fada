import { randomUUID } from 'node:crypto';

import { sendJson } from '../../support/servers/http-server';
import { type ModelServerRequest, textReply, toolReply } from '../../support/servers/model-server';
import { gate, type TestTask } from '../../support/values/agent-fixture';
import { crashWorld, neverAnswered } from '../../support/worlds/crash-world';

const world = crashWorld();
const models = () => world.agent().models;

const LONG = Array.from({ length: 150 }, () => 'word').join(' ');
const inSession = (task: TestTask, message: string, rest: object = {}): TestTask => ({
  ...task,
  config: { ...task.config, message, session_id: 's-1', ...rest },
});
const again = (task: TestTask, message: string): TestTask => inSession({ ...task, task_id: randomUUID() }, message);
const contents = async ({ meta }: TestTask): Promise<readonly string[]> => {
  const rows = await world
    .agent()
    .database.query<{ kind: string; content: string | null }>(
      'SELECT kind, content FROM elo_agent_session_messages WHERE tenant_id = $1 ORDER BY no',
      [meta.tenant_id],
    );
  return rows.map(({ kind, content }) => (kind === 'summary' ? `summary: ${content}` : (content ?? 'calls')));
};
const lastTold = (): ModelServerRequest['messages'] => models().received.at(-1)?.messages ?? [];

/** A session whose next run needs a summary: its window has room for one of two turns. */
async function fullSession(): Promise<TestTask> {
  const task = await world.newTask({ session_window_tokens: 300 });
  models().script(textReply('One.'), textReply('Two.'));
  await world.agent().runtime.run(again(task, `First ${LONG}`));
  await world.agent().runtime.run(again(task, `Second ${LONG}`));
  return inSession(task, 'Third');
}

it('a process that dies in its summary: another one makes it, and the turn is kept once', async () => {
  const task = await fullSession();
  const { reply, asked } = neverAnswered();
  models().script(reply);
  const run = world.runUntilKilled(task);
  await asked;
  await run.kill();
  models().script(textReply('Summed up.'), textReply('Three.'));
  expect(await world.runAgain(task)).toMatchObject({ status: 'completed', result: { text: 'Three.' } });
  expect((await contents(task)).slice(4)).toEqual(['summary: Summed up.', 'Third', 'Three.']);
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 2, total_tokens: 240 }]);
});

it('a process that dies after its summary: that is not made again, and is on the bill', async () => {
  const task = await fullSession();
  const { reply, asked } = neverAnswered();
  models().script(textReply('Summed up.'), reply);
  const run = world.runUntilKilled(task);
  await asked;
  await run.kill();
  models().script(textReply('Three.'));
  expect(await world.runAgain(task)).toMatchObject({ status: 'completed', result: { text: 'Three.' } });
  expect(lastTold()[0]?.content).toMatch(/^<summary_of_earlier_conversation>\nSummed up/);
  expect((await contents(task)).slice(4)).toEqual(['summary: Summed up.', 'Third', 'Three.']);
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 2, total_tokens: 240 }]);
});

it('a process that dies in a step: the run goes on with the history that it had', async () => {
  const task = inSession(await world.newTask(), 'Pay');
  models().script(textReply('Hello Ann.'));
  await world.agent().runtime.run(again(task, 'I am Ann.'));
  const { reply, asked } = neverAnswered();
  models().script(toolReply([{ name: 'pay', arguments: { n: 1 } }]), reply);
  const run = world.runUntilKilled(task);
  await asked;
  await world.toolOnRecord('pay', task.task_id);
  await run.kill();
  // Its session is free meanwhile.
  await world.letLeaseLapse(task.task_id);
  models().script(textReply('Meanwhile.'));
  await world.agent().runtime.run(again(task, 'Still there?'));
  models().script(textReply('Paid.'));
  await world.runAgain(task);
  expect(lastTold().map(({ role, content }) => (role === 'tool' ? 'result' : content))).toEqual([
    ...['I am Ann.', 'Hello Ann.', 'Pay', null, 'result'],
  ]);
  expect((await contents(task)).slice(2)).toEqual([
    ...['Still there?', 'Meanwhile.', 'Pay', 'calls', '{"done":"pay","input":{"n":1}}', 'Paid.'],
  ]);
});

it('an end that cannot be written at first: the turn is kept with it, once', async () => {
  const task = inSession(await world.newTask(), 'Hello');
  const [asked, opened] = [gate(), gate()];
  models().script(async (_request, response) => {
    asked.open();
    await opened.opened;
    sendJson(response, textReply('Hi.').body);
  });
  const running = world.agent().runtime.run(task);
  await asked.opened;
  const blocked = await world.blockWrites(task.task_id);
  opened.open();
  await blocked.endWriters();
  expect(await running).toMatchObject({ status: 'completed', result: { text: 'Hi.' } });
  expect(await contents(task)).toEqual(['Hello', 'Hi.']);
});
