import { addTenant } from '../../support/servers/database';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, echoTool, failureOf } from '../../support/values/agent-fixture';
import { approve, familyWorld } from '../../support/worlds/family-world';

const look = { ...echoTool, definition: { ...echoTool.definition, name: 'look' } };
const world = familyWorld([look]);
const fixture = (): AgentFixture => world.fixture();
const admin = () => fixture().runtime.admin;
const skill = (name: string, lines: string, body = 'Research $ARGUMENTS for {{shop}}.') =>
  `---\nname: ${name}\ndescription: For ${name}.\n${lines}---\n${body}\n`;
const loads = (name: string, more: object = {}) => ({ name: 'load_skill', arguments: { name, ...more } });
const echoes = (n: number) => toolReply([{ name: 'echo', arguments: { n } }]);
const toolsOf = (back: number) =>
  fixture()
    .models.received.at(-back)
    ?.tools?.map(({ function: { name } }) => name);

async function tenantWith(...skills: readonly string[]): Promise<string> {
  const tenantId = await addTenant(fixture().database, { settings: { default_tier: 'pro' } });
  for (const content of skills) await admin().skill.create({ tenantId, content });
  return tenantId;
}

async function run(task: object, ...replies: readonly ScriptedReply[]) {
  const start = fixture().models.received.length;
  fixture().models.script(...replies);
  const result = await fixture().runtime.run(task);
  return { result, calls: result.result.tool_calls, requests: fixture().models.received.slice(start) };
}

const taskOf = (tenantId: string, config: object = {}) =>
  aTask(tenantId, { agent_tier: undefined, skills: ['*'], variables: { shop: 'Bikes' }, ...config });

it('a skill with a model and turns of its own runs by itself: its model, its tools, its answer', async () => {
  const tenantId = await tenantWith(skill('research', 'tools:\n  - echo\nmodel: expert\nmax_turns: 5\n'));
  const task = taskOf(tenantId, { include_trace: true });
  const asked = toolReply([loads('research', { arguments: 'prices' })]);
  const { result, calls, requests } = await run(task, asked, echoes(1), textReply('They rise.'), textReply('Up.'));
  expect(calls).toMatchObject([{ tool: 'load_skill', result: { skill: 'research', answer: 'They rise.' } }]);
  expect(requests[1]).toMatchObject({
    model: 'anthropic/claude-3-5-sonnet',
    messages: [{ role: 'user', content: 'Research prices for Bikes.' }],
  });
  expect([toolsOf(4), toolsOf(3), toolsOf(1)]).toEqual([
    ['load_skill', 'echo', 'ask', 'look'],
    ['echo'],
    ['load_skill', 'echo', 'ask', 'look'],
  ]);
  expect(result).toMatchObject({ status: 'completed', result: { text: 'Up.' }, warnings: [] });
  expect(result.trace?.[1]).toMatchObject({ tool: 'load_skill', runs: [{ tokens: 240 }] });
  expect(await fixture().usageRows(task.task_id)).toMatchObject([{ model_calls: 4, cost_usd: result.cost_usd }]);
});

it.each([
  [1, 1],
  [2, 2],
  [5, 5],
])('max_turns %i allows %i model calls, of which the last is for the answer', async (turns, most) => {
  const tenantId = await tenantWith(skill('loop', `max_turns: ${turns}\n`));
  const replies = Array.from({ length: most }, (_, n) =>
    n === most - 1 && most > 1 ? textReply('So far.') : echoes(n),
  );
  const { calls, requests } = await run(taskOf(tenantId), toolReply([loads('loop')]), ...replies, textReply('Done'));
  expect(requests).toHaveLength(most + 2);
  expect(calls[0]?.result).toMatchObject({ answer: { status: 'max_iterations', text: most > 1 ? 'So far.' : '' } });
});

