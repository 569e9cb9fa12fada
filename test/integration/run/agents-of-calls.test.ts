import { createRuntime } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, echoTool, gate } from '../../support/values/agent-fixture';
import { familyWorld } from '../../support/worlds/family-world';

const world = familyWorld([], [{ name: 'program', subAgents: ['billing'] }]);
const fixture = (): AgentFixture => world.fixture();
const agents = () => fixture().runtime.admin.agent;
const toolsOf = (place: number) => {
  const { tools = [] } = fixture().models.received.at(place) ?? {};
  return tools.map(({ function: { name } }) => name);
};
const asks = (name: string) => ({ name: `ask_${name}`, arguments: { message: 'What is due?' } });
const rows = (sql: string, tenantId: string) => fixture().database.query(sql, [tenantId]);
const bill = (tenantId: string) =>
  rows(
    `SELECT task_id, task_type, agent_tier, model_calls, run_user_id, cost_usd > 0 AS costs
     FROM elo_t_token_usage WHERE tenant_id = $1 ORDER BY task_id`,
    tenantId,
  );
let next = 0;

/** A tenant whose agent `lead` asks `billing`, and the call that an agent of another program makes of it. */
async function aTeam(settings: object = {}) {
  const tenantId = await addTenant(fixture().database, { settings: { default_tier: 'pro', ...settings } });
  await agents().create({ tenantId, name: 'billing', systemPrompt: 'You bill.' });
  await agents().create({ tenantId, name: 'lead', subAgents: ['billing'] });
  return callOf(tenantId);
}

const callOf = (tenantId: string) => ({
  ...{ tenantId, agent: 'lead', tool: 'ask_billing', arguments: { message: 'What is due?' }, isApproved: false },
  ...{ task: { id: `n8n:${next++}:agent:0`, type: 'tenant_tools' }, meta: { user_id: 'u-1' } },
});
type Asking = ReturnType<typeof callOf>;
const call = (query: Partial<Asking> & Pick<Asking, 'tenantId'>, signal?: AbortSignal) =>
  fixture().runtime.tools.call({ ...callOf(query.tenantId), ...query, signal });

it('agents are offered to an agent of another program as far as a model answers for them', async () => {
  const { tenantId } = await aTeam();
  const { tools } = await fixture().runtime.tools.offer({ tenantId, agent: 'lead', isApproved: false });
  expect(tools.map(({ name }) => name)).toContain('ask_billing');
  const { database } = fixture();
  const without = createRuntime({ database: { url: database.url }, plugins: { tools: [echoTool] } });
  const offer = await without.tools.offer({ tenantId, agent: 'lead' }).finally(() => without.close());
  expect(offer.tools.map(({ name }) => name)).toEqual(['echo']);
});

it('an agent of the program offers the rows that it can ask', async () => {
  const { tenantId } = await aTeam();
  const { tools, warnings } = await fixture().runtime.tools.offer({ tenantId, agent: 'program' });
  expect([tools.map(({ name }) => name).includes('ask_billing'), warnings]).toEqual([true, []]);
});

it('an agent that is asked answers with prompt and tools of its own, on the line of whoever asks', async () => {
  const query = await aTeam();
  fixture().models.script(toolReply([{ name: 'echo', arguments: { text: 'seven' } }]), textReply('Seven.'));
  const first = await call(query);
  fixture().models.script(textReply('Still seven.'));
  const second = await call(query);
  expect([first, second]).toEqual([
    { isError: false, value: 'Seven.' },
    { isError: false, value: 'Still seven.' },
  ]);
  expect(fixture().models.received.at(-1)?.messages).toEqual([
    { role: 'system', content: 'You bill.' },
    { role: 'user', content: 'What is due?' },
  ]);
  const line = { task_type: 'tenant_tools', agent_tier: 'pro', run_user_id: 'u-1', costs: true };
  expect(await bill(query.tenantId)).toEqual([{ ...line, task_id: query.task.id, model_calls: 3 }]);
  const tree = await world.tree(query.task.id);
  expect(tree.map(({ state }) => state)).toEqual(['done', 'done', 'done', 'done']);
  const audit = 'SELECT tool FROM elo_tool_executions WHERE tenant_id = $1 ORDER BY id';
  const calls = await rows(audit, query.tenantId);
  expect(calls.map(({ tool }) => tool)).toEqual(['echo', 'ask_billing', 'ask_billing']);
});

