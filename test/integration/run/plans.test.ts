import type { AgentResult } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, failureOf, type TestTask } from '../../support/values/agent-fixture';
import { plan, review } from '../../support/values/plan-script';
import { approve, familyWorld } from '../../support/worlds/family-world';

const clerk = { name: 'clerk', description: 'Writes letters.', systemPrompt: 'You are a clerk.' };
const boss = { name: 'boss', systemPrompt: 'You are the boss.', subAgents: ['clerk'] };
const world = familyWorld([], [clerk, boss]);
const fixture = (): AgentFixture => world.fixture();
const models = () => fixture().models;

const work = (task: string): object => ({ task, executor: 'loop' });

const planned = (tenantId: string, config: object = {}): TestTask => aTask(tenantId, { mode: 'plan', ...config });

/** Runs a task whose models say this, and returns what they were asked. */
async function run(task: TestTask, ...replies: readonly ScriptedReply[]) {
  const before = models().received.length;
  models().script(...replies);
  const result = await fixture().runtime.run(task);
  expect(models().left()).toBe(0);
  return { result, asked: models().received.slice(before) };
}

async function fails(task: TestTask, ...replies: readonly ScriptedReply[]) {
  const before = models().received.length;
  models().script(...replies);
  const error = await failureOf(fixture().runtime.run(task));
  return { error, plan: error.result?.plan, asked: models().received.length - before, left: models().left() };
}

const newTenant = (settings: object = {}) => addTenant(fixture().database, { settings });
const lastMessage = (request?: { readonly messages: readonly { readonly content: string | null }[] }) =>
  request?.messages.at(-1)?.content ?? '';
const purposes = (taskId: string) =>
  fixture().database.query(
    'SELECT purpose, model_requested FROM elo_agent_model_calls WHERE task_id = $1 ORDER BY call_no',
    [taskId],
  );

it('a plan is made, each of its steps is done and judged, and the answer is given', async () => {
  const task = planned(await newTenant(), { include_trace: true, message: 'Compare <b> the prices' });
  const { result, asked } = await run(
    task,
    plan(work('Find the prices'), work('Compare them')),
    textReply('3 and 4'),
    review('SUCCESS'),
    textReply('4 is more'),
    review('SUCCESS'),
    textReply('It is 4.'),
  );
  expect(result).toMatchObject({ status: 'completed', result: { text: 'It is 4.' }, iterations: 4, warnings: [] });
  expect(result.plan).toEqual({
    steps: [
      { task: 'Find the prices', executor: 'loop', status: 'ok', result: '3 and 4', verdict: 'SUCCESS' },
      { task: 'Compare them', executor: 'loop', status: 'ok', result: '4 is more', verdict: 'SUCCESS' },
    ],
  });
  const [planner, first, supervisor, second, , answer] = asked;
  const tools = asked.map((request) => request.tools?.map(({ function: { name } }) => name));
  const all = ['echo', 'ask'];
  expect(tools).toEqual([['make_plan'], all, ['review_step'], all, ['review_step'], ['make_plan']]);
  expect(planner?.tools?.[0]?.function.description).toContain('- tool echo()');
  expect(lastMessage(first)).toContain('<request>\nCompare \\u003cb> the prices\n</request>');
  expect(lastMessage(first)).not.toContain('Results of the steps');
  expect(JSON.parse(lastMessage(supervisor))).toMatchObject({
    plan: 1,
    step: 1,
    of: 2,
    status: 'ok',
    result: '3 and 4',
  });
  expect(lastMessage(second)).toContain('"result":"3 and 4"');
  expect(answer?.tool_choice).toBe('none');
  expect(await purposes(task.task_id)).toMatchObject(
    ['plan', 'supervise', 'supervise', 'step'].map((purpose) => ({ purpose })),
  );
  expect(await fixture().usageRows(task.task_id)).toMatchObject([{ model_calls: 6, cost_usd: result.cost_usd }]);
  expect(result.trace?.filter(({ kind }) => kind === 'model')).toMatchObject([
    { purpose: 'plan' },
    { purpose: 'supervise' },
    { purpose: 'supervise' },
    {},
  ]);
  expect(result.trace?.filter(({ kind }) => kind === 'tool')).toMatchObject([
    { tool: 'make_plan', runs: [{ tokens: 120 }] },
    { tool: 'review_step', runs: [{ tokens: 120 }] },
    { tool: 'review_step' },
  ]);
});