it('a skill with turns alone has the model of the run, and a model is one by its id too', async () => {
  const tenantId = await tenantWith(
    skill('turns', 'max_turns: 2\n'),
    skill('model', 'metadata:\n  model: openai/gpt-4o-mini\n'),
  );
  const config = { model_override: 'anthropic/claude-3-5-sonnet' };
  const asked = toolReply([loads('turns'), loads('model')]);
  const task = taskOf(tenantId, { ...config, tool_execution: 'sequential' });
  const { requests } = await run(task, asked, textReply('1'), textReply('2'), textReply('Done'));
  expect(requests.map(({ model }) => model)).toEqual([
    'anthropic/claude-3-5-sonnet',
    'anthropic/claude-3-5-sonnet',
    'openai/gpt-4o-mini',
    'anthropic/claude-3-5-sonnet',
  ]);
});

it('a skill is the agent of its run: prompt and rules hold, the form of the answer does not', async () => {
  const tenantId = await tenantWith(skill('research', 'model: expert\nallowed-tools: echo look\n'));
  await admin().agent.create({
    ...{ tenantId, name: 'clerk', systemPrompt: 'You are a clerk.', tools: ['echo'], skills: ['*'] },
    outputSchema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
  });
  const answer = toolReply([{ name: 'format_final_json_response', arguments: { answer: 'Up' } }]);
  const asked = toolReply([loads('research')]);
  const { result, requests } = await run(taskOf(tenantId, { agent: 'clerk' }), asked, textReply('They rise.'), answer);
  expect(requests[1]?.messages[0]).toMatchObject({ role: 'system', content: 'You are a clerk.' });
  expect(toolsOf(2)).toEqual(['echo']);
  expect(result).toMatchObject({
    structured_output: { answer: 'Up' },
    warnings: [{ code: 'SKILL_TOOLS_MISSING', message: expect.stringContaining('look') as string }],
  });
});

it('a skill that runs by itself reads its files, and does not start itself again', async () => {
  const tenantId = await addTenant(fixture().database, { settings: { default_tier: 'pro' } });
  const content = skill('forms', 'max_turns: 5\n', 'Fill the form.');
  await admin().skill.create({ tenantId, content, files: { 'FORM.md': { text: 'Name:' } } });
  const file = toolReply([loads('forms', { file: 'FORM.md' }), loads('forms')]);
  const { requests } = await run(
    taskOf(tenantId),
    toolReply([loads('forms')]),
    file,
    textReply('Filled.'),
    textReply('Done'),
  );
  expect(requests[1]?.messages.at(-1)?.content).toBe(
    'Fill the form.\n\nFiles of the skill, which load_skill returns: FORM.md',
  );
  const read = requests[2]?.messages.filter(({ role }) => role === 'tool').map(({ content: text }) => text);
  expect(read).toEqual([expect.stringContaining('Name:'), expect.stringContaining('Fill the form.')]);
});

it('a skill that asks a person makes the run wait, and both go on once', async () => {
  const { task, pay } = await world.family();
  await admin().skill.create({
    tenantId: task.meta.tenant_id,
    content: skill('payments', `model: expert\nallowed-tools: ${pay}\n`),
  });
  const asking = { ...task, config: { ...task.config, skills: ['payments'] } };
  const pays = toolReply([{ name: pay, arguments: { amount: 7 } }]);
  const { result: waiting } = await run(asking, toolReply([loads('payments')]), pays);
  expect(waiting).toMatchObject({ status: 'awaiting_input', awaiting: { tool: pay } });
  fixture().models.script(textReply('Paid.'), textReply('It is paid.'));
  const result = await world.elsewhere((runtime) => runtime.run(approve(asking, waiting)));
  expect(result).toMatchObject({ status: 'completed', result: { tool_calls: [{ result: { answer: 'Paid.' } }] } });
  expect(world.paid(pay)).toBe(1);
});