it('agents below it and a call without a task are on one line too', async () => {
  const { tenantId } = await aTeam();
  await agents().create({ tenantId, name: 'archive' });
  await agents().update({ tenantId, name: 'billing', subAgents: ['archive'] });
  fixture().models.script(toolReply([asks('archive')]), textReply('Seven.'), textReply('It is seven.'));
  expect(await call({ tenantId, task: undefined })).toMatchObject({ value: 'It is seven.' });
  expect(await bill(tenantId)).toMatchObject([{ task_type: 'tools-call', model_calls: 3 }]);
});

it('a list of tools for the other program leaves those of the agents as they are', async () => {
  const query = await aTeam();
  fixture().models.script(textReply('Seven.'));
  const allowed = ['ask_billing'];
  const { tools } = await fixture().runtime.tools.offer({ ...query, allowed });
  expect(tools.map(({ name }) => name)).toEqual(allowed);
  await fixture().runtime.tools.call({ ...query, allowed });
  expect(toolsOf(-1)).toContain('echo');
});

it('what would wait for a person is left out, also of agents below', async () => {
  const { task, pay } = await world.family({ default_tier: 'pro' });
  const { tenant_id: tenantId } = task.meta;
  await agents().create({ tenantId, name: 'archive' });
  await agents().create({ tenantId, name: 'billing', subAgents: ['archive'] });
  await agents().create({ tenantId, name: 'lead', subAgents: ['billing'] });
  fixture().models.script(
    ...[toolReply([asks('archive')]), toolReply([{ name: pay, arguments: {} }])],
    ...[textReply('Not paid.'), textReply('It is not paid.')],
  );
  const { value, warnings } = await call({ tenantId });
  expect(value).toBe('It is not paid.');
  expect(warnings?.map(({ message }) => message)).toEqual([
    expect.stringMatching(`^Agent "billing": Tool "${pay}" is not offered`),
    expect.stringMatching(`^Agent "billing": Agent "archive": Tool "${pay}" is not offered`),
  ]);
  expect([toolsOf(-4), toolsOf(-3)]).toEqual([
    ['ask_archive', 'echo', 'ask'],
    ['echo', 'ask'],
  ]);
  expect(world.paid(pay)).toBe(0);
});

it('warnings come with a failure, and of what a tool of code starts; each once', async () => {
  const { task, pay } = await world.family({ default_tier: 'pro' });
  const { tenant_id: tenantId } = task.meta;
  const skill = '---\nname: research\ndescription: Looks.\nmax_turns: 3\n---\nLook.';
  await fixture().runtime.admin.skill.create({ tenantId, content: skill });
  await agents().create({ tenantId, name: 'billing', skills: ['*'] });
  await agents().create({ tenantId, name: 'lead', subAgents: ['billing'] });
  const loads = toolReply([{ name: 'load_skill', arguments: { name: 'research' } }]);
  fixture().models.script(loads, textReply('Found.'), { status: 400, body: { error: { message: 'bad' } } });
  const failed = await call({ tenantId });
  expect([failed.isError, failed.warnings?.length]).toEqual([true, 1]);
  fixture().models.script(textReply('Done.'));
  const ofCode = await call({ tenantId, tool: 'ask', agent: undefined });
  expect(JSON.stringify([failed.warnings, ofCode.warnings]).split(`\\"${pay}\\" is not offered`)).toHaveLength(3);
});

it('a rule that asks a person from now on takes the tool from an agent at work', async () => {
  const { task, pay } = await world.family({ default_tier: 'pro' }, 'allow');
  const { tenant_id: tenantId } = task.meta;
  await agents().create({ tenantId, name: 'billing' });
  await agents().create({ tenantId, name: 'lead', subAgents: ['billing'] });
  fixture().models.script(async (_request, response) => {
    await fixture().runtime.admin.tenant.update({
      tenantId,
      settings: { tool_config: { tool_permissions: { [pay]: { decision: 'ask' } } } },
    });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(toolReply([{ name: pay, arguments: {} }]).body));
  }, textReply('Not paid.'));
  expect(await call({ tenantId })).toMatchObject({ value: 'Not paid.' });
  expect(world.paid(pay)).toBe(0);
});