describe('a planner', () => {
  it.each(['plan', 'auto'])('answers at once what needs no tool, with one call, in the mode %s', async (mode) => {
    const { result, asked } = await run(planned(await newTenant(), { mode, message: 'hi' }), textReply('Hello.'));
    expect(result).toMatchObject({ status: 'completed', result: { text: 'Hello.', tool_calls: [] }, iterations: 1 });
    expect(result).not.toHaveProperty('plan');
    expect(asked).toHaveLength(1);
  });

  it('is told what is wrong with a plan, and makes another', async () => {
    const { result } = await run(
      planned(await newTenant()),
      plan({ task: 'Write', executor: 'agent', name: 'clerk' }, { task: 'Look', executor: 'skill' }),
      plan({ task: 'Write', executor: 'agent', name: 'clerk' }, { task: 'Call', executor: 'tool', name: 'nothing' }),
      plan('Write it'),
      textReply('Written'),
      review('success'),
      textReply('Done'),
    );
    expect(result.result.tool_calls.slice(0, 2)).toMatchObject([
      { error: { code: 'TOOL_INVALID_ARGS', message: expect.stringContaining('steps.1') as string } },
      {
        error: {
          code: 'TOOL_PLAN_INVALID',
          message: expect.stringMatching(
            /no agent "clerk"; available: none.*no tool "nothing"; available: echo/,
          ) as string,
        },
      },
    ]);
    expect(result.plan).toMatchObject({ steps: [{ task: 'Write it', executor: 'loop', verdict: 'SUCCESS' }] });
  });

  it('says with a plan without steps that the answer can be given', async () => {
    const { result } = await run(planned(await newTenant()), plan(), textReply('Done'));
    expect(result).toMatchObject({ status: 'completed', result: { text: 'Done' }, plan: { steps: [] } });
  });

  it('works without a plan in the mode auto, and makes one where it finds that it needs one', async () => {
    const task = planned(await newTenant(), { mode: 'auto', max_iterations: 3 });
    const { result, asked } = await run(
      task,
      toolReply([{ name: 'echo', arguments: { n: 1 } }]),
      plan(work('One'), work('Two')),
      textReply('1'),
      review('SUCCESS'),
      textReply('2'),
      review('SUCCESS'),
      textReply('Both'),
    );
    expect(result).toMatchObject({ status: 'completed', result: { text: 'Both' }, iterations: 5 });
    const tools = asked.map((request) => request.tools?.map(({ function: { name } }) => name));
    const all = ['make_plan', 'echo', 'ask'];
    expect([tools[0], tools[3], tools[6]]).toEqual([all, ['review_step'], all]);
    expect(await purposes(task.task_id)).toMatchObject(
      ['step', 'step', 'supervise', 'supervise', 'step'].map((purpose) => ({ purpose })),
    );
  });
});

