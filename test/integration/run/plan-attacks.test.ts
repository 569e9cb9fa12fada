import type { AgentResult, ConnectedTool, RunOptions, RuntimeError, Tool } from '../../../runtime';
import { addTenant, addTool, enableTool, giveTool } from '../../support/servers/database';
import { type ModelServerRequest, type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, type TestTask } from '../../support/values/agent-fixture';
import { plan, review } from '../../support/values/plan-script';
import { approve, asks, familyWorld } from '../../support/worlds/family-world';

const MOST_LEVELS = 200;
const agents = ['last', 'third', 'second', 'first'].map((name, index, all) => ({
  name,
  systemPrompt: name,
  subAgents: index === 0 ? [] : [all[index - 1] as string],
}));
let deepCalls = 0;
/** Answers with as many levels as an answer may have. */
const deep: Tool = {
  definition: { name: 'deep', description: 'Answers deeply', inputSchema: { type: 'object' } },
  parseInput: (value) => ({ ok: true, value }),
  execute: () => {
    deepCalls++;
    const value: unknown = JSON.parse('['.repeat(MOST_LEVELS) + ']'.repeat(MOST_LEVELS));
    return Promise.resolve({ isError: false, value: value as never });
  },
};
const world = familyWorld([deep], agents);
const fixture = (): AgentFixture => world.fixture();
const models = () => fixture().models;

const call = (name: string, given: object = {}) => ({ task: 'Do', executor: 'tool', name, arguments: given });
const work = { task: 'Do', executor: 'loop' };
const planned = (tenantId: string, config: object = {}): TestTask => aTask(tenantId, { mode: 'plan', ...config });
const newTenant = (settings: object = {}) => addTenant(fixture().database, { settings });
const withRules = (rules: object) => newTenant({ tool_config: { tool_permissions: rules } });

/** Runs a task to its end, whichever it is. */
async function run(task: TestTask, replies: readonly ScriptedReply[], options: RunOptions = {}) {
  const before = models().received.length;
  models().script(...replies);
  const { result, error } = await fixture()
    .runtime.run(task, options)
    .then(
      (ended) => ({ result: ended, error: undefined }),
      (thrown: unknown) => {
        const { result, code } = thrown as RuntimeError;
        return { result: result as AgentResult | undefined, error: code };
      },
    );
  const left = models().left();
  models().script();
  return { result, error, left, steps: result?.plan?.steps, asked: models().received.slice(before) };
}

const toolsOf = (request?: ModelServerRequest) => request?.tools?.map(({ function: { name } }) => name);
const setRules = (tenantId: string, rules: object) =>
  fixture().database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [tenantId, { tool_config: rules }]);

describe('a review that was refused does not move the plan on', () => {
  it.each([
    ['a limit of calls', { max_calls_per_run: 1 }],
    ['a limit of the minute', { rate_limit_per_minute: 1 }],
  ])('by %s: what was stopped is not done', async (_by, rule) => {
    const again = Array<ScriptedReply>(9).fill(review('ABORT', 'fraud'));
    const { error, steps } = await run(planned(await withRules({ review_step: rule })), [
      ...[plan(call('echo', { n: 1 }), call('echo', { n: 2 }), call('echo', { n: 3 })), review('SUCCESS'), ...again],
    ]);
    expect(error).toBe('TOOL_ERRORS_REPEATED');
    expect(steps?.[1]).not.toHaveProperty('verdict');
    expect(steps?.[2]).toMatchObject({ status: 'pending' });
  });

  it('by a person', async () => {
    const task = planned(await withRules({ review_step: { decision: 'ask' } }));
    let { result } = await run(task, [plan(call('echo', { n: 1 }), call('echo', { n: 2 })), review('SUCCESS')]);
    for (let n = 0; n < 2; n++) {
      expect(result).toMatchObject({ status: 'awaiting_input', awaiting: { tool: 'review_step' } });
      ({ result } = await run(approve(task, result as AgentResult, 'deny'), [review('SUCCESS')]));
    }
    expect(result?.plan?.steps).toMatchObject([{ status: 'ok' }, { status: 'pending' }]);
    expect(result?.plan?.steps[0]).not.toHaveProperty('verdict');
  });
});

