import { addTenant, giveTool } from '../../support/servers/database';
import { sendJson } from '../../support/servers/http-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, eventually, failureOf, gate } from '../../support/values/agent-fixture';
import { approve, familyWorld } from '../../support/worlds/family-world';

const clerk = { name: 'clerk', description: 'Writes letters.', systemPrompt: 'You are a clerk.' };
const boss = { name: 'boss', subAgents: ['clerk', 'support'] };
const world = familyWorld([], [clerk, boss]);
const fixture = (): AgentFixture => world.fixture();
const agents = () => fixture().runtime.admin.agent;
const lastRequest = () => fixture().models.received.at(-1);
const toolsOf = (request = lastRequest()) => request?.tools?.map(({ function: { name } }) => name) ?? [];
const asks = (name: string, message = 'What is due?') => ({ name: `ask_${name}`, arguments: { message } });

/** A task of the agent, without a tier of its own. */
const ofAgent = (tenantId: string, agent: string, config: object = {}) =>
  aTask(tenantId, { agent, agent_tier: undefined, ...config });

/** The tools of a run that answers at once. */
async function offered(tenantId: string, agent: string, config: object = {}) {
  fixture().models.script(textReply('Done'));
  const { warnings } = await fixture().runtime.run(ofAgent(tenantId, agent, config));
  return { tools: toolsOf(), warnings: warnings.map(({ code }) => code) };
}

/** A tenant whose agent `lead` asks `billing`. */
async function aTeam(settings: object = {}, lead: object = {}): Promise<string> {
  const tenantId = await addTenant(fixture().database, { settings: { default_tier: 'pro', ...settings } });
  await agents().create({
    ...{ tenantId, name: 'billing', description: 'Knows what is due.', systemPrompt: 'You bill.' },
  });
  await agents().create({ tenantId, name: 'lead', systemPrompt: 'You lead.', subAgents: ['billing'], ...lead });
  return tenantId;
}

it('an agent asks another: a task of its own with prompt, tier and tools of its own, on one line of the bill', async () => {
  const tenantId = await aTeam({}, { tools: [] });
  await agents().update({ tenantId, name: 'billing', tier: 'expert', tools: ['echo'] });
  fixture().models.script(toolReply([asks('billing')]), textReply('Seven.'), textReply('It is seven.'));
  const task = ofAgent(tenantId, 'lead', { context: { secret: 'of the task' } });
  const result = await fixture().runtime.run(task);
  expect(result).toMatchObject({ status: 'completed', result: { text: 'It is seven.' }, warnings: [] });
  expect(result.result.tool_calls).toMatchObject([{ tool: 'ask_billing', result: 'Seven.' }]);
  const [lead, billing] = fixture().models.received.slice(-3);
  expect(lead?.tools?.[0]?.function).toMatchObject({
    name: 'ask_billing',
    description: 'Asks the agent "billing" and returns its answer. Knows what is due.',
    parameters: { required: ['message'] },
  });
  expect(billing).toMatchObject({ model: 'anthropic/claude-3-5-sonnet' });
  expect(billing?.messages).toEqual([
    { role: 'system', content: 'You bill.' },
    { role: 'user', content: 'What is due?' },
  ]);
  expect([toolsOf(lead), toolsOf(billing)]).toEqual([['ask_billing'], ['echo']]);
  expect(await fixture().usageRows(task.task_id)).toMatchObject([{ model_calls: 3, cost_usd: result.cost_usd }]);
});

it('a sub-agent without a tier and a model is of the tier of who asks it', async () => {
  const tenantId = await aTeam({ default_tier: 'small' }, { tier: 'expert' });
  fixture().models.script(toolReply([asks('billing')]), textReply('Seven.'), textReply('It is seven.'));
  await fixture().runtime.run(ofAgent(tenantId, 'lead'));
  expect(lastRequestsModels(2)).toEqual(['anthropic/claude-3-5-sonnet', 'anthropic/claude-3-5-sonnet']);
  await agents().update({ tenantId, name: 'billing', model: 'openai/gpt-4o-mini' });
  fixture().models.script(toolReply([asks('billing')]), textReply('Seven.'), textReply('It is seven.'));
  await fixture().runtime.run(ofAgent(tenantId, 'lead'));
  expect(lastRequestsModels(2)).toEqual(['openai/gpt-4o-mini', 'anthropic/claude-3-5-sonnet']);
});