it('each counts among the runs of the minute, and what it asks does not', async () => {
  const { tenantId } = await aTeam({ runs_per_minute: 1 });
  await agents().create({ tenantId, name: 'archive' });
  await agents().update({ tenantId, name: 'billing', subAgents: ['archive'] });
  fixture().models.script(toolReply([asks('archive')]), textReply('Seven.'), textReply('It is seven.'));
  expect(await call({ tenantId })).toMatchObject({ isError: false });
  expect(await call({ tenantId })).toMatchObject({ isError: true, code: 'TENANT_RATE_LIMITED' });
});

it('a budget that is spent lets none of them ask', async () => {
  const { tenantId } = await aTeam({ monthly_token_limit: 10 });
  fixture().models.script(textReply('Seven.'));
  await fixture()
    .runtime.run(aTask(tenantId, { agent: 'billing' }))
    .catch(() => undefined);
  const before = fixture().models.received.length;
  expect(await call({ tenantId })).toMatchObject({ isError: true, code: 'BUDGET_EXCEEDED' });
  expect(fixture().models.received.length).toBe(before);
});

it('what a model without a price has used counts for the month', async () => {
  const { tenantId } = await aTeam();
  await agents().update({ tenantId, name: 'billing', model: 'some/unpriced' });
  fixture().models.script(textReply('Seven.', { prompt: 1000, completion: 300, model: 'some/unpriced' }));
  await call({ tenantId });
  await fixture().runtime.admin.tenant.update({ tenantId, settings: { monthly_token_limit: 1000 } });
  expect(await call({ tenantId })).toMatchObject({ isError: true, code: 'BUDGET_EXCEEDED' });
  expect(await bill(tenantId)).toMatchObject([{ task_type: 'tenant_tools', model_calls: 1 }]);
});

it('agents of another tenant are not there', async () => {
  const [other, own] = [await aTeam(), await addTenant(fixture().database)];
  await agents().create({ tenantId: own, name: 'lead' });
  await expect(call({ ...other, tenantId: own })).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' });
});

it('the log of whoever calls has their runs', async () => {
  const { tenantId, ...query } = await aTeam();
  const lines: string[] = [];
  fixture().models.script(textReply('Seven.'));
  await fixture().runtime.tools.call({ ...query, tenantId, logger: (_level, message) => void lines.push(message) });
  expect(lines).toEqual(['run started', 'step done', 'run ended']);
});

it('a failure is told as the output', async () => {
  const { tenantId } = await aTeam();
  await agents().update({ tenantId, name: 'billing', tier: 'expert' });
  await fixture().runtime.admin.tenant.update({ tenantId, settings: { max_tier: 'pro' } });
  expect(await call({ tenantId })).toMatchObject({
    ...{ isError: true, code: 'TIER_NOT_ALLOWED' },
    value: { code: 'TIER_NOT_ALLOWED', message: expect.any(String) as string },
  });
});

it('whoever leaves stops the agent, and what it has used is on the bill', async () => {
  const query = await aTeam();
  const [asked, held] = [gate(), gate()];
  const leaving = new AbortController();
  fixture().models.script(toolReply([{ name: 'echo', arguments: {} }]), async () => {
    asked.open();
    await held.opened;
  });
  const output = call(query, leaving.signal);
  await asked.opened;
  leaving.abort();
  expect(await output).toMatchObject({
    ...{ isError: true, code: 'TOOL_CANCELLED' },
    warnings: [{ code: 'USAGE_UNKNOWN' }],
  });
  // The ended run of the call is the last word on it: all below it has ended before.
  const tree = await world.tree(query.task.id);
  expect(tree.map(({ state }) => state)).toEqual(['done', 'failed']);
  expect(await bill(query.tenantId)).toMatchObject([{ task_id: query.task.id }]);
  held.open();
});
