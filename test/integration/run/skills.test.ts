import { createRuntime, type Tool } from '../../../runtime';
import { createMemoryLedger, createMemoryTenants } from '../../../runtime/testing';
import { addMcpServer, addTenant, useMcpServer } from '../../support/servers/database';
import { startMcpServer } from '../../support/servers/mcp-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, echoTool, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { named, text } from '../../support/worlds/mcp-world';

let fixture: AgentFixture;
const tool = (name: string) => ({ ...echoTool, definition: { ...echoTool.definition, name } });
const coder = { name: 'coder', skills: ['refunds'] };

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({
    tools: [echoTool, tool('pay'), tool('look')],
    agents: [coder],
  }));
});
afterAll(() => fixture.close());

const admin = () => fixture.runtime.admin;
const content = (name: string, lines = '', body = 'Be kind to $ARGUMENTS.') =>
  `---\nname: ${name}\ndescription: For ${name} & <more>.\n${lines}---\n${body}\n`;
const loads = (name: string, more: object = {}) => ({ name: 'load_skill', arguments: { name, ...more } });

/** The tools that each model call of the last run was shown, and the system prompt of the first. */
function shownSince(start: number) {
  const requests = fixture.models.received.slice(start);
  return {
    system: requests[0]?.messages.find(({ role }) => role === 'system')?.content ?? '',
    tools: requests.map(({ tools = [] }) => tools.map(({ function: { name } }) => name)),
  };
}

async function run(tenantId: string, config: Record<string, unknown>, ...replies: readonly ScriptedReply[]) {
  const start = fixture.models.received.length;
  fixture.models.script(...replies, textReply('Done'));
  const result = await fixture.runtime.run(aTask(tenantId, config));
  return { result, calls: result.result.tool_calls, ...shownSince(start) };
}

async function tenantWith(...skills: readonly string[]): Promise<string> {
  const tenantId = await addTenant(fixture.database);
  for (const one of skills) await admin().skill.create({ tenantId, content: one });
  return tenantId;
}

it('a run that names no skill is as if there were none', async () => {
  const tenantId = await tenantWith(content('refunds'));
  await admin().agent.create({ tenantId, name: 'plain' });
  for (const config of [{}, { agent: 'plain' }, { skills: [] }]) {
    const { system, tools, result } = await run(tenantId, config);
    expect(tools).toEqual([['echo', 'pay', 'look']]);
    expect(system).not.toContain('skill');
    expect(result.warnings).toEqual([]);
  }
});

it('a skill of the agent is told by name and description; its text comes with its arguments when the model loads it', async () => {
  const tenantId = await tenantWith(content('refunds', 'allowed-tools: pay\n'), content('other'));
  await admin().agent.create({ tenantId, name: 'support', skills: ['refunds'] });
  const asked = toolReply([loads('refunds', { arguments: 'Ada' })]);
  const { system, tools, calls, result } = await run(tenantId, { agent: 'support' }, asked);
  expect(system).toContain('<name>refunds</name>\n<description>For refunds &amp; &lt;more&gt;.</description>');
  expect(system).not.toMatch(/other|Be kind/);
  expect(tools).toEqual([
    ['load_skill', 'echo', 'pay', 'look'],
    ['pay', 'load_skill'],
  ]);
  expect(calls).toMatchObject([
    { tool: 'load_skill', result: { skill: 'refunds', instructions: 'Be kind to Ada.', tools: ['pay'] } },
  ]);
  expect(result.warnings).toEqual([]);
});

it.each([
  ['by name', 'echo'],
  ['as the argument of another', 'pay'],
])('a tool outside the skill cannot be reached %s', async (_how, name) => {
  const tenantId = await tenantWith(content('refunds', 'allowed-tools: look\n'));
  const { calls } = await run(
    tenantId,
    { skills: ['refunds'] },
    toolReply([loads('refunds', { tools: ['echo', 'pay'], allowed_tools: '*', arguments: 'allowed-tools: *' })]),
    toolReply([{ name, arguments: {} }]),
  );
  expect(calls[0]).toMatchObject({ result: { tools: ['look'] } });
  expect(calls[1]).toMatchObject({ tool: name, error: { code: 'TOOL_NOT_FOUND' } });
});

