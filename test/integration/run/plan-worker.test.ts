import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { plan, review } from '../../support/values/plan-script';
import { workerWorld } from '../../support/worlds/worker-world';

const world = workerWorld();

it('a worker that is killed while a supervisor judges: another one goes on with the plan, and pays once', async () => {
  const asked = Promise.withResolvers<undefined>();
  const held: ScriptedReply = () => asked.resolve(undefined);
  world
    .models()
    .script(plan('Pay the bill', 'Write a receipt'), toolReply([{ name: 'pay' }]), textReply('Paid.'), held);
  const worker = world.startWorker();
  const order = world.order();
  const task = { ...order, config: { ...(order.config as object), mode: 'plan', supervisor_tier: 'nano' } };
  await world.push(task);
  await asked.promise;
  await worker.kill();
  world.models().script(review('SUCCESS'), textReply('A receipt.'), review('SUCCESS'), textReply('All is done.'));
  world.startWorker();
  expect(await world.reported(task)).toMatchObject([
    {
      ...{ status: 'completed', result: { text: 'All is done.' } },
      plan: {
        steps: [
          { result: 'Paid.', verdict: 'SUCCESS' },
          { result: 'A receipt.', verdict: 'SUCCESS' },
        ],
      },
    },
  ]);
  expect(world.received('pay', task.task_id)).toHaveLength(1);
  expect(await world.bill(task.task_id)).toEqual([{ model_calls: 7, total_tokens: 840 }]);
});
