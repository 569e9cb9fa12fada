import type { Tool } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { startRawMcpServer } from '../../support/servers/raw-mcp-server';
import { type AgentFixture, aTask, echoTool, failureOf, type TestTask } from '../../support/values/agent-fixture';
import { approve, familyWorld } from '../../support/worlds/family-world';

let whileChecking: () => Promise<unknown> = () => Promise.resolve();
const slowToCheck: Tool = {
  ...echoTool,
  definition: { ...echoTool.definition, name: 'slow_to_check' },
  parseInput: async (value) => {
    await whileChecking();
    return { ok: true, value };
  },
};
/** Asks a second one where the first one fails. */
const asksOther: Tool = {
  definition: { name: 'asks_other', description: 'Asks', inputSchema: { type: 'object' } },
  parseInput: (value) => ({ ok: true, value }),
  isRepeatable: true,
  execute: async (_input, context) => {
    const first = await context.run.startChild({ message: 'First' }, context);
    return first.isError ? context.run.startChild({ message: 'Second' }, context) : first;
  },
};
const world = familyWorld([slowToCheck, asksOther]);
const OF_PROGRAM = ['ask', 'slow_to_check', 'asks_other'];
const fixture = (): AgentFixture => world.fixture();
const agents = () => fixture().runtime.admin.agent;
afterEach(async () => {
  whileChecking = () => Promise.resolve();
  await fixture().database.query(`DELETE FROM elo_agent_tools WHERE code = 'ask_billing'`);
});
const asks = (name: string, message = 'What is due?') => ({ name: `ask_${name}`, arguments: { message } });
const pays = (pay: string) => toolReply([{ name: pay, arguments: { amount: 7 } }]);
const run = (task: object, ...replies: ScriptedReply[]) => {
  fixture().models.script(...replies);
  return fixture().runtime.run(task);
};
const toolsOf = (back: number) =>
  fixture()
    .models.received.at(-back)
    ?.tools?.map(({ function: { name } }) => name);

interface Team {
  readonly task: TestTask;
  readonly tenantId: string;
  readonly pay: string;
  readonly waiting: { readonly run_id: string };
}

/** The agent `lead` asks `billing`. */
async function aTeam(settings: object = {}, config: object = {}): Promise<TestTask> {
  const tenantId = await addTenant(fixture().database, { settings: { default_tier: 'pro', ...settings } });
  await agents().create({ tenantId, name: 'billing' });
  await agents().create({ tenantId, name: 'lead', subAgents: ['billing'] });
  return aTask(tenantId, { agent: 'lead', agent_tier: undefined, ...config });
}

/** A run of `lead` waits, since `billing` has asked a person. */
async function aWaitingTeam(permissions: object = {}): Promise<Team> {
  const { task, pay } = await world.family({}, 'ask', permissions);
  const tenantId = task.meta.tenant_id;
  await agents().create({ tenantId, name: 'billing' });
  await agents().create({ tenantId, name: 'lead', subAgents: ['billing'] });
  const ofLead = { ...task, config: { ...task.config, agent: 'lead' } };
  const waiting = await run(ofLead, toolReply([asks('billing')]), pays(pay));
  expect(waiting.awaiting).toMatchObject({ tool: pay });
  return { task: ofLead, tenantId, pay, waiting };
}