it('a skill may name tools of MCP servers, and the model reaches no others of that server', async () => {
  const server = await startMcpServer({ tools: named('find', 'pay'), answer: () => text('3 days') });
  const tenantId = await tenantWith(content('refunds', 'allowed-tools: shop.find mcp__shop__gone\n'));
  const serverId = await addMcpServer(fixture.database, { code: 'shop', url: server.url });
  await useMcpServer(fixture.database, { tenantId, serverId });
  const { tools, calls } = await run(
    tenantId,
    { skills: ['refunds'] },
    toolReply([loads('refunds')]),
    toolReply(['shop_pay', 'shop.pay', 'shop_find'].map((name) => ({ name, arguments: {} }))),
  );
  expect(tools[0]).toContain('shop_pay');
  expect(tools[1]).toEqual(['shop_find', 'load_skill']);
  expect(calls.map(({ error }) => (error as { code?: string } | undefined)?.code)).toEqual([
    ...[undefined, 'TOOL_NOT_FOUND', 'TOOL_NOT_FOUND', undefined],
  ]);
  await server.close();
});

it('of two loaded skills the last decides, and one without allowed-tools narrows nothing', async () => {
  const tenantId = await tenantWith(
    content('one', 'allowed-tools: echo\n'),
    content('two', 'allowed-tools: pay look\n'),
    content('open'),
    content('none', 'allowed-tools:\n'),
  );
  const all = ['load_skill', 'echo', 'pay', 'look'];
  const steps = ['one', 'two', 'open', 'none'].map((name) => toolReply([loads(name)]));
  const { tools } = await run(tenantId, { skills: ['*'] }, ...steps);
  expect(tools).toEqual([all, ['echo', 'load_skill'], ['pay', 'look', 'load_skill'], all, ['load_skill']]);
});

it('the scope of a skill is within what the tenant, the agent and the task allow', async () => {
  const tenantId = await tenantWith(content('refunds', 'allowed-tools: "*"\n'));
  await admin().agent.create({ tenantId, name: 'support', skills: ['refunds'], tools: ['echo', 'pay'] });
  const { tools } = await run(tenantId, { agent: 'support', tools: ['pay', 'look'] }, toolReply([loads('refunds')]));
  expect(tools).toEqual([
    ['load_skill', 'pay'],
    ['pay', 'load_skill'],
  ]);
});

it('a skill does without the tools that the run lacks, and the model and the caller are told', async () => {
  const tenantId = await tenantWith(content('refunds', 'allowed-tools: pay(amount:*) mcp__shop__look look gone\n'));
  const { tools, calls, result } = await run(tenantId, { skills: ['refunds'] }, toolReply([loads('refunds')]));
  expect(tools[1]).toEqual(['look', 'load_skill']);
  expect(calls[0]).toMatchObject({ result: { unavailable_tools: ['pay(amount:*)', 'mcp__shop__look', 'gone'] } });
  expect(result.warnings).toMatchObject([
    { code: 'SKILL_TOOLS_MISSING', message: expect.stringContaining('gone') as string },
  ]);
});

it('names are intersected: the task narrows the agent, and an agent without skills leaves it to the task', async () => {
  const tenantId = await tenantWith(content('a'), content('b'));
  await admin().agent.create({ tenantId, name: 'has-a', skills: ['a'] });
  await admin().agent.create({ tenantId, name: 'has-none' });
  await admin().agent.create({ tenantId, name: 'has-all', skills: ['*'] });
  const skillsOf = async (config: object) => {
    const { system, result } = await run(tenantId, { ...config });
    return [system.match(/(?<=<name>)\w+/g) ?? [], result.warnings.map(({ code }) => code)];
  };
  expect(await skillsOf({ agent: 'has-a', skills: ['a', 'b'] })).toEqual([['a'], []]);
  expect(await skillsOf({ agent: 'has-a', skills: ['b'] })).toEqual([[], []]);
  expect(await skillsOf({ agent: 'has-none', skills: ['b'] })).toEqual([['b'], []]);
  expect(await skillsOf({ agent: 'has-all' })).toEqual([['a', 'b'], []]);
  expect(await skillsOf({ skills: ['a', 'gone'] })).toEqual([['a'], ['SKILL_NOT_LOADED']]);
  expect(await skillsOf({ agent: 'coder' })).toEqual([[], ['SKILL_NOT_LOADED']]);
});

