import { textReply, toolReply } from '../../support/servers/model-server';
import { eventually, failureOf } from '../../support/values/agent-fixture';
import { crashWorld, neverAnswered } from '../../support/worlds/crash-world';

const world = crashWorld();
const models = () => world.agent().models;
const agents = () => world.agent().runtime.admin.agent;
const usage = { prompt: 1000, completion: 100 };

/** A task of the agent `support`, whose process died in its second model call, after `pay`. */
async function diedHalfway(agent: object | null = {}, settings: object = {}) {
  const { meta, config, ...task } = await world.newTask(settings);
  const tenantId = meta.tenant_id;
  const own = { systemPrompt: 'Before.', tier: 'pro', tools: ['pay', 'look'] };
  if (agent !== null) await agents().create({ tenantId, name: 'support', ...own, ...agent });
  const asks = { ...task, meta, config: { agent: 'support', message: config.message } };
  const { reply, asked } = neverAnswered();
  models().script(toolReply([{ name: 'pay', arguments: { n: 1 }, id: 'a' }], usage), reply);
  const run = world.runUntilKilled(asks);
  await asked;
  await eventually(async () => {
    const rows = await world.journalRows(task.task_id);
    return rows.some(({ entry }) => entry !== '') ? true : undefined;
  });
  await run.kill();
  return { task: asks, tenantId };
}

const toolsSent = () =>
  models()
    .received.at(-1)
    ?.tools?.map(({ function: { name } }) => name);

it('a run whose process died goes on with the text and model that it began with, and with the tools that are left', async () => {
  const { task, tenantId } = await diedHalfway();
  const [before] = models().received.slice(-1);
  await agents().update({ tenantId, name: 'support', systemPrompt: 'After.', tier: 'expert', tools: ['pay'] });
  models().script(textReply('Paid.', usage));
  const result = await world.runAgain(task);
  expect(result).toMatchObject({ status: 'completed', agent_tier: 'pro', agent: { name: 'support', version: 1 } });
  expect(models().received.at(-1)).toMatchObject({ model: before?.model, messages: before?.messages });
  expect(toolsSent()).toEqual(['pay']);
  expect(world.received('pay', task.task_id)).toBe(1);
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 2, total_tokens: 2200 }]);
});

it('the model that it began with keeps its price, whatever model the agent has now', async () => {
  const { admin } = world.agent().runtime;
  for (const [modelId, inputPer1M] of [
    ['x/begun', '10'],
    ['x/other', '1'],
  ] as const) {
    await admin.price.set({ modelId, inputPer1M, outputPer1M: '0' });
  }
  const { task, tenantId } = await diedHalfway({ tier: null, model: 'x/begun' });
  await agents().update({ tenantId, name: 'support', model: 'x/other' });
  models().script(textReply('Paid.', usage));
  const result = await world.runAgain(task);
  expect(result).toMatchObject({ model_used: 'x/begun', cost_usd: '0.01000000', warnings: [] });
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 2, cost_usd: '0.02000000' }]);
});

it.each([
  ['a label', {}],
  ['rules only', { tool_config: { agents: { support: { enabled_tools: ['pay'] } } } }],
])(
  'a run that began under %s goes on without the prompt and model of a row that was made since',
  async (_what, settings) => {
    const { task, tenantId } = await diedHalfway(null, settings);
    await agents().create({ tenantId, name: 'support', systemPrompt: 'New.', tier: 'expert', tools: ['pay'] });
    models().script(textReply('Paid.', usage));
    const result = await world.runAgain(task);
    expect(result).toMatchObject({ status: 'completed', model_used: 'qwen/qwen3-4b:free' });
    expect(JSON.stringify(models().received.at(-1)?.messages)).not.toContain('New.');
    expect(toolsSent()).toEqual(['pay']);
  },
);

it.each([
  ['deleted', 'AGENT_NOT_FOUND'],
  ['switched off', 'AGENT_INACTIVE'],
])('it does not go on under an agent that was %s, and costs nothing more', async (how, code) => {
  const { task, tenantId } = await diedHalfway();
  await agents().create({ tenantId, name: 'other' });
  if (how === 'deleted') await agents().delete({ tenantId, name: 'support' });
  else await agents().update({ tenantId, name: 'support', isActive: false });
  const asked = models().received.length;
  expect((await failureOf(world.runAgain(task))).code).toBe(code);
  expect(models().received).toHaveLength(asked);
  expect(await world.agent().usageRows(task.task_id)).toMatchObject([{ model_calls: 1, total_tokens: 1100 }]);
});

it('it ends with the reason where what it began with is not allowed any more, and may be tried again', async () => {
  const { task, tenantId } = await diedHalfway();
  await agents().update({ tenantId, name: 'support', tier: 'small' });
  const { tenant } = world.agent().runtime.admin;
  await tenant.update({ tenantId, settings: { max_tier: 'small' } });
  const asked = models().received.length;
  expect((await failureOf(world.runAgain(task))).code).toBe('TIER_NOT_ALLOWED');
  expect(models().received).toHaveLength(asked);
  expect(await world.agent().runRow(task.task_id)).toMatchObject({ state: 'failed' });
  await tenant.update({ tenantId, settings: { max_tier: null } });
  models().script(textReply('Paid.', usage));
  expect(await world.runAgain(task)).toMatchObject({ status: 'completed', agent_tier: 'pro' });
  expect(world.received('pay', task.task_id)).toBe(1);
});