describe('a skill that is changed while its run waits for a person', () => {
  async function aWaitingSkill() {
    const { task, pay } = await world.family();
    const tenantId = task.meta.tenant_id;
    const content = (lines: string, body = 'Pay.') => skill('payments', `${lines}allowed-tools: ${pay}\n`, body);
    await admin().skill.create({ tenantId, content: content('model: expert\n') });
    await admin().skill.create({ tenantId, content: skill('other', '') });
    const asking = { ...task, config: { ...task.config, skills: ['*'] } };
    const pays = toolReply([{ name: pay, arguments: { amount: 7 } }]);
    const { result: waiting } = await run(asking, toolReply([loads('payments')]), pays);
    expect(waiting.awaiting).toMatchObject({ tool: pay });
    const set = (lines: string, body?: string) => admin().skill.set({ tenantId, content: content(lines, body) });
    return { tenantId, pay, waiting, asking, set };
  }

  it('goes on with the text that it began with', async () => {
    const { pay, waiting, asking, set } = await aWaitingSkill();
    await set('max_turns: 2\n', 'Other text.');
    const { requests } = await run(approve(asking, waiting), textReply('Paid.'), textReply('It is paid.'));
    expect(requests[0]?.messages[0]?.content).toBe('Pay.');
    expect(world.paid(pay)).toBe(1);
  });

  it.each([
    ['it does not run by itself any more', (set: (lines: string) => Promise<unknown>) => set('')],
    ['it is gone', (_set: unknown, tenantId: string) => admin().skill.delete({ tenantId, name: 'payments' })],
  ])('keeps the decision until it is back: %s', async (_what, change) => {
    const { tenantId, pay, waiting, asking, set } = await aWaitingSkill();
    await change(set, tenantId);
    expect((await failureOf(run(approve(asking, waiting), textReply('Not asked')))).code).toBe('APPROVAL_CALL_BLOCKED');
    await set('model: expert\n');
    const { result } = await run(approve(asking, waiting), textReply('Paid.'), textReply('It is paid.'));
    expect(result.status).toBe('completed');
    expect(world.paid(pay)).toBe(1);
  });
});

it('a skill that is edited to be read while its run waits undecided is not followed beside that run', async () => {
  const { task, pay } = await world.family();
  const tenantId = task.meta.tenant_id;
  const content = (name: string, lines: string) => skill(name, `${lines}allowed-tools: ${pay} echo\n`, 'Pay.');
  for (const name of ['one', 'two']) await admin().skill.create({ tenantId, content: content(name, 'max_turns: 4\n') });
  const parallel = { ...task, config: { ...task.config, skills: ['*'], tool_execution: 'parallel' } };
  const pays = toolReply([{ name: pay, arguments: { amount: 7 } }]);
  const { result: waiting } = await run(parallel, toolReply([loads('one'), loads('two')]), pays, pays);
  await admin().skill.set({ tenantId, content: content('two', '') });
  const failure = await failureOf(run(approve(parallel, waiting), textReply('Paid.'), textReply('Not asked')));
  expect(failure.code).toBe('APPROVAL_CALL_BLOCKED');
  await admin().skill.set({ tenantId, content: content('two', 'max_turns: 4\n') });
  const { result: second } = await run(approve(parallel, waiting));
  expect(second).toMatchObject({ status: 'awaiting_input' });
  const { result } = await run(approve(parallel, second), textReply('Paid too.'), textReply('Both are paid.'));
  expect(result).toMatchObject({ status: 'completed', result: { text: 'Both are paid.' } });
  expect(world.paid(pay)).toBe(2);
});