it('a tenant has its own skill in place of that of all tenants, and none of another tenant', async () => {
  await admin().skill.create({ shared: true, content: content('common', '', 'For all.') });
  const [own, other] = [await tenantWith(content('common', '', 'Own.')), await tenantWith()];
  const textOf = async (tenantId: string) =>
    (await run(tenantId, { skills: ['common'] }, toolReply([loads('common')]))).calls[0]?.result;
  expect(await textOf(own)).toMatchObject({ instructions: 'Own.' });
  expect(await textOf(other)).toMatchObject({ instructions: 'For all.' });
  await admin().skill.update({ tenantId: own, name: 'common', isActive: false });
  const { result } = await run(own, { skills: ['common'] });
  expect(result.warnings).toMatchObject([{ code: 'SKILL_NOT_LOADED' }]);
  await admin().skill.delete({ shared: true, name: 'common' });
  expect((await run(other, { skills: ['common'] })).result.warnings).toMatchObject([{ code: 'SKILL_NOT_LOADED' }]);
});

it('a skill that the run was not given cannot be loaded by its name', async () => {
  const tenantId = await tenantWith(content('given'), content('kept'));
  const { calls, tools } = await run(tenantId, { skills: ['given'] }, toolReply([loads('kept')]));
  expect(calls[0]).toMatchObject({
    error: { code: 'SKILL_NOT_FOUND', hint: expect.stringMatching(/: given\.$/) as string },
  });
  expect(tools[1]).toContain('pay');
});

it('a row that cannot be read costs this skill alone, and the caller is told', async () => {
  const tenantId = await tenantWith(content('broken', 'allowed-tools: echo\n'));
  await fixture.database.query(`UPDATE elo_agent_skills SET content = E'---\\na: [' WHERE tenant_id = $1`, [tenantId]);
  const { calls, result, tools } = await run(tenantId, { skills: ['broken'] }, toolReply([loads('broken')]));
  expect(calls[0]).toMatchObject({ error: { code: 'SKILL_UNREADABLE' } });
  expect(tools[1]).toEqual(tools[0]);
  expect(result.warnings).toMatchObject([{ code: 'SKILL_UNREADABLE' }]);
});

it('files of a skill are listed when it is loaded, and read one by one', async () => {
  const tenantId = await addTenant(fixture.database);
  const files = { 'references/FORMS.md': 'Form 7', 'assets/logo.png': { base64: 'iVBORw0=' } };
  await admin().skill.create({ tenantId, content: content('pdf', 'allowed-tools: pay\n'), files });
  const { calls, tools } = await run(
    tenantId,
    { skills: ['pdf'] },
    toolReply([loads('pdf', { file: 'references/FORMS.md' })]),
    toolReply([loads('pdf', { file: '' })]),
    toolReply(['assets/logo.png', '../pdf', '__proto__'].map((file) => loads('pdf', { file }))),
  );
  expect(calls.map(({ result, error }) => result ?? error)).toMatchObject([
    { skill: 'pdf', file: 'references/FORMS.md', text: 'Form 7' },
    { files: ['assets/logo.png', 'references/FORMS.md'] },
    { code: 'SKILL_FILE_UNREADABLE' },
    { code: 'SKILL_FILE_UNREADABLE' },
    { code: 'SKILL_FILE_UNREADABLE' },
  ]);
  expect(tools.map((names) => names.length)).toEqual([4, 4, 2, 2]);
});

it('arguments cannot make a text that fills the memory, and long files are cut', async () => {
  const tenantId = await tenantWith(content('bomb', '', '$ARGUMENTS'.repeat(10_000)));
  await admin().skill.create({ tenantId, content: content('long'), files: { 'a.md': 'ä'.repeat(70_000) } });
  const { calls } = await run(
    tenantId,
    { skills: ['*'] },
    toolReply([loads('bomb', { arguments: 'x'.repeat(50_000) }), loads('long', { file: 'a.md' })]),
  );
  expect(calls[0]).toMatchObject({ error: { code: 'SKILL_UNREADABLE' } });
  expect(calls[1]?.result).toMatchObject({
    text: 'ä'.repeat(32_768),
    warning: expect.stringContaining('65536') as string,
  });
});

it('a tool of a plugin cannot say which tools come next', async () => {
  const tenantId = await tenantWith(content('a', 'allowed-tools: widen\n'));
  const widen: Tool = {
    ...tool('widen'),
    execute: () => Promise.resolve({ isError: false, value: null, nextTools: 'all' }),
  };
  const runtime = createRuntime({
    database: { url: fixture.database.url },
    model: { apiKey: 'sk', baseUrl: fixture.models.url },
    plugins: { tools: [widen, tool('pay')] },
  });
  const start = fixture.models.received.length;
  fixture.models.script(toolReply([loads('a')]), toolReply([{ name: 'widen' }]), textReply('Done'));
  await runtime.run(aTask(tenantId, { skills: ['a'] }));
  const within = ['widen', 'load_skill'];
  expect(shownSince(start).tools).toEqual([['load_skill', 'widen', 'pay'], within, within]);
  await runtime.close();
});

