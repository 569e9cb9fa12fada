import type { AgentResult } from '../../../runtime';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, eventually, failureOf, gate, type TestTask } from '../../support/values/agent-fixture';
import { approve, asks, familyWorld } from '../../support/worlds/family-world';

const world = familyWorld();
const fixture = (): AgentFixture => world.fixture();
const asked = (): number => fixture().models.received.length;
const USAGE = { prompt: 100, completion: 10 };

/** Runs the task in a runtime of its own until its model is asked once more than there are replies, and takes it for lost then. */
async function runUntilLost(
  task: TestTask,
  replies: readonly ReturnType<typeof textReply>[],
): Promise<() => Promise<unknown>> {
  const reached = gate();
  const released = gate();
  fixture().models.script(...replies, async (_request, response) => {
    reached.open();
    await released.opened;
    response.destroy();
  });
  const lost = world.elsewhere((runtime) => failureOf(runtime.run(task)));
  await reached.opened;
  await outcomesOnRecord(task);
  await world.loseLeases(task.task_id);
  return () => {
    released.open();
    return lost;
  };
}

/** Resolves when each child at work has the outcome of its call on record: a write of it that came later would hold the lease again. */
const outcomesOnRecord = ({ task_id: taskId }: TestTask): Promise<true> =>
  eventually(async () => {
    const unwritten = await fixture().database.query(
      `SELECT FROM elo_agent_runs AS run WHERE root_task_id = $1 AND task_id <> $1 AND state = 'running' AND NOT EXISTS (
         SELECT FROM elo_agent_journal AS kept WHERE kept.task_id = run.task_id AND kept.entry <> '')`,
      [taskId],
    );
    return unwritten.length === 0 ? true : undefined;
  });

const runHere = (task: TestTask): Promise<AgentResult> => fixture().runtime.run(task);

it('a child that is lost in a model call goes on with its parent: no tool and no answered call is made again', async () => {
  const { task, pay } = await world.family({}, 'allow');
  const before = asked();
  const release = await runUntilLost(task, [
    toolReply([asks('Pay it')], USAGE),
    toolReply([{ name: pay, arguments: { amount: 7 } }], USAGE),
  ]);
  expect([world.paid(pay), asked() - before]).toEqual([1, 3]);

  fixture().models.script(textReply('Paid.', USAGE), textReply('It is paid.', USAGE));
  const result = await runHere(task);
  expect(result).toMatchObject({ status: 'completed', result: { text: 'It is paid.' } });
  expect([world.paid(pay), asked() - before]).toEqual([1, 5]);
  expect(await world.tree(task.task_id)).toMatchObject([
    { state: 'done', attempt: 2 },
    { state: 'done', attempt: 2 },
  ]);
  expect(await fixture().usageRows(task.task_id)).toMatchObject([
    { model_calls: 4, total_tokens: 440, run_id: result.run_id },
  ]);
  await expect(release()).resolves.toMatchObject({ code: 'RUN_TAKEN_OVER' });
  expect(await fixture().usageRows(task.task_id)).toMatchObject([{ total_tokens: 440, run_id: result.run_id }]);
});

it('a child that was done when its parent was lost gives its answer again, and nothing is asked', async () => {
  const { task, pay } = await world.family({}, 'allow');
  const before = asked();
  const release = await runUntilLost(task, [
    toolReply([asks('Pay it')]),
    toolReply([{ name: pay, arguments: { amount: 7 } }]),
    textReply('Paid.'),
  ]);
  // As if the parent had died before it wrote what the child said.
  await fixture().database.query(`DELETE FROM elo_agent_journal WHERE task_id = $1 AND entry <> ''`, [task.task_id]);
  fixture().models.script(textReply('It is paid.'));
  const result = await runHere(task);
  expect(result).toMatchObject({ result: { text: 'It is paid.', tool_calls: [{ tool: 'ask', result: 'Paid.' }] } });
  expect([world.paid(pay), asked() - before]).toEqual([1, 5]);
  expect(await world.tree(task.task_id)).toMatchObject([{ attempt: 2 }, { attempt: 1 }]);
  await release();
});

it('an approval that was lost on its way to the child goes on with the same decision, and pays once', async () => {
  const { task, pay } = await world.family();
  fixture().models.script(toolReply([asks('Pay it')]), toolReply([{ name: pay, arguments: { amount: 7 } }]));
  const waiting = await runHere(task);
  const approved = approve(task, waiting);
  const release = await runUntilLost(approved, []);
  expect(world.paid(pay)).toBe(1);

  fixture().models.script(textReply('Paid.'), textReply('It is paid.'));
  await expect(runHere(approved)).resolves.toMatchObject({ status: 'completed', result: { text: 'It is paid.' } });
  expect(world.paid(pay)).toBe(1);
  await release();
  const other = await failureOf(runHere(approve(task, waiting, 'deny')));
  expect(other).toMatchObject({ code: 'APPROVAL_CONTRADICTED' });
});

it('an approval that reached the root alone reaches the child with the next try', async () => {
  const { task, pay } = await world.family();
  fixture().models.script(toolReply([asks('Pay it')]), toolReply([{ name: pay, arguments: { amount: 7 } }]));
  const waiting = await runHere(task);
  // As if the process had died right after the root was claimed.
  await fixture().database.query(
    `UPDATE elo_agent_runs SET state = 'running', run_id = gen_random_uuid(), resumed_run_id = run_id, decision = 'approve',
       decided_run_id = run_id, decided_at = now(), result = NULL, lease_until = now() - interval '1 second' WHERE task_id = $1`,
    [task.task_id],
  );
  fixture().models.script(textReply('Paid.'), textReply('It is paid.'));
  await expect(runHere(approve(task, waiting))).resolves.toMatchObject({ result: { text: 'It is paid.' } });
  expect(world.paid(pay)).toBe(1);
});