const lastRequestsModels = (count: number) =>
  fixture()
    .models.received.slice(-count)
    .map(({ model }) => model);

describe('the tools of sub-agents', () => {
  it('come with the agent, whatever its own list of tools and the tenant allow, and go by denials and by the list of a task', async () => {
    const lists = { enabled_tools: ['echo'], default: 'deny' };
    const tenantId = await aTeam({ tool_config: { ...lists, agents: { strict: { disabled_tools: ['ask_*'] } } } });
    await agents().create({ tenantId, name: 'strict', subAgents: ['billing'] });
    expect(await offered(tenantId, 'lead')).toEqual({ tools: ['ask_billing', 'echo'], warnings: [] });
    expect((await offered(tenantId, 'strict')).tools).toEqual(['echo']);
    expect((await offered(tenantId, 'lead', { tools: ['echo'] })).tools).toEqual(['echo']);
    expect((await offered(tenantId, 'lead', { tools: ['ask_*'] })).tools).toEqual(['ask_billing']);
    expect((await offered(tenantId, 'lead', { disabled_tools: ['ask_billing'] })).tools).toEqual(['echo']);
    expect((await offered(tenantId, 'billing')).tools).toEqual(['echo']);
  });

  it('make way for a tool of the same name', async () => {
    const tenantId = await aTeam();
    await giveTool(fixture().database, tenantId, { code: 'ask_billing', endpoint: 'https://hooks.example.com/ask' });
    const { tools } = await offered(tenantId, 'lead');
    expect(tools).toEqual(['ask_billing', expect.stringMatching(/^ask_billing_[0-9a-f]{8}$/), 'echo', 'ask']);
  });

  it('are those of active agents: own row, row for all tenants, code, rules; the others are told', async () => {
    const settings = { tool_config: { agents: { ruled: {} } } };
    const tenantId = await addTenant(fixture().database, { settings });
    await agents().set({ shared: true, name: 'common', description: 'Of all.' });
    await agents().set({ shared: true, name: 'hidden', description: 'Of all.' });
    await agents().create({ tenantId, name: 'hidden', isActive: false });
    const subAgents = ['common', 'clerk', 'ruled', 'hidden'];
    await agents().create({ tenantId, name: 'lead', subAgents });
    const { tools, warnings } = await offered(tenantId, 'lead', { tools: ['ask_*'] });
    expect(tools).toEqual(['ask_common', 'ask_clerk', 'ask_ruled']);
    expect(warnings).toEqual(['SUB_AGENT_NOT_LOADED']);
    await agents().delete({ tenantId, name: 'hidden' });
    expect((await offered(tenantId, 'lead', { tools: ['ask_*'] })).warnings).toEqual([]);
  });

  it('are those of an agent of the program too, which may name rows', async () => {
    const tenantId = await addTenant(fixture().database);
    expect(await offered(tenantId, 'boss', { tools: ['ask_*'] })).toEqual({
      tools: ['ask_clerk'],
      warnings: ['SUB_AGENT_NOT_LOADED'],
    });
    await agents().create({ tenantId, name: 'support', description: 'Helps.' });
    expect(await offered(tenantId, 'boss', { tools: ['ask_*'] })).toEqual({
      tools: ['ask_clerk', 'ask_support'],
      warnings: [],
    });
  });

  it('are not those of another tenant', async () => {
    const [tenantId, other] = [await aTeam(), await addTenant(fixture().database)];
    const change = agents().create({ tenantId: other, name: 'lead', subAgents: ['billing'] });
    await expect(change).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
    await agents().create({ tenantId: other, name: 'lead' });
    await fixture().database.query(`UPDATE elo_agents SET sub_agents = '{billing}' WHERE tenant_id = $1`, [other]);
    expect(await offered(other, 'lead', { tools: ['ask_*'] })).toMatchObject({ warnings: ['SUB_AGENT_NOT_LOADED'] });
    expect((await offered(tenantId, 'lead', { tools: ['ask_*'] })).tools).toEqual(['ask_billing']);
  });

  it('change with the agents, also within a run', async () => {
    const tenantId = await aTeam();
    fixture().models.script(async (_request, response) => {
      await agents().update({ tenantId, name: 'lead', subAgents: null });
      sendJson(response, toolReply([asks('billing')]).body);
    }, textReply('Then not.'));
    const result = await fixture().runtime.run(ofAgent(tenantId, 'lead'));
    expect(result.result.tool_calls).toMatchObject([
      { tool: 'ask_billing', error: { code: 'TOOL_PERMISSION_DENIED' } },
    ]);
  });

  it('are listed and called outside a task too', async () => {
    const tenantId = await aTeam();
    const { tools } = await fixture().runtime.admin.tool.list({ tenantId, agent: 'lead' });
    expect(tools).toContainEqual(expect.objectContaining({ name: 'ask_billing', type: 'agent' }));
    const call = { tenantId, agent: 'lead', tool: 'ask_billing', arguments: { message: 'Hi' } };
    fixture().models.script(textReply('Seven.'));
    expect(await fixture().runtime.admin.tool.execute(call)).toMatchObject({ result: 'Seven.' });
  });

  it('take a message', async () => {
    const tenantId = await aTeam();
    const before = fixture().models.received.length;
    fixture().models.script(toolReply([{ name: 'ask_billing', arguments: { message: ' ' } }]), textReply('Then not.'));
    const result = await fixture().runtime.run(ofAgent(tenantId, 'lead'));
    expect(JSON.stringify(result.result.tool_calls)).toContain('TOOL_INVALID_ARGS');
    expect(fixture().models.received.length - before).toBe(2);
  });
});