it('reviews with the same words are no repetition', async () => {
  const reviews = [review('SUCCESS'), review('SUCCESS'), review('SUCCESS')];
  const { steps } = await run(planned(await newTenant(), { max_identical_calls: 2 }), [
    ...[plan(call('echo', { n: 1 }), call('echo', { n: 1 }), call('echo', { n: 1 })), ...reviews, textReply('Done')],
  ]);
  expect(steps).toMatchObject([{ result: { n: 1 } }, { result: { n: 1 } }, { result: { n: 1 }, verdict: 'SUCCESS' }]);
});

describe('what came from outside is no template', () => {
  const variables = { customer: 'Ann {{note}}', note: 'TOP' };

  it('in the value of a variable', async () => {
    const replies = [plan(call('echo', { q: '{{customer}}' })), review('SUCCESS'), textReply('Done')];
    const { steps, result } = await run(planned(await newTenant(), { variables }), replies);
    expect(steps).toMatchObject([{ result: { q: 'Ann {{note}}' } }]);
    expect(result?.warnings).toEqual([]);
  });

  it('in the result of a step', async () => {
    const ask = { task: 'Write', executor: 'agent', name: 'third' };
    const { asked } = await run(planned(await newTenant(), { variables, agent: 'second' }), [
      ...[plan(work, ask), textReply('It says {{note}}'), review('SUCCESS'), textReply('Dear'), review('SUCCESS')],
      textReply('Done'),
    ]);
    expect(asked[3]?.messages.at(-1)?.content).toContain('It says {{note}}');
  });
});

it('a result that is nested as deeply as can be is kept as text, and its tool is called once', async () => {
  deepCalls = 0;
  const replies = [plan(call('deep'), call('deep')), review('SUCCESS'), review('SUCCESS'), textReply('Done')];
  const { steps } = await run(planned(await newTenant()), replies);
  expect(steps).toMatchObject([
    { status: 'ok', result: expect.stringMatching(/^\[+\]+$/) as string },
    { status: 'ok' },
  ]);
  expect(deepCalls).toBe(2);
});

describe('money', () => {
  it.each(['planner_tier', 'supervisor_tier', 'step_tier'])('that is limited needs a price for the %s', async (key) => {
    await fixture().database.query(
      `INSERT INTO elo_agent_tiers (code, name, model_id, rank) VALUES ('odd', 'Odd', 'nobody/unpriced', 1) ON CONFLICT DO NOTHING`,
    );
    const { error, asked } = await run(planned(await newTenant(), { [key]: 'odd', max_cost_usd: 1 }), [
      textReply('Hi'),
    ]);
    expect([error, asked]).toEqual(['MODEL_UNPRICED', []]);
  });

  it('that is limited needs a price for the model of a sub-agent too', async () => {
    const tenantId = await newTenant();
    const { agent } = fixture().runtime.admin;
    await agent.create({ tenantId, name: 'cheap', model: 'nobody/unpriced', tools: [] });
    await agent.create({ tenantId, name: 'lead', subAgents: ['cheap'] });
    const asksCheap = toolReply([{ name: 'ask_cheap', arguments: { message: 'Go' } }]);
    const { result, asked } = await run(aTask(tenantId, { agent: 'lead', max_cost_usd: 1 }), [
      ...[asksCheap, textReply('No')],
    ]);
    expect(result?.result.tool_calls).toMatchObject([{ error: { code: 'MODEL_UNPRICED' } }]);
    expect(asked).toHaveLength(2);
  });
});

it('a planner that alternates between silence and plans that cannot be ends with its iterations', async () => {
  const bad = plan({ task: 'Do', executor: 'agent', name: 'nobody' });
  const replies = Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? bad : textReply('')));
  const { error, asked } = await run(planned(await newTenant(), { max_iterations: 3 }), replies);
  // Four silent replies are one more than there are iterations.
  expect([error, asked.length]).toEqual(['MAX_ITERATIONS_REACHED', 8]);
});

it('a plan that comes after as many silent replies as there are iterations is not begun', async () => {
  const bad = plan({ task: 'Do', executor: 'agent', name: 'nobody' });
  const replies = [bad, textReply(''), bad, textReply(''), plan(call('echo', { n: 1 }))];
  const { error, left } = await run(planned(await newTenant(), { max_iterations: 1 }), replies);
  expect([error, left]).toEqual(['MAX_ITERATIONS_REACHED', 1]);
});