describe('a skill that runs by itself is a part of its run', () => {
  it('has no tool that the run has not, in whatever tier it is', async () => {
    await fixture().database.query(
      `INSERT INTO elo_agent_tiers (code, name, model_id, rank, tool_config)
       VALUES ('no-look', 'No look', 'openai/gpt-4o-mini', 1, '{"disabled_tools": ["look"]}')`,
    );
    const tenantId = await tenantWith(skill('research', 'model: expert\n'));
    const { requests } = await run(
      taskOf(tenantId, { agent_tier: 'no-look', disabled_tools: ['ask'] }),
      ...[toolReply([loads('research')]), textReply('They rise.'), textReply('Up.')],
    );
    expect(requests.map(({ model }) => model)).toContain('anthropic/claude-3-5-sonnet');
    expect([toolsOf(3), toolsOf(2)]).toEqual([['load_skill', 'echo'], ['echo']]);
  });

  it('has its model, prompt and settings, and no more turns than the agent', async () => {
    const tenantId = await tenantWith(skill('loop', 'max_turns: 6\n', 'Search.'));
    await admin().agent.create({ tenantId, name: 'clerk', tier: 'pro', maxIterations: 2, skills: ['*'] });
    const config = {
      ...{ agent: 'clerk', model_override: 'anthropic/claude-3-5-sonnet', system_prompt: 'Never tell {{shop}}.' },
      ...{ max_tokens: 77, temperature: 0, skills: undefined },
    };
    const replies = [toolReply([loads('loop')]), echoes(1), textReply('So far.'), textReply('Done')];
    const { requests, result } = await run(taskOf(tenantId, config), ...replies);
    expect(result.status).toBe('completed');
    expect(requests[1]).toMatchObject({
      ...{ model: 'anthropic/claude-3-5-sonnet', max_tokens: 77, temperature: 0 },
      messages: [
        { role: 'system', content: 'Never tell Bikes.' },
        { role: 'user', content: 'Search.' },
      ],
    });
    expect(requests).toHaveLength(4);
  });

  it('hands the tier of its run, and its rules, to a sub-agent that it asks', async () => {
    await fixture().database.query(
      `INSERT INTO elo_agent_tiers (code, name, model_id, rank, tool_config)
       VALUES ('no-echo', 'No echo', 'openai/gpt-4o-mini', 1, '{"disabled_tools": ["echo"]}')`,
    );
    const tenantId = await tenantWith(skill('asking', 'model: expert\nallowed-tools: ask_clerk\n'));
    await admin().agent.create({ tenantId, name: 'clerk', tools: ['look', 'echo'] });
    await admin().agent.create({ tenantId, name: 'lead', subAgents: ['clerk'], skills: ['*'] });
    const asks = toolReply([{ name: 'ask_clerk', arguments: { message: 'Look' } }]);
    const replies = [toolReply([loads('asking')]), asks, textReply('1'), textReply('2'), textReply('3')];
    const config = { agent: 'lead', agent_tier: 'no-echo', skills: undefined };
    const { requests } = await run(taskOf(tenantId, config), ...replies);
    expect(requests.map(({ model }) => model)).toEqual([
      ...['openai/gpt-4o-mini', 'anthropic/claude-3-5-sonnet', 'openai/gpt-4o-mini'],
      ...['anthropic/claude-3-5-sonnet', 'openai/gpt-4o-mini'],
    ]);
    expect(toolsOf(3)).toEqual(['look']);
  });

  it('has the tools of a run that has very many, and those that another name was made for', async () => {
    const tenantId = await tenantWith(skill('research', 'max_turns: 3\n', 'Search.'));
    const connect = (name: string) => ({
      definition: { name, description: name, inputSchema: { type: 'object' } },
      call: () => Promise.resolve('Done'),
    });
    const many = Array.from({ length: 510 }, (_, n) => connect(`tool_${n}`));
    fixture().models.script(toolReply([loads('research')]), textReply('They rise.'), textReply('Up.'));
    const connected = { tools: [connect('load_skill'), ...many] };
    const result = await fixture().runtime.run(taskOf(tenantId), { connected });
    expect(result.result.tool_calls).toMatchObject([{ result: { answer: 'They rise.' } }]);
    expect(toolsOf(2)).toHaveLength(3 + many.length + 1);
    expect(result.warnings.map(({ code }) => code)).not.toContain('TOOL_NOT_LOADED');
  });

  it('lets a sub-agent that it asks have its own tools', async () => {
    const tenantId = await tenantWith(skill('billing', 'max_turns: 3\nallowed-tools: ask_clerk\n'));
    await admin().agent.create({ tenantId, name: 'clerk', tools: ['look'] });
    await admin().agent.create({ tenantId, name: 'lead', subAgents: ['clerk'], skills: ['*'] });
    const asks = toolReply([{ name: 'ask_clerk', arguments: { message: 'Look' } }]);
    const replies = [toolReply([loads('billing')]), asks, textReply('1'), textReply('2'), textReply('3')];
    await run(taskOf(tenantId, { agent: 'lead', skills: undefined }), ...replies);
    expect([toolsOf(4), toolsOf(3)]).toEqual([['ask_clerk'], ['look']]);
  });

  it('sends no secret that the runtime knows', async () => {
    const tenantId = await tenantWith(skill('leak', 'max_turns: 2\n', 'Use sk-test-key and {{key}}.'));
    const task = taskOf(tenantId, { variables: { key: 'sk-test-key' } });
    const { requests } = await run(task, toolReply([loads('leak')]), textReply('Done'), textReply('Done'));
    expect(requests[1]?.messages[0]?.content).not.toContain('sk-test-key');
  });
});