describe('what a task says of tools', () => {
  /** lead asks billing, billing asks archive; all have the tools of the tenant. */
  async function threeDeep(settings: object = {}): Promise<string> {
    const tenantId = await aTeam(settings);
    await agents().create({ tenantId, name: 'archive' });
    await agents().update({ tenantId, name: 'billing', subAgents: ['archive'] });
    return tenantId;
  }

  const down: ScriptedReply[] = [toolReply([asks('billing')]), toolReply([asks('archive')])];

  it('holds for everything that works for it', async () => {
    const tenantId = await threeDeep();
    const withTools = async (config: object) => {
      fixture().models.script(...down, textReply('1'), textReply('2'), textReply('3'));
      await fixture().runtime.run(ofAgent(tenantId, 'lead', config));
      return fixture().models.received.slice(-5, -2).map(toolsOf);
    };
    expect(await withTools({})).toEqual([
      ['ask_billing', 'echo', 'ask'],
      ['ask_archive', 'echo', 'ask'],
      ['echo', 'ask'],
    ]);
    expect(await withTools({ disabled_tools: ['echo'] })).toEqual([
      ['ask_billing', 'ask'],
      ['ask_archive', 'ask'],
      ['ask'],
    ]);
    expect(await withTools({ tools: ['ask_*', 'echo'] })).toEqual([
      ['ask_billing', 'echo'],
      ['ask_archive', 'echo'],
      ['echo'],
    ]);
  });

  it('holds when a run that waits goes on, and asks a person two agents below', async () => {
    const tenantId = await threeDeep();
    const rules = { tool_permissions: { echo: { decision: 'ask' } }, disabled_tools: ['ask'] };
    const task = ofAgent(tenantId, 'lead', rules);
    fixture().models.script(...down, toolReply([{ name: 'echo', arguments: { n: 1 } }]));
    const waiting = await fixture().runtime.run(task);
    expect(waiting).toMatchObject({ status: 'awaiting_input', awaiting: { tool: 'echo', arguments: { n: 1 } } });
    fixture().models.script(textReply('One.'), textReply('It is one.'), textReply('All is one.'));
    const result = await world.elsewhere((runtime) => runtime.run(approve(task, waiting)));
    expect(result).toMatchObject({ status: 'completed', result: { text: 'All is one.' } });
    expect(fixture().models.received.slice(-3).map(toolsOf)).toEqual([
      ['echo'],
      ['ask_archive', 'echo'],
      ['ask_billing', 'echo'],
    ]);
    expect(await fixture().usageRows(task.task_id)).toMatchObject([{ model_calls: 6 }]);
  });
});