it('a tool of a plugin with the name of load_skill is not taken for it by a run that goes on', async () => {
  const tenantId = await tenantWith(content('a', 'allowed-tools: pay\n'));
  const widen: Tool = {
    ...tool('load_skill'),
    loadsSkills: true,
    execute: () => Promise.resolve({ isError: false, value: 'mine', nextTools: 'all', warnings: [null as never] }),
  };
  const runtime = createRuntime({
    database: { url: fixture.database.url },
    model: { apiKey: 'sk', baseUrl: fixture.models.url },
    plugins: { tools: [widen, tool('pay'), tool('look')] },
  });
  const config = { skills: ['a'], tool_permissions: { pay: { decision: 'ask' } } };
  fixture.models.script(toolReply([loads('a')]), toolReply([{ name: 'pay', arguments: {} }]));
  const waits = await runtime.run(aTask(tenantId, config));
  expect(waits.warnings).toMatchObject([{ code: 'TOOL_SKIPPED' }]);
  await admin().skill.delete({ tenantId, name: 'a' });
  const start = fixture.models.received.length;
  fixture.models.script(toolReply([loads('a')]), textReply('Done'));
  const approval = { run_id: waits.run_id, decision: 'approve' };
  const { status, result } = await runtime.run(aTask(tenantId, { ...config, approval }));
  expect(status).toBe('completed');
  expect(shownSince(start).tools).toEqual([['pay'], ['pay']]);
  expect(result.tool_calls.at(-1)).toMatchObject({ tool: 'load_skill', error: { code: 'TOOL_NOT_FOUND' } });
  fixture.models.script(toolReply([loads('a')]), textReply('Done'));
  const plain = await runtime.run(aTask(tenantId, {}));
  expect(plain.result.tool_calls).toMatchObject([{ tool: 'load_skill', result: 'mine' }]);
  expect(plain.warnings).toEqual([]);
  await runtime.close();
});

it('skills that lists name are there, however many the tenant has', async () => {
  const tenantId = await addTenant(fixture.database);
  await fixture.database.query(
    `INSERT INTO elo_agent_skills (tenant_id, name, description, content)
     SELECT $1, 'skill-' || lpad(n::text, 3, '0'), 'Skill', '---' FROM generate_series(1, 150) AS n`,
    [tenantId],
  );
  const all = Array.from({ length: 150 }, (_one, index) => `skill-${String(index + 1).padStart(3, '0')}`);
  await admin().agent.create({ tenantId, name: 'many', skills: all });
  const { system, result } = await run(tenantId, { agent: 'many', skills: ['skill-140'] });
  expect(system.match(/(?<=<name>)[^<]+/g)).toEqual(['skill-140']);
  expect(result.warnings).toEqual([]);
  const cut = await run(tenantId, { agent: 'many' });
  expect(cut.system.match(/<skill>/g)).toHaveLength(100);
  expect(cut.result.warnings).toMatchObject([{ code: 'SKILLS_LEFT_OUT' }]);
});

it('a run that began under a label alone has no skills of an agent that was made since', async () => {
  const tenantId = await tenantWith(content('a'));
  const config = { agent: 'label', tool_permissions: { pay: { decision: 'ask' } } };
  const runtime = createRuntime({
    database: { url: fixture.database.url },
    model: { apiKey: 'sk', baseUrl: fixture.models.url },
    plugins: { tools: [tool('pay')] },
  });
  fixture.models.script(toolReply([{ name: 'pay', arguments: {} }]), textReply('Done'));
  const waits = await runtime.run(aTask(tenantId, config));
  await admin().agent.create({ tenantId, name: 'label', skills: ['a'] });
  await runtime.run(aTask(tenantId, { ...config, approval: { run_id: waits.run_id, decision: 'approve' } }));
  expect(fixture.models.received.at(-1)?.tools?.map(({ function: { name } }) => name)).toEqual(['pay']);
  await runtime.close();
});

it('allow-lists and grants do not take load_skill away, deny-lists and permissions do', async () => {
  const tenantId = await tenantWith(content('a'));
  const toolsOf = async (config: object) => (await run(tenantId, { skills: ['a'], ...config })).tools[0];
  expect(await toolsOf({ tools: [] })).toEqual(['load_skill']);
  expect(await toolsOf({ disabled_tools: ['load_skill'] })).toEqual(['echo', 'pay', 'look']);
  expect(await toolsOf({ tool_permissions: { load_skill: { decision: 'deny' } } })).not.toContain('load_skill');
  await admin().tenant.update({ tenantId, settings: { tool_config: { default: 'deny' } } });
  expect(await toolsOf({})).toEqual(['load_skill']);
});