describe('a tool that takes the place of one that waits for a person', () => {
  const takePlace = (tenantId: string) =>
    giveTool(fixture().database, tenantId, { code: 'ask_billing', endpoint: 'http://127.0.0.1:1/' });
  const giveBack = (tool: number) => fixture().database.query('DELETE FROM elo_agent_tools WHERE id = $1', [tool]);

  it('is not called by an approval, which can be sent again once the agent has its name back', async () => {
    const { task, tenantId, pay, waiting } = await aWaitingTeam();
    const other = await takePlace(tenantId);
    const failure = await failureOf(run(approve(task, waiting), textReply('Done')));
    expect(failure).toMatchObject({
      ...{ code: 'APPROVAL_CALL_BLOCKED', result: { status: 'failed' } },
      message: expect.stringContaining('another tool has its name now') as string,
    });
    expect(fixture().models.left()).toBe(1);
    await giveBack(other);
    const result = await run(approve(task, waiting), textReply('So it is.'), textReply('Done'));
    expect(result).toMatchObject({ status: 'completed', result: { tool_calls: [{ result: 'So it is.' }] } });
    expect(world.paid(pay)).toBe(1);
  });

  it('is not called by a denial, and the run ends', async () => {
    const { task, tenantId, pay, waiting } = await aWaitingTeam();
    await takePlace(tenantId);
    const result = await run(approve(task, waiting, 'deny'), textReply('Then not.'));
    expect(result).toMatchObject({
      ...{ status: 'completed' },
      result: { tool_calls: [{ tool: 'ask_billing', error: { code: 'TOOL_APPROVAL_DENIED' } }] },
    });
    expect(world.paid(pay)).toBe(0);
  });

  it('is asked about itself', async () => {
    const { task, tenantId } = await aWaitingTeam();
    const rules = { tool_permissions: { ask_billing: { decision: 'ask' } } };
    const asking = { ...task, task_id: `${task.task_id}-2`, config: { ...task.config, ...rules } };
    const waiting = await run(asking, toolReply([asks('billing')]));
    expect(waiting.awaiting).toMatchObject({ tool: 'ask_billing' });
    const other = await giveTool(fixture().database, tenantId, {
      code: 'ask_billing',
      endpoint: 'http://127.0.0.1:1/',
    });
    const again = await run(approve(asking, waiting));
    expect(again).toMatchObject({ status: 'awaiting_input', awaiting: { tool: 'ask_billing' } });
    await fixture().database.query('DELETE FROM elo_agent_tools WHERE id = $1', [other]);
  });
});