it('sub-agents that are asked in one step work at the same time', async () => {
  const tenantId = await aTeam({}, { subAgents: ['billing', 'clerk'] });
  const both = gate();
  let waiting = 0;
  const answer: ScriptedReply = async (_request, response) => {
    waiting++;
    if (waiting === 2) both.open();
    await both.opened;
    sendJson(response, textReply('Here.').body);
  };
  fixture().models.script(toolReply([asks('billing'), asks('clerk')]), answer, answer, textReply('Both.'));
  const result = await fixture().runtime.run(ofAgent(tenantId, 'lead'));
  expect(result.result.tool_calls).toMatchObject([
    { tool: 'ask_billing', result: 'Here.' },
    { tool: 'ask_clerk', result: 'Here.' },
  ]);
});

it('a connected model answers for the agents below too', async () => {
  const tenantId = await aTeam();
  await agents().update({ tenantId, name: 'billing', tier: 'expert' });
  const asked: unknown[] = [];
  const reply = (content: string | null, calls?: object[]) => ({
    message: { role: 'assistant' as const, content, ...(calls && { tool_calls: calls as never }) },
    finishReason: calls === undefined ? ('stop' as const) : ('tool-calls' as const),
  });
  const fn = { name: 'ask_billing', arguments: '{"message":"What?"}' };
  const replies = [reply(null, [{ id: 'c1', type: 'function', function: fn }]), reply('Seven.'), reply('It is seven.')];
  const generate = ({ attempts, messages }: { attempts: { sent: number; answered: number }; messages: unknown }) => {
    asked.push(messages);
    attempts.sent++;
    attempts.answered++;
    return Promise.resolve(replies.shift() as never);
  };
  const before = fixture().models.received.length;
  const connected = { model: { name: 'mine/model', model: { generate } } };
  const result = await fixture().runtime.run(ofAgent(tenantId, 'lead'), { connected });
  expect(result).toMatchObject({ result: { text: 'It is seven.' }, model_used: 'mine/model' });
  expect([asked.length, fixture().models.received.length - before]).toEqual([3, 0]);
});