it.each([
  ['a list of turns', 'max_turns: [5]\n'],
  ['another word for them', 'maxTurns: 5\n'],
  ['a list of models', 'model: [expert]\n'],
])('is refused when it is saved: %s', async (_what, lines) => {
  const tenantId = await addTenant(fixture().database);
  const failure = await failureOf(admin().skill.create({ tenantId, content: skill('odd', lines) }));
  expect(failure.code).toBe('SKILL_INVALID');
});

it('a model that is neither a tier nor an id is not sent to a provider', async () => {
  const tenantId = await tenantWith(skill('odd', 'model: exprt\n'));
  const { calls, result, requests } = await run(taskOf(tenantId), toolReply([loads('odd')]), textReply('Then not.'));
  expect(calls).toMatchObject([{ error: { code: 'SKILL_UNREADABLE' } }]);
  expect(result.warnings).toMatchObject([{ code: 'SKILL_UNREADABLE' }]);
  expect(requests).toHaveLength(2);
});

it('tools that a workflow connects are there for a skill that runs by itself', async () => {
  const tenantId = await tenantWith(skill('research', 'max_turns: 3\nallowed-tools: weather\n'));
  const called: unknown[] = [];
  const weather = {
    definition: { name: 'weather', description: 'Tells the weather', inputSchema: { type: 'object' } },
    call: (input: unknown) => {
      called.push(input);
      return Promise.resolve('Rain');
    },
  };
  const asksFor = toolReply([{ name: 'weather', arguments: { at: 'Kyiv' } }]);
  fixture().models.script(toolReply([loads('research')]), asksFor, textReply('It rains.'), textReply('Done'));
  const result = await fixture().runtime.run(taskOf(tenantId), { connected: { tools: [weather] } });
  expect(called).toEqual([{ at: 'Kyiv' }]);
  expect(result.result.tool_calls).toMatchObject([{ result: { answer: 'It rains.' } }]);
});

it('a skill without a usable model fails in words, to the model and to the caller', async () => {
  const tenantId = await addTenant(fixture().database, { settings: { default_tier: 'pro', max_tier: 'pro' } });
  await admin().skill.create({ tenantId, content: skill('dear', 'model: expert\n') });
  const { result, calls } = await run(taskOf(tenantId), toolReply([loads('dear')]), textReply('Then not.'));
  expect(calls).toMatchObject([{ error: { code: 'TIER_NOT_ALLOWED' } }]);
  expect(result.warnings).toMatchObject([{ code: 'TIER_NOT_ALLOWED' }]);
});

it('max_turns that are no number are refused when the skill is saved', async () => {
  const tenantId = await addTenant(fixture().database);
  const failure = await failureOf(admin().skill.create({ tenantId, content: skill('odd', 'max_turns: many\n') }));
  expect(failure).toMatchObject({ code: 'SKILL_INVALID', message: expect.stringContaining('"many"') as string });
});

it('outside a task a skill that runs by itself is not loaded', async () => {
  const tenantId = await tenantWith(skill('research', 'max_turns: 3\n'));
  await admin().agent.create({ tenantId, name: 'clerk', skills: ['*'] });
  const call = { tenantId, agent: 'clerk', tool: 'load_skill', arguments: { name: 'research' } };
  expect((await failureOf(admin().tool.execute(call))).code).toBe('TOOL_OUTSIDE_TASK');
});