describe('a decision whose agent is gone meanwhile', () => {
  it.each([
    ['taken from the list', { name: 'lead', subAgents: null }, { name: 'lead', subAgents: ['billing'] }],
    ['inactive', { name: 'billing', isActive: false }, { name: 'billing', isActive: true }],
  ])('waits until it is back: %s', async (_what, change, back) => {
    const { task, tenantId, pay, waiting } = await aWaitingTeam();
    await agents().update({ tenantId, ...change });
    expect((await failureOf(run(approve(task, waiting)))).code).toBe('APPROVAL_CALL_BLOCKED');
    await agents().update({ tenantId, ...back });
    const result = await run(approve(task, waiting), textReply('Paid.'), textReply('It is paid.'));
    expect(result).toMatchObject({ status: 'completed', result: { text: 'It is paid.' } });
    expect(world.paid(pay)).toBe(1);
    expect(await world.tree(task.task_id)).toMatchObject([{ state: 'done' }, { state: 'done' }]);
  });

  it('waits two agents below too', async () => {
    const { task, pay } = await world.family();
    const tenantId = task.meta.tenant_id;
    await agents().create({ tenantId, name: 'archive' });
    await agents().create({ tenantId, name: 'billing', subAgents: ['archive'] });
    await agents().create({ tenantId, name: 'lead', subAgents: ['billing'] });
    const ofLead = { ...task, config: { ...task.config, agent: 'lead' } };
    const waiting = await run(ofLead, toolReply([asks('billing')]), toolReply([asks('archive')]), pays(pay));
    await agents().update({ tenantId, name: 'billing', subAgents: null });
    expect((await failureOf(run(approve(ofLead, waiting), textReply('Not asked')))).code).toBe('APPROVAL_CALL_BLOCKED');
    await agents().update({ tenantId, name: 'billing', subAgents: ['archive'] });
    const replies = [textReply('Paid.'), textReply('It is paid.'), textReply('All is paid.')];
    const result = await run(approve(ofLead, waiting), ...replies);
    expect(result).toMatchObject({ status: 'completed', result: { text: 'All is paid.' } });
    expect(world.paid(pay)).toBe(1);
    expect((await world.tree(ofLead.task_id)).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
  });

  it('names the rule that keeps the call from being continued', async () => {
    const { task, tenantId, pay, waiting } = await aWaitingTeam();
    const rules = (message: string[]) =>
      agents().update({
        ...{ tenantId, name: 'lead' },
        toolPermissions: { ask_billing: { allowed_patterns: { message } } },
      });
    await rules(['Hello*']);
    const failure = await failureOf(run(approve(task, waiting)));
    expect(failure).toMatchObject({
      ...{ code: 'APPROVAL_CALL_BLOCKED' },
      message: expect.stringMatching(/it is refused now \(.*message/) as string,
    });
    await rules(['What*']);
    await run(approve(task, waiting), textReply('Paid.'), textReply('It is paid.'));
    expect(world.paid(pay)).toBe(1);
  });

  it('does not keep another decision of the run from being carried out', async () => {
    const { task, pay } = await world.family();
    const tenantId = task.meta.tenant_id;
    for (const name of ['one', 'two']) await agents().create({ tenantId, name });
    await agents().create({ tenantId, name: 'lead', subAgents: ['one', 'two'] });
    const ofLead = { ...task, config: { ...task.config, agent: 'lead', tool_execution: 'parallel' } };
    const waiting = await run(ofLead, toolReply([asks('one'), asks('two')]), pays(pay), pays(pay));
    await agents().update({ tenantId, name: 'lead', subAgents: ['one'] });
    const result = await run(approve(ofLead, waiting), textReply('Paid.'), textReply('One is paid.'));
    expect(result).toMatchObject({
      ...{ status: 'completed' },
      result: { tool_calls: [{ result: 'Paid.' }, { error: { code: 'TOOL_PERMISSION_DENIED' } }] },
    });
    expect(world.paid(pay)).toBe(1);
  });

  it('is carried out by a call that was let through before the agent was changed, and what stands beside it is called', async () => {
    const { task, pay } = await world.family();
    const tenantId = task.meta.tenant_id;
    await agents().create({ tenantId, name: 'billing' });
    await agents().create({ tenantId, name: 'lead', subAgents: ['billing'] });
    const ofLead = { ...task, config: { ...task.config, agent: 'lead', tool_execution: 'sequential' } };
    const both = toolReply([asks('billing'), { name: 'slow_to_check' }]);
    const waiting = await run(ofLead, both, pays(pay));
    whileChecking = () => agents().update({ tenantId, name: 'lead', description: 'Leads.' });
    const result = await run(approve(ofLead, waiting), textReply('Paid.'), textReply('Done'));
    expect(result.result.tool_calls).toMatchObject([{ result: 'Paid.' }, { tool: 'slow_to_check', result: {} }]);
    expect(world.paid(pay)).toBe(1);
  });
});

it('a tool of a program that answers otherwise when it is called again has answered, and the run goes on', async () => {
  const { task, pay } = await world.family();
  const refused = { body: { error: { message: 'no such thing' } }, status: 400 };
  const waiting = await run(task, toolReply([{ name: 'asks_other' }]), refused, pays(pay));
  expect(waiting.awaiting).toMatchObject({ tool: pay });
  const result = await run(approve(task, waiting), textReply('First.'), textReply('Done'));
  expect(result).toMatchObject({ status: 'completed', result: { tool_calls: [{ result: 'First.' }] } });
});

it('the limits of a task on tool calls hold for each run that works for it', async () => {
  const task = await aTeam({}, { max_tool_calls: 2, max_calls_per_tool: 1 });
  const calls = [1, 2, 3].map((n) => ({ name: 'echo', arguments: { n } }));
  await run(task, toolReply([asks('billing')]), toolReply(calls), textReply('Done'), textReply('Done'));
  const told = JSON.stringify(fixture().models.received.at(-2)?.messages);
  expect(told.match(/TOOL_RUN_LIMIT/g)).toHaveLength(2);
});

it('a limit on tool calls that comes while a call waits does not take its decision away', async () => {
  const { task, tenantId, pay, waiting } = await aWaitingTeam();
  await agents().update({ tenantId, name: 'lead', limits: { max_tool_calls: 0 } });
  await run(approve(task, waiting), textReply('Paid.'), textReply('It is paid.'));
  expect(world.paid(pay)).toBe(1);
});

it('an agent with a model of its own stays in the tier of who asks it, and under its rules', async () => {
  await fixture().database.query(
    `INSERT INTO elo_agent_tiers (code, name, model_id, rank, tool_config)
     VALUES ('no-echo', 'No echo', 'openai/gpt-4o-mini', 1, '{"disabled_tools": ["echo"]}')`,
  );
  const task = await aTeam({}, { agent_tier: 'no-echo' });
  const model = 'anthropic/claude-3-5-sonnet';
  await agents().update({ tenantId: task.meta.tenant_id, name: 'billing', model });
  await run(task, toolReply([asks('billing')]), textReply('Seven.'), textReply('Done'));
  expect(fixture().models.received.at(-2)?.model).toBe(model);
  expect([toolsOf(3), toolsOf(2)]).toEqual([['ask_billing', ...OF_PROGRAM], OF_PROGRAM]);
});

it('a list of a task is of the names that the tools have', async () => {
  const task = await aTeam();
  const tenantId = task.meta.tenant_id;
  await giveTool(fixture().database, tenantId, { code: 'ask_billing', endpoint: 'http://127.0.0.1:1/' });
  await run(task, textReply('Done'));
  const named = toolsOf(1)?.find((name) => /^ask_billing_[0-9a-f]{8}$/.test(name)) ?? '';
  const offered = async (tools: string[]) => {
    const { warnings } = await run(
      { ...task, task_id: tools.join(), config: { ...task.config, tools } },
      textReply(''),
      textReply('Done'),
    );
    return [toolsOf(1), warnings];
  };
  expect(await offered(['ask_billing'])).toEqual([['ask_billing'], []]);
  expect(await offered([named])).toEqual([[named], []]);
  const call = { tenantId, agent: 'lead', tool: named, arguments: { message: 'Hi' } };
  fixture().models.script(textReply('Seven.'));
  expect(await fixture().runtime.admin.tool.execute(call)).toMatchObject({ result: 'Seven.' });
});

it('a sub-agent has the variables of the task, and model rules compare its context; the context itself is not shown', async () => {
  const task = await aTeam({}, { variables: { company: 'ACME' }, context: { plan: 'pro' } });
  await agents().update({
    ...{ tenantId: task.meta.tenant_id, name: 'billing', systemPrompt: 'You bill for {{company}}.' },
    modelRules: [{ when: { 'context.plan': 'pro' }, tier: 'expert' }],
  });
  const result = await run(task, toolReply([asks('billing')]), textReply('Seven.'), textReply('Done'));
  expect(result.warnings).toEqual([]);
  expect(fixture().models.received.at(-2)).toMatchObject({
    model: 'anthropic/claude-3-5-sonnet',
    messages: [
      { role: 'system', content: 'You bill for ACME.' },
      { role: 'user', content: 'What is due?' },
    ],
  });
});

describe('rules for the tools of sub-agents', () => {
  it('are compared with the agents that there are, when they are saved', async () => {
    const { meta } = await aTeam();
    const set = (toolPermissions: Record<string, object>) =>
      agents().update({ tenantId: meta.tenant_id, name: 'lead', toolPermissions: toolPermissions as never });
    await expect(set({ ask_nobody: { decision: 'deny' } })).rejects.toMatchObject({ code: 'RULE_UNMATCHED' });
    const misspelt = { ask_billing: { allowed_patterns: { mesage: ['*'] } } };
    await expect(set(misspelt)).rejects.toMatchObject({ code: 'RULE_UNMATCHED' });
    await expect(set({ ask_billing: { decision: 'ask', max_calls_per_run: 2 } })).resolves.toBeDefined();
  });

  it('match in the runs that have none of them, and so do those of a task in the runs below it', async () => {
    const task = await aTeam({ tool_config: { disabled_tools: ['ask_sales1'] } }, { disabled_tools: ['ask_sales2'] });
    const tenantId = task.meta.tenant_id;
    for (const name of ['sales1', 'sales2']) await agents().create({ tenantId, name });
    await agents().update({ tenantId, name: 'billing', subAgents: ['sales1'] });
    await agents().update({ tenantId, name: 'lead', subAgents: ['billing', 'sales2'] });
    const result = await run(task, toolReply([asks('billing')]), textReply('Seven.'), textReply('Done'));
    expect(result.warnings).toEqual([]);
    expect([toolsOf(3), toolsOf(2)]).toEqual([
      ['ask_billing', 'echo', ...OF_PROGRAM],
      ['echo', ...OF_PROGRAM],
    ]);
  });

  it('of a task are compared when it runs, since nothing else compares them', async () => {
    const task = await aTeam({}, { disabled_tools: ['ask_biling'] });
    const { warnings } = await run(task, textReply('Done'));
    expect(warnings).toMatchObject([{ code: 'RULE_UNMATCHED' }]);
  });
});

describe('the caller is told', () => {
  it('once, and of which agent, what sub-agents lack', async () => {
    const task = await aTeam();
    const tenantId = task.meta.tenant_id;
    await agents().create({ tenantId, name: 'old' });
    await agents().update({ tenantId, name: 'billing', subAgents: ['old'] });
    await agents().delete({ tenantId, name: 'old' });
    const calls = toolReply([asks('billing', '1'), asks('billing', '2')]);
    const { warnings } = await run(task, calls, textReply('1'), textReply('2'), textReply('Done'));
    expect(warnings).toMatchObject([
      {
        code: 'SUB_AGENT_NOT_LOADED',
        message: 'The agent "billing" cannot ask "old": the tenant has no active agent of this name.',
      },
    ]);
  });

  it('of a sub-agent that cannot be read, and the model is told that it failed', async () => {
    const task = await aTeam();
    await fixture().database.query(
      `UPDATE elo_agents SET limits = '{"max_cost": 1}' WHERE tenant_id = $1 AND name = 'billing'`,
      [task.meta.tenant_id],
    );
    const { warnings } = await run(task, toolReply([asks('billing')]), textReply('Then not.'));
    expect(warnings).toMatchObject([{ code: 'AGENT_INVALID' }]);
    expect(JSON.stringify(fixture().models.received.at(-1)?.messages)).toContain('AGENT_INVALID');
  });
});

it('the description of a sub-agent is one line, and bounded', async () => {
  const task = await aTeam();
  await fixture().database.query(
    `UPDATE elo_agents SET description = E'Pays.\\n\\n# System\\n' || repeat('x', 5000) WHERE tenant_id = $1 AND name = 'billing'`,
    [task.meta.tenant_id],
  );
  await run(task, textReply('Done'));
  const { description = '' } = fixture().models.received.at(-1)?.tools?.[0]?.function ?? {};
  expect(description).toContain('Pays. # System x');
  expect(description.length).toBeLessThan(1100);
});

it('a sub-agent has the variables that were set before it was asked', async () => {
  const task = await aTeam({}, { variables: { company: 'Before' } });
  const tenantId = task.meta.tenant_id;
  await giveTool(fixture().database, tenantId, { code: 'set_variable', transport: 'builtin', endpoint: null });
  await agents().update({ tenantId, name: 'billing', systemPrompt: 'You bill for {{company}}.' });
  const sets = toolReply([{ name: 'set_variable', arguments: { name: 'company', value: 'After' } }]);
  await run(task, sets, toolReply([asks('billing')]), textReply('Seven.'), textReply('Done'));
  expect(fixture().models.received.at(-2)?.messages[0]?.content).toBe('You bill for After.');
});

it('an approval holds for a tool of a server whose address has changed, and the address is not kept with it', async () => {
  const server = await startRawMcpServer({
    'tools/list': () => ({ tools: [{ name: 'search', inputSchema: { type: 'object' } }] }),
    'tools/call': () => ({ content: [{ type: 'text', text: 'found' }] }),
  });
  const tenantId = await addTenant(fixture().database, {
    settings: { tool_config: { tool_permissions: { shop_search: { decision: 'ask' } } } },
  });
  const task = aTask(tenantId);
  const host = (key: string) => ({ mcpServers: [{ name: 'shop', url: `${server.url}?key=${key}` }] });
  fixture().models.script(toolReply([{ name: 'shop_search' }]));
  const waiting = await fixture().runtime.run(task, host('SECRET-1'));
  expect(waiting.awaiting).toMatchObject({ tool: 'shop_search' });
  const [row] = await fixture().database.query<{ resume: string }>(
    'SELECT resume::text AS resume FROM elo_agent_runs WHERE task_id = $1',
    [task.task_id],
  );
  expect(row?.resume).toContain('shop.search');
  expect(row?.resume).not.toContain('SECRET-1');
  fixture().models.script(textReply('Found.'));
  const result = await fixture().runtime.run(approve(task, waiting), host('SECRET-2'));
  expect(result).toMatchObject({ status: 'completed', result: { text: 'Found.' } });
  await server.close();
});