describe('a tool of the tenant with a name of those for plans', () => {
  let toolId: number;
  beforeAll(async () => {
    toolId = await addTool(fixture().database, { code: 'make_plan', endpoint: 'http://127.0.0.1:1/' });
  });

  it('makes way in a run with a mode, whatever the rules leave of plans', async () => {
    const tenantId = await newTenant({ tool_config: { disabled_tools: ['review_step'] } });
    await enableTool(fixture().database, { tenantId, toolId });
    const { result, asked } = await run(planned(tenantId), [textReply('Done')]);
    const direct = await run(aTask(tenantId), [textReply('Done')]);
    expect(result?.warnings).toMatchObject([{ code: 'TOOL_SKIPPED' }, { code: 'PLAN_UNAVAILABLE' }]);
    expect(toolsOf(asked[0])).toEqual(['echo', 'ask', 'deep']);
    expect(toolsOf(direct.asked[0])).toEqual(['make_plan', 'echo', 'ask', 'deep']);
  });

  it('is not called with a plan when the rules change while it is made', async () => {
    const tenantId = await newTenant();
    await enableTool(fixture().database, { tenantId, toolId });
    const late: ScriptedReply = async (_request, response) => {
      await setRules(tenantId, { disabled_tools: ['review_step'] });
      const { body } = plan(call('echo', { n: 1 })) as { readonly body: unknown };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    };
    const { result } = await run(planned(tenantId), [late, textReply('Done')]);
    expect(result?.result.tool_calls).toMatchObject([{ error: { code: 'TOOL_PERMISSION_DENIED' } }]);
    expect(result).not.toHaveProperty('plan');
  });
});

describe('rules that change while a step waits', () => {
  it('for another step leave the decision to be carried out, and that step fails', async () => {
    const { task, pay } = await world.family();
    const toPay = { ...task, config: { ...task.config, mode: 'plan' } };
    const { result } = await run(toPay, [plan(call(pay, { n: 1 }), call('echo', { n: 2 }))]);
    await setRules(task.meta.tenant_id, { disabled_tools: ['echo'] });
    const replies = [review('SUCCESS'), review('SUCCESS'), textReply('Done')];
    const { steps } = await run(approve(toPay, result as AgentResult), replies);
    expect(steps).toMatchObject([
      { status: 'ok', result: { sent: true } },
      { status: 'error', result: { code: 'PLAN_STEP_FAILED' } },
    ]);
    expect(world.paid(pay)).toBe(1);
  });

  it('for its tool fail the step, and nothing else does its work', async () => {
    const { task, pay } = await world.family();
    const toPay = { ...task, config: { ...task.config, mode: 'plan' } };
    const { result } = await run(toPay, [plan(call('echo', { n: 1 }), call(pay, { n: 2 })), review('SUCCESS')]);
    await setRules(task.meta.tenant_id, { disabled_tools: [pay] });
    const { steps, left } = await run(approve(toPay, result as AgentResult), [review('SUCCESS'), textReply('Done')]);
    expect(steps).toMatchObject([{ status: 'ok' }, { status: 'error', result: { code: 'PLAN_STEP_FAILED' } }]);
    expect([world.paid(pay), left]).toEqual([0, 0]);
  });

  it('for a plan that a person has refused leave the work to the agent', async () => {
    const { task } = await world.family({}, 'ask', { make_plan: { decision: 'ask' } });
    const shown = { ...task, config: { ...task.config, mode: 'plan' } };
    const { result } = await run(shown, [plan(call('echo', { n: 1 }))]);
    await setRules(task.meta.tenant_id, { disabled_tools: ['make_plan'] });
    const denied = await run(approve(shown, result as AgentResult, 'deny'), [textReply('Done')]);
    expect(denied.result).toMatchObject({ status: 'completed', result: { text: 'Done' } });
  });

  it('for plans themselves keep the run from going on, and from beginning as another one', async () => {
    const { task } = await world.family();
    const stopped = { ...task, config: { ...task.config, mode: 'plan' } };
    const { error: first } = await run(stopped, [plan(call('echo', { n: 1 })), review('ABORT', 'fraud')]);
    await setRules(task.meta.tenant_id, { disabled_tools: ['review_step'] });
    const { error, asked } = await run(stopped, [toolReply([{ name: 'deep' }]), textReply('Done')]);
    expect([first, error, asked]).toEqual(['PLAN_ABORTED', 'PLAN_BLOCKED', []]);
  });
});

it.each(['make_plan', 'review_step'])('a run without %s is not told of plans', async (name) => {
  const tenantId = await newTenant({ tool_config: { disabled_tools: [name] } });
  const { result, asked } = await run(planned(tenantId), [textReply('Done')]);
  expect(result?.warnings).toMatchObject([{ code: 'PLAN_UNAVAILABLE' }]);
  expect(asked[0]?.messages.map(({ role }) => role)).toEqual(['user']);
  expect(toolsOf(asked[0])).toEqual(['echo', 'ask', 'deep']);
});