describe('a supervisor', () => {
  it('has a step done once more, with its reason in the message, and never a third time', async () => {
    const { result, asked } = await run(
      planned(await newTenant()),
      plan(work('Count')),
      textReply('Many'),
      review('RETRY', 'A number is needed'),
      textReply('Some'),
      review('RETRY', 'Still no number'),
      plan(work('Count exactly')),
      textReply('7'),
      review('SUCCESS'),
      textReply('Seven'),
    );
    const count = { task: 'Count', executor: 'loop', status: 'ok', verdict: 'RETRY' };
    expect(result.plan).toEqual({
      steps: [{ task: 'Count exactly', executor: 'loop', status: 'ok', result: '7', verdict: 'SUCCESS' }],
      replaced: [
        {
          steps: [
            {
              ...{ ...count, result: 'Some', feedback: 'Still no number' },
              retried: { status: 'ok', result: 'Many', verdict: 'RETRY', feedback: 'A number is needed' },
            },
          ],
        },
      ],
    });
    expect(lastMessage(asked[1])).not.toContain('not accepted');
    expect(lastMessage(asked[3])).toContain('was not accepted: A number is needed');
    expect(JSON.parse(lastMessage(asked[5]))).toMatchObject({ feedback: 'Still no number', plans_left: 3 });
    expect(lastMessage(asked[6])).not.toContain('not accepted');
  });

  it('ends a run that never comes to its goal after four plans', async () => {
    const round = [plan(work('Try')), textReply('No'), review('REPLAN', 'Not that')];
    const task = planned(await newTenant());
    const {
      error,
      plan: made,
      asked,
      left,
    } = await fails(task, ...round, ...round, ...round, ...round, plan(work('Try')));
    expect(error).toMatchObject({ code: 'PLANS_USED_UP', message: expect.stringContaining('Not that') as string });
    expect([asked, left]).toEqual([12, 1]);
    expect([made?.steps.length, made?.replaced?.length]).toEqual([1, 3]);
    expect(error.result).toMatchObject({ status: 'failed', iterations: 8 });
    expect(await purposes(task.task_id)).toHaveLength(8);
    expect(await fixture().usageRows(task.task_id)).toMatchObject([{ model_calls: 12 }]);
    models().script();
  });

  it('stops everything, and nothing is done after that', async () => {
    const {
      error,
      plan: made,
      left,
    } = await fails(
      planned(await newTenant()),
      plan(work('Look'), work('Pay')),
      textReply('A fraud'),
      review('ABORT', 'It is a fraud'),
      textReply('Paid'),
    );
    expect(error).toMatchObject({
      code: 'PLAN_ABORTED',
      message: expect.stringContaining('step 1: It is a fraud') as string,
    });
    expect(left).toBe(1);
    expect(made).toMatchObject({
      steps: [
        { verdict: 'ABORT', result: 'A fraud' },
        { task: 'Pay', status: 'pending' },
      ],
    });
    models().script();
  });

  it.each([
    ['a word', textReply('I think this is a SUCCESS.')],
    ['JSON', textReply('Here it is:\n```json\n{"verdict": "success", "feedback": "fine"}\n```')],
    ['two calls', toolReply(['SUCCESS', 'ABORT'].map((verdict) => ({ name: 'review_step', arguments: { verdict } })))],
  ])('may say it as %s', async (_what, reply) => {
    const { result } = await run(
      planned(await newTenant()),
      plan(work('Do')),
      textReply('Done'),
      reply,
      textReply('Yes'),
    );
    expect(result).toMatchObject({ status: 'completed', plan: { steps: [{ verdict: 'SUCCESS' }] } });
  });

  it.each([
    ['no verdict', textReply('Hm.')],
    ['two verdicts', textReply('RETRY or ABORT?')],
    ['nothing', textReply('')],
    ['another tool', toolReply([{ name: 'echo', arguments: {} }])],
    ['a verdict that there is not', review('FINE')],
  ])('that gives %s is asked once more', async (_what, reply) => {
    const { result, asked } = await run(
      planned(await newTenant()),
      ...[plan(work('Do')), textReply('Done'), reply, review('SUCCESS'), textReply('Yes')],
    );
    expect(result).toMatchObject({ status: 'completed', plan: { steps: [{ verdict: 'SUCCESS' }] } });
    expect(lastMessage(asked[3])).toContain('TOOL_REVIEW_UNREADABLE');
  });

  it('that cannot be read twice leaves the decision to how the step ended', async () => {
    const tenantId = await newTenant();
    const unreadable = [textReply('Hm.'), textReply('Hm!')];
    const { result } = await run(
      planned(tenantId),
      ...[plan(work('Do'), work('Go on')), textReply('Done'), ...unreadable, textReply('Gone'), ...unreadable],
      textReply('Yes'),
    );
    expect(result.plan?.steps).toMatchObject([{ verdict: 'SUCCESS' }, { verdict: 'SUCCESS' }]);
    const failing = { task: 'Echo', executor: 'tool', name: 'fail' };
    await giveTool(fixture().database, tenantId, { code: 'fail', endpoint: 'http://127.0.0.1:1/' });
    const { result: other } = await run(
      planned(tenantId),
      ...[plan(failing), ...unreadable, plan(work('Do')), textReply('Done'), review('SUCCESS'), textReply('Yes')],
    );
    expect(other.plan).toMatchObject({
      replaced: [{ steps: [{ status: 'error', verdict: 'REPLAN', result: { code: 'PLAN_STEP_FAILED' } }] }],
    });
  });
});

