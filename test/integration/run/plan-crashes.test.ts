import { textReply, toolReply } from '../../support/servers/model-server';
import type { TestTask } from '../../support/values/agent-fixture';
import { plan, review } from '../../support/values/plan-script';
import { crashWorld, neverAnswered } from '../../support/worlds/crash-world';

const world = crashWorld();
const models = () => world.agent().models;

/** What planner, steps and supervisor say, in the order of time. */
const REPLIES = [
  plan(
    { task: 'Pay', executor: 'loop' },
    { task: 'Look', executor: 'tool', name: 'look', arguments: { n: 2 } },
    { task: 'Sum up', executor: 'loop' },
  ),
  toolReply([{ name: 'pay', arguments: { n: 1 }, id: 'p' }]),
  textReply('Paid.'),
  review('RETRY'),
  textReply('It was paid.'),
  review('SUCCESS'),
  review('SUCCESS'),
  textReply('One.'),
  review('SUCCESS'),
  textReply('All is paid.'),
] as const;

async function aPlan(): Promise<TestTask> {
  const task = await world.newTask();
  return { ...task, config: { ...task.config, mode: 'plan' } };
}

it.each([
  ['the planner', 0],
  ['the first call of a step', 1],
  ['the second call of a step', 2],
  ['the supervisor that asks for another try', 3],
  ['the other try', 4],
  ['the supervisor of the other try', 5],
  ['the supervisor of a step without a model', 6],
  ['the last step', 7],
  ['the last review', 8],
  ['the answer', 9],
])('a process that dies in %s repeats no tool call and no model call that was answered', async (_where, answered) => {
  const task = await aPlan();
  const before = models().received.length;
  const { reply, asked } = neverAnswered();
  models().script(...REPLIES.slice(0, answered), reply);
  const run = world.runUntilKilled(task);
  await asked;
  if (answered === 2) await world.toolOnRecord('pay', task.task_id);
  await run.kill();

  models().script(...REPLIES.slice(answered));
  const result = await world.runAgain(task);
  expect(result).toMatchObject({ status: 'completed', result: { text: 'All is paid.' } });
  expect(result.plan).toMatchObject({
    steps: [
      { status: 'ok', result: 'It was paid.', verdict: 'SUCCESS', retried: { result: 'Paid.', verdict: 'RETRY' } },
      { status: 'ok', result: { done: 'look', input: { n: 2 } }, verdict: 'SUCCESS' },
      { status: 'ok', result: 'One.', verdict: 'SUCCESS' },
    ],
  });
  expect([world.received('pay', task.task_id), world.received('look', task.task_id)]).toEqual([1, 1]);
  expect(models().received.length - before).toBe(REPLIES.length + 1);
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([
    { model_calls: REPLIES.length, total_tokens: REPLIES.length * 120, run_id: result.run_id },
  ]);
  const calls = await world
    .agent()
    .database.query<{ purpose: string; closed: boolean }>(
      `SELECT purpose, closed_at IS NOT NULL AS closed FROM elo_agent_model_calls WHERE task_id = $1 ORDER BY opened_at, call_no`,
      [task.task_id],
    );
  const purposes = ['plan', ...Array<string>(4).fill('supervise'), 'step'];
  expect(calls.filter(({ closed }) => closed).map(({ purpose }) => purpose)).toEqual(purposes);
});

it.each([
  ['look', 'is made again', { times: 2, step: { status: 'ok', result: { done: 'look' } } }],
  ['pay', 'is not', { times: 1, step: { status: 'error', result: { code: 'PLAN_STEP_FAILED' } } }],
])('a call of %s in which the process dies %s', async (tool, _what, { times, step }) => {
  const task = await aPlan();
  const held = world.holdTool(tool);
  models().script(plan({ task: 'Do', executor: 'tool', name: tool, arguments: { n: 1 } }));
  const run = world.runUntilKilled(task);
  await held.asked;
  await run.kill();
  held.open();
  models().script(review('SUCCESS'), textReply('Done'));
  const result = await world.runAgain(task);
  expect(result).toMatchObject({ status: 'completed', plan: { steps: [step] } });
  expect(world.received(tool, task.task_id)).toBe(times);
});

it('a run that was stopped by its supervisor is stopped whenever it is tried again, and costs nothing more', async () => {
  const task = await aPlan();
  models().script(plan({ task: 'Look', executor: 'loop' }), textReply('Odd'), review('ABORT'));
  const plans = { steps: [{ verdict: 'ABORT', result: 'Odd' }] };
  await expect(world.agent().runtime.run(task)).rejects.toMatchObject({
    code: 'PLAN_ABORTED',
    result: { plan: plans },
  });
  await expect(world.runAgain(task)).rejects.toMatchObject({
    ...{ code: 'PLAN_ABORTED', result: { iterations: 0, plan: plans } },
  });
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 3 }]);
});
