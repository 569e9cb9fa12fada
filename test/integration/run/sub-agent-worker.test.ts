import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { workerWorld } from '../../support/worlds/worker-world';

const world = workerWorld();

it('a worker that is killed in a model call of a skill of a sub-agent: another one goes on with all of them, and pays once', async () => {
  await world.database().query(
    `INSERT INTO elo_agents (tenant_id, name, tools, skills, sub_agents)
     VALUES ($1, 'billing', '{pay}', '{paying}', NULL), ($1, 'lead', '{}', NULL, '{billing}')`,
    [world.tenantId()],
  );
  const skill = '---\nname: paying\ndescription: Pays.\nmax_turns: 3\n---\nPay.';
  await world
    .database()
    .query(`INSERT INTO elo_agent_skills (tenant_id, name, description, content) VALUES ($1, 'paying', 'Pays.', $2)`, [
      ...[world.tenantId(), skill],
    ]);
  const asked = Promise.withResolvers<undefined>();
  const held: ScriptedReply = () => asked.resolve(undefined);
  const asks = toolReply([{ name: 'ask_billing', arguments: { message: 'Pay it' } }]);
  const loads = toolReply([{ name: 'load_skill', arguments: { name: 'paying' } }]);
  world.models().script(asks, loads, toolReply([{ name: 'pay' }]), held);
  const worker = world.startWorker();
  const order = world.order();
  const task = { ...order, config: { ...(order.config as object), agent: 'lead' } };
  await world.push(task);
  await asked.promise;
  await worker.kill();
  world.models().script(textReply('Paid.'), textReply('It is paid.'), textReply('All is paid.'));
  world.startWorker();
  expect(await world.reported(task)).toMatchObject([{ status: 'completed', result: { text: 'All is paid.' } }]);
  expect(world.received('pay', task.task_id)).toHaveLength(1);
  expect(await world.bill(task.task_id)).toEqual([{ model_calls: 6, total_tokens: 720 }]);
});