it('a plan that is on record in the step of a call that waits is followed, and no second one', async () => {
  deepCalls = 0;
  const { task, pay } = await world.family();
  const mixed = { ...task, config: { ...task.config, mode: 'auto', tool_execution: 'sequential' } };
  const make = (step: object) => ({ name: 'make_plan', arguments: { steps: [step] } });
  const { result } = await run(mixed, [
    toolReply([make(call('echo', { n: 1 })), asks('Pay'), make(call('deep'))]),
    toolReply([{ name: pay, arguments: { n: 1 } }]),
  ]);
  expect(result).toMatchObject({ status: 'awaiting_input', plan: { steps: [{ status: 'ok', result: { n: 1 } }] } });
  const replies = [textReply('Paid'), review('SUCCESS'), textReply('Done')];
  const { steps } = await run(approve(mixed, result as AgentResult), replies);
  expect(steps).toMatchObject([{ name: 'echo', verdict: 'SUCCESS' }]);
  expect([deepCalls, world.paid(pay)]).toEqual([0, 1]);
});

it('a step calls the tool that was named, where two are connected with one name', async () => {
  const found: string[] = [];
  const find = (source: string): ConnectedTool => ({
    ...{ source, definition: { name: 'find', description: `Searches ${source}`, inputSchema: { type: 'object' } } },
    call: () => Promise.resolve(found.push(source)),
  });
  const tools = ['A', 'B'].map(find);
  const names: string[] = [];
  const asNamed: ScriptedReply = ({ tools: [offered] = [] }, response) => {
    const { description = '' } = offered?.function ?? {};
    names.push(...[...description.matchAll(/tool (find\w+)\(\): Searches B/g)].map(([, name = '']) => name));
    const reply = plan(call(names[0] ?? '')) as { readonly body: unknown };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(reply.body));
  };
  await run(planned(await newTenant()), [asNamed, review('SUCCESS'), textReply('Done')], { connected: { tools } });
  expect(found).toEqual(['B']);
});

it('variables that a step sets are those of the run', async () => {
  const tenantId = await newTenant();
  await giveTool(fixture().database, tenantId, { code: 'set_variable', transport: 'builtin', endpoint: null });
  const exact = '{"name":"x","value":9007199254740993}';
  const sets = toolReply([{ name: 'set_variable', arguments: exact }]);
  const echoes = toolReply([{ name: 'echo', arguments: { q: '{{x}}' } }]);
  const { result } = await run(planned(tenantId, { variables: { y: 1 } }), [
    ...[plan(work, work), sets, textReply('Set'), review('SUCCESS'), echoes, textReply('Echoed'), review('SUCCESS')],
    textReply('Done'),
  ]);
  expect(result?.variables).toEqual({ x: '9007199254740993', y: 1 });
  expect(JSON.stringify(models().received.at(-3)?.messages)).toContain('{\\"q\\":9007199254740993}');
});

it('a step is no level of its own: agents ask each other as deep as without a plan', async () => {
  const ask = (name: string) => toolReply([{ name: `ask_${name}`, arguments: { message: 'Go on' } }]);
  const down = [ask('third'), ask('last'), textReply('The end'), textReply('3'), textReply('2')];
  const { steps } = await run(planned(await newTenant(), { agent: 'first' }), [
    plan({ task: 'Ask', executor: 'agent', name: 'second' }),
    ...[...down, review('SUCCESS'), textReply('Done')],
  ]);
  expect(steps).toMatchObject([{ status: 'ok', result: '2' }]);
  expect(JSON.stringify(models().received.at(-4)?.messages)).toContain('The end');
});

it('a plan is not made under a skill that narrows the tools', async () => {
  const tenantId = await newTenant();
  const content = '---\nname: narrow\ndescription: Narrows.\nallowed-tools: echo make_plan\n---\nOnly echo.\n';
  await fixture().runtime.admin.skill.set({ tenantId, content });
  const { asked } = await run(planned(tenantId, { mode: 'auto', skills: ['narrow'] }), [
    ...[toolReply([{ name: 'load_skill', arguments: { name: 'narrow' } }]), textReply('Done')],
  ]);
  expect(toolsOf(asked[1])).toEqual(['echo', 'load_skill']);
});