describe('a cycle of agents', () => {
  const cycle = expect.objectContaining({ code: 'AGENT_CYCLE' }) as Error;

  it('is refused when it would be saved: of itself, through others, through code, and for all tenants', async () => {
    const tenantId = await aTeam();
    await agents().create({ tenantId, name: 'archive', subAgents: ['lead'] });
    const set = (name: string, subAgents: string[]) => agents().set({ tenantId, name, subAgents });
    await expect(set('lead', ['lead'])).rejects.toEqual(cycle);
    await expect(set('lead', ['clerk', 'archive'])).rejects.toMatchObject({
      message: expect.stringContaining('"archive"') as string,
    });
    await expect(set('billing', ['archive'])).rejects.toEqual(cycle);
    await expect(set('support', ['boss'])).rejects.toEqual(cycle);
    await agents().set({ shared: true, name: 'one' });
    await agents().set({ shared: true, name: 'two', subAgents: ['one'] });
    await expect(agents().set({ shared: true, name: 'one', subAgents: ['two'] })).rejects.toEqual(cycle);
    expect(await agents().get({ tenantId, name: 'billing' })).toMatchObject({ sub_agents: null });
    await expect(agents().create({ tenantId, name: 'support', subAgents: ['boss'] })).rejects.toEqual(cycle);
    await set('archive', []);
    await set('billing', ['archive']);
  });

  it('is refused when two changes at once would make it', async () => {
    const tenantId = await addTenant(fixture().database);
    for (const name of ['a', 'b']) await agents().create({ tenantId, name });
    const outcomes = await Promise.allSettled([
      agents().update({ tenantId, name: 'a', subAgents: ['b'] }),
      agents().update({ tenantId, name: 'b', subAgents: ['a'] }),
    ]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('that rows of others have made ends at the third level', async () => {
    const tenantId = await aTeam();
    await fixture().database.query(
      `UPDATE elo_agents SET sub_agents = '{lead}' WHERE tenant_id = $1 AND name = 'billing'`,
      [tenantId],
    );
    fixture().models.always(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? textReply('Enough.').body
        : toolReply([asks(messages[0]?.content === 'You lead.' ? 'billing' : 'lead')]).body,
    );
    fixture().models.script();
    const before = fixture().models.received.length;
    const task = ofAgent(tenantId, 'lead');
    await fixture().runtime.run(task);
    expect(fixture().models.received.length - before).toBe(8);
    expect(await world.tree(task.task_id)).toHaveLength(4);
    expect(JSON.stringify(fixture().models.received.slice(before))).toContain('TOOL_TOO_DEEP');
  });

  it('of agents of a program is refused when it starts, and so is a name that none can have', () => {
    const start =
      (...code: object[]) =>
      () =>
        world.program(code as never);
    expect(
      start({ name: 'a', subAgents: ['b'] }, { name: 'b', subAgents: ['c'] }, { name: 'c', subAgents: ['a'] }),
    ).toThrow('can ask itself');
    expect(start({ name: 'a', subAgents: ['b c'] })).toThrow('subAgents.0');
  });
});

it('sub-agents that there are not are refused when they would be saved', async () => {
  const tenantId = await addTenant(fixture().database, { settings: { tool_config: { agents: { ruled: {} } } } });
  const failure = await failureOf(agents().create({ tenantId, name: 'lead', subAgents: ['ruled', 'clerk', 'nobody'] }));
  expect(failure).toMatchObject({ code: 'AGENT_UNKNOWN', message: expect.stringContaining('"nobody"') as string });
  await agents().create({ tenantId, name: 'lead', subAgents: ['ruled', 'clerk'] });
  const shared = agents().set({ shared: true, name: 'of-all', subAgents: ['nobody'] });
  await expect(shared).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
});

it('a cancelled run cancels the agents that it has asked', async () => {
  const tenantId = await aTeam();
  const stop = new AbortController();
  const task = ofAgent(tenantId, 'lead');
  fixture().models.script(toolReply([asks('billing')]), () => stop.abort());
  const failure = await failureOf(fixture().runtime.run(task, { signal: stop.signal }));
  expect(failure.code).toBe('RUN_CANCELLED');
  await eventually(async () => {
    const states = (await world.tree(task.task_id)).map(({ state }) => state);
    return states.every((state) => state === 'failed') ? true : undefined;
  });
});

describe('what each agent has used', () => {
  /** lead asks billing, and billing asks archive. */
  async function aTree() {
    const tenantId = await aTeam();
    await agents().create({ tenantId, name: 'archive' });
    await agents().update({ tenantId, name: 'billing', subAgents: ['archive'] });
    return ofAgent(tenantId, 'lead', { include_trace: true });
  }

  const replies = [
    toolReply([asks('billing')], { prompt: 1000, completion: 100 }),
    toolReply([asks('archive')], { prompt: 2000, completion: 100 }),
    textReply('1', { prompt: 3000, completion: 100 }),
    textReply('2', { prompt: 4000, completion: 100 }),
    textReply('3', { prompt: 5000, completion: 100 }),
  ];

  it('is told in the trace, with what works for it, in run get and in the usage report, each alone', async () => {
    const task = await aTree();
    const tenantId = task.meta.tenant_id;
    fixture().models.script(...replies);
    const events: unknown[] = [];
    const { trace, cost_usd, tokens } = await fixture().runtime.run(task, { onEvent: (event) => events.push(event) });
    expect(trace).toMatchObject([
      { kind: 'model' },
      { kind: 'tool', tool: 'ask_billing', runs: [{ agent: 'billing', tokens: 9300 }] },
      { kind: 'model' },
    ]);
    expect(tokens.total).toBe(15_500);
    const { children, agent } = await fixture().runtime.admin.run.get({ tenantId, id: task.task_id });
    expect(agent).toBe('lead');
    const [billing, archive, ...others] = children;
    expect(billing).toMatchObject({ agent: 'billing', state: 'done', model_calls: 2, total_tokens: '6200' });
    expect(archive).toMatchObject({ agent: 'archive', status: 'completed', model_calls: 1, total_tokens: '3100' });
    expect(archive?.parent_run_id).toBe(billing?.run_id);
    expect(others).toEqual([]);
    const [share] = (trace?.[1] as { runs: readonly { run_id: string; cost_usd: string }[] }).runs;
    expect(share?.run_id).toBe(billing?.run_id);
    expect(Number(share?.cost_usd)).toBeCloseTo(Number(billing?.cost_usd) + Number(archive?.cost_usd), 8);
    expect(Number(cost_usd)).toBeGreaterThan(Number(share?.cost_usd));
    const below = events.filter((event) => JSON.stringify(event).startsWith('{"type":"run-below"'));
    const archived = below.map((event) => (event as { event: { type: string; event?: { type: string } } }).event);
    expect(archived.map(({ type, event }) => event?.type ?? type)).toEqual([
      ...['run-start', 'step-start', 'tool-call'],
      ...['run-start', 'step-start', 'step-end', 'run-end'],
      ...['tool-result', 'step-end', 'step-start', 'step-end', 'run-end'],
    ]);
    const { text } = await fixture().runtime.admin.usage.report({ tenantId });
    const rows = [...text.matchAll(/<td>(lead|billing|archive)<\/td><td>(\d+)<\/td><td>(\d+)<\/td><td>(\d+)<\/td>/g)];
    expect(rows.map((row) => row.slice(1)).sort()).toEqual([
      ['archive', '1', '1', '3100'],
      ['billing', '1', '2', '6200'],
      ['lead', '1', '2', '6200'],
    ]);
  });

  it('is known after a crash too, of a call that was done before it', async () => {
    const task = await aTree();
    fixture().models.script(...replies.slice(0, 4), async (_request, response) => {
      await world.loseLeases(task.task_id);
      response.destroy();
    });
    await failureOf(world.elsewhere((runtime) => runtime.run(task)));
    fixture().models.script(...replies.slice(4));
    const { trace } = await fixture().runtime.run(task);
    expect(trace?.filter(({ kind }) => kind === 'tool')).toMatchObject([
      { runs: [{ agent: 'billing', tokens: 9300 }] },
    ]);
  });

  it('counts in a trace as the run itself does, from where a run went on', async () => {
    const task = await aTree();
    const asking = { ...task, config: { ...task.config, tool_permissions: { echo: { decision: 'ask' } } } };
    const [first, ...rest] = replies;
    const pay = toolReply([{ name: 'echo', arguments: { n: 1 } }], { prompt: 2000, completion: 100 });
    fixture().models.script(first as ScriptedReply, pay);
    const waiting = await fixture().runtime.run(asking);
    fixture().models.script(...rest.slice(-2));
    const { trace, tokens } = await world.elsewhere((runtime) => runtime.run(approve(asking, waiting)));
    expect(trace?.[0]).toMatchObject({ runs: [{ agent: 'billing', tokens: 4100 }] });
    expect(tokens.total).toBe(9200);
    const { children } = await fixture().runtime.admin.run.get({ tenantId: task.meta.tenant_id, id: task.task_id });
    expect(children).toMatchObject([{ agent: 'billing', model_calls: 2, total_tokens: '6200' }]);
  });
});
