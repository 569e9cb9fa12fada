import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { workerWorld } from '../../support/worlds/worker-world';

const world = workerWorld();
const review = toolReply([{ name: 'review_step', arguments: { verdict: 'SUCCESS' } }]);

it('a worker that is killed while a supervisor judges: another one goes on with the plan, and pays once', async () => {
  const asked = Promise.withResolvers<undefined>();
  const held: ScriptedReply = () => asked.resolve(undefined);
  const steps = ['Pay the bill', 'Write a receipt'];
  const plan = toolReply([{ name: 'make_plan', arguments: { steps } }]);
  world.models().script(plan, toolReply([{ name: 'pay' }]), textReply('Paid.'), held);
  const worker = world.startWorker();
  const order = world.order();
  const task = { ...order, config: { ...(order.config as object), mode: 'plan', supervisor_tier: 'nano' } };
  await world.push(task);
  await asked.promise;
  await worker.kill();
  world.models().script(review, textReply('A receipt.'), review, textReply('All is done.'));
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