describe('a step', () => {
  it('is a call of a tool, without a model', async () => {
    const { result, asked } = await run(
      planned(await newTenant()),
      plan({ task: 'Echo', executor: 'tool', name: 'echo', arguments: { n: 1 } }),
      review('SUCCESS'),
      textReply('Done'),
    );
    expect(asked).toHaveLength(3);
    expect(result.plan).toMatchObject({ steps: [{ executor: 'tool', name: 'echo', result: { n: 1 } }] });
  });

  it('is asked of an agent, which sees the step and the results before it alone', async () => {
    const { result, asked } = await run(
      planned(await newTenant(), { agent: 'boss' }),
      plan(work('Find the name'), { task: 'Write to them', executor: 'agent', name: 'clerk' }),
      textReply('Ann'),
      review('SUCCESS'),
      textReply('Dear Ann'),
      review('SUCCESS'),
      textReply('It is written'),
    );
    expect(result.plan).toMatchObject({ steps: [{}, { executor: 'agent', name: 'clerk', result: 'Dear Ann' }] });
    const [planner, , , letter] = asked;
    expect(planner?.tools?.[0]?.function.description).toContain('- agent clerk: ');
    expect(letter?.messages).toMatchObject([
      { role: 'system', content: 'You are a clerk.' },
      { content: expect.stringMatching(/Ann.*\n\nWrite to them$/s) as string },
    ]);
    expect(lastMessage(letter)).not.toContain('<request>');
  });

  it.each([
    ['that is read', '', { replies: [textReply('In short: 7')], expected: 'In short: 7' }],
    [
      'that works by itself',
      'max_turns: 3\n',
      { replies: [textReply('Seven'), textReply('It is 7')], expected: 'It is 7' },
    ],
  ])('follows a skill %s', async (_which, lines, said) => {
    const { replies, expected } = said;
    const tenantId = await newTenant();
    const content = `---\nname: sums\ndescription: Adds up.\n${lines}allowed-tools: echo\n---\nBe short.\n`;
    await fixture().runtime.admin.skill.set({ tenantId, content });
    const { result, asked } = await run(
      planned(tenantId, { skills: ['sums'] }),
      plan({ task: 'Add 3 and 4', executor: 'skill', name: 'sums' }),
      ...replies,
      review('SUCCESS'),
      textReply('7'),
    );
    expect(result.plan).toMatchObject({ steps: [{ executor: 'skill', result: expected }] });
    expect(JSON.stringify(asked[1]?.messages)).toContain('Be short.');
    const [, ...calls] = await purposes(result.task_id);
    expect(calls).toHaveLength(2);
  });

  it('is done in a tier of its own, and so are plans and reviews', async () => {
    const tiers = { planner_tier: 'expert', supervisor_tier: 'nano', step_tier: 'small' };
    const task = planned(await newTenant(), { ...tiers, temperature: 0.1 });
    const { result, asked } = await run(
      task,
      ...[plan(work('Do')), textReply('Done'), review('SUCCESS'), textReply('Yes')],
    );
    const asks = asked.map(({ model }) => model);
    const tierModels: string[] = [];
    for (const tier of ['expert', 'small', 'nano', 'pro']) tierModels.push(await modelOf(tier));
    expect(asks).toEqual(tierModels);
    expect(asked.at(-1)?.temperature).toBe(0.1);
    expect(await purposes(task.task_id)).toMatchObject([
      { purpose: 'plan', model_requested: tierModels[0] },
      { purpose: 'supervise', model_requested: tierModels[2] },
      { purpose: 'step', model_requested: tierModels[3] },
    ]);
    expect(result.model_used).toBe(tierModels[3]);
    expect(await fixture().usageRows(task.task_id)).toMatchObject([
      { cost_usd: result.cost_usd, model_id: tierModels[3] },
    ]);
  });

  it.each(['planner_tier', 'supervisor_tier', 'step_tier'])(
    'of a tier that there is not fails before it costs, by %s',
    async (key) => {
      const { error, asked } = await fails(planned(await newTenant(), { [key]: 'golden' }), textReply('Hello'));
      expect([error.code, asked]).toEqual(['TIER_UNKNOWN', 0]);
      models().script();
    },
  );

  it('does not count towards the limits of tool calls', async () => {
    const { result } = await run(
      planned(await newTenant(), { max_tool_calls: 1, max_calls_per_tool: 1 }),
      plan(work('One'), work('Two')),
      toolReply([{ name: 'echo', arguments: { n: 1 } }]),
      textReply('1'),
      review('SUCCESS'),
      toolReply([{ name: 'echo', arguments: { n: 2 } }]),
      textReply('2'),
      review('SUCCESS'),
      textReply('Both'),
    );
    expect(result).toMatchObject({ status: 'completed', plan: { steps: [{ result: '1' }, { result: '2' }] } });
  });
});