it('a skill that is loaded again is in force again', async () => {
  const tenantId = await tenantWith(content('a', 'allowed-tools: echo\n'), content('b', 'allowed-tools: pay\n'));
  const order = ['a', 'b', 'a', 'b', 'a', 'b', 'a', 'a', 'a'];
  const { tools } = await run(tenantId, { skills: ['*'] }, ...order.map((name) => toolReply([loads(name)])));
  expect(tools.slice(1).map(([first]) => first)).toEqual(order.map((name) => (name === 'a' ? 'echo' : 'pay')));
});

it('secrets of the run are blanked in what a skill says', async () => {
  const tenantId = await tenantWith(content('leak', 'allowed-tools: sk-test-key\n', 'The key is sk-test-key.'));
  const { result } = await run(tenantId, { skills: ['leak'] }, toolReply([loads('leak')]));
  expect(result.warnings).toHaveLength(1);
  expect(JSON.stringify(result)).not.toContain('sk-test-key');
});

it('a run that waits for a person goes on within the skill that it has loaded, whatever became of it since', async () => {
  const tenantId = await tenantWith(content('refunds', 'allowed-tools: pay\n'));
  const config = { skills: ['refunds'], tool_permissions: { pay: { decision: 'ask' } } };
  fixture.models.script(toolReply([loads('refunds')]), toolReply([{ name: 'pay', arguments: {} }]));
  const waits = await fixture.runtime.run(aTask(tenantId, config));
  expect(waits).toMatchObject({ status: 'awaiting_input', awaiting: { tool: 'pay' } });
  await admin().skill.delete({ tenantId, name: 'refunds' });
  const approval = { run_id: waits.run_id, decision: 'approve' };
  const { tools, result } = await run(tenantId, { ...config, approval });
  expect(result.status).toBe('completed');
  expect(tools).toEqual([['pay']]);
});

it('a tool of the tenant that is called load_skill makes way while there are skills', async () => {
  const tenantId = await tenantWith(content('a'));
  await admin().tool.create({
    ...{ code: 'load_skill', name: 'Mine', description: 'Mine', endpoint: 'https://example.com/' },
  });
  await admin().tool.enable({ tenantId, code: 'load_skill' });
  const { tools, result } = await run(tenantId, { skills: ['a'] });
  expect(tools[0]?.filter((name) => name === 'load_skill')).toHaveLength(1);
  expect(result.warnings).toMatchObject([{ code: 'TOOL_SKIPPED' }]);
  await admin().tool.disable({ tenantId, code: 'load_skill' });
  await admin().tool.delete({ code: 'load_skill' });
});

it('more skills than a run can have are left out, those that are named come first', async () => {
  const tenantId = await addTenant(fixture.database);
  await fixture.database.query(
    `INSERT INTO elo_agent_skills (tenant_id, name, description, content)
     SELECT $1, 'skill-' || lpad(n::text, 3, '0'), 'Skill', '---' FROM generate_series(1, 120) AS n`,
    [tenantId],
  );
  const { system, result } = await run(tenantId, { skills: ['*', 'skill-120'] });
  expect(system.match(/<skill>/g)).toHaveLength(100);
  expect(system).toContain('skill-120');
  expect(result.warnings).toMatchObject([{ code: 'SKILLS_LEFT_OUT' }]);
});

it('a runtime without a database has no skills, and says so', async () => {
  const tenantId = '11111111-1111-4111-8111-111111111111';
  const runtime = createRuntime({
    model: { apiKey: 'sk', baseUrl: fixture.models.url },
    plugins: { tenants: createMemoryTenants([{ id: tenantId }]), ledger: createMemoryLedger() },
  });
  fixture.models.script(textReply('Done'));
  const result = await runtime.run(aTask(tenantId, { skills: ['a'] }));
  expect(result.warnings[0]).toMatchObject({ code: 'SKILL_NOT_LOADED' });
  await runtime.close();
});

it('an agent takes no skill that there is not', async () => {
  const tenantId = await tenantWith(content('a'));
  const create = admin().agent.create({ tenantId, name: 'x', skills: ['a', 'gone'] });
  expect((await failureOf(create)).code).toBe('SKILL_UNKNOWN');
});