describe('rules', () => {
  it('that take the tools for plans away leave the work to the agent', async () => {
    const tenantId = await newTenant({ tool_config: { disabled_tools: ['make_plan'] } });
    const { result, asked } = await run(planned(tenantId), textReply('Done'));
    expect(result.warnings).toMatchObject([{ code: 'PLAN_UNAVAILABLE' }]);
    expect(asked[0]?.tools?.map(({ function: { name } }) => name)).toContain('echo');
  });

  it('hold for the steps, and a person may be asked for a plan and for a call of its steps', async () => {
    const { task, pay } = await world.family({}, 'ask', { make_plan: { decision: 'ask' } });
    const toPay: TestTask = { ...task, config: { ...task.config, mode: 'plan' } };
    models().script(plan(work('Look'), { task: 'Pay', executor: 'tool', name: pay, arguments: { n: 1 } }));
    const shown = await fixture().runtime.run(toPay);
    expect(shown).toMatchObject({
      status: 'awaiting_input',
      awaiting: { tool: 'make_plan', arguments: { steps: [{}, {}] } },
    });
    models().script(textReply('It is due'), review('SUCCESS'));
    const waits = await fixture().runtime.run(approve(toPay, shown));
    expect(waits).toMatchObject({ status: 'awaiting_input', awaiting: { tool: pay, arguments: { n: 1 } } });
    expect(waits.plan).toMatchObject({ steps: [{ status: 'ok', verdict: 'SUCCESS' }, { status: 'waiting' }] });
    expect(world.paid(pay)).toBe(0);
    models().script(review('SUCCESS'), textReply('Paid'));
    const result: AgentResult = await world.elsewhere((runtime) => runtime.run(approve(toPay, waits)));
    expect(result).toMatchObject({ status: 'completed', result: { text: 'Paid' } });
    expect(result.plan).toMatchObject({ steps: [{}, { status: 'ok', result: { sent: true }, verdict: 'SUCCESS' }] });
    expect(world.paid(pay)).toBe(1);
  });
});

/** The model of a built-in tier. */
async function modelOf(tier: string): Promise<string> {
  models().script(textReply('Hello'));
  await fixture().runtime.run(aTask(await newTenant(), { agent_tier: tier }));
  return models().received.at(-1)?.model ?? '';
}
