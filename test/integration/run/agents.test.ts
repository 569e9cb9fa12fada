import { Client } from 'pg';

import { createRuntime, type ModelRule } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, echoTool, failureOf, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;
const later = { ...echoTool, definition: { ...echoTool.definition, name: 'later' } };
const clerk = { name: 'clerk', systemPrompt: 'You are a clerk.', tools: ['echo'] };

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [echoTool, later], agents: [clerk] }));
});
afterAll(() => fixture.close());

const agents = () => fixture.runtime.admin.agent;
const lastRequest = () => fixture.models.received.at(-1);

/** A task without a tier of its own. */
function taskOf(tenantId: string, config: Record<string, unknown>) {
  const task = aTask(tenantId, config);
  return { ...task, config: { ...task.config, agent_tier: '', ...config } };
}

async function run(tenantId: string, config: Record<string, unknown>) {
  fixture.models.script(textReply('Done'));
  const result = await fixture.runtime.run(taskOf(tenantId, config));
  const request = lastRequest();
  return { result, request, tools: request?.tools?.map(({ function: { name } }) => name) ?? [] };
}

describe('the agent of a row', () => {
  it('gives prompt, model, temperature, tools and the form of the answer, and is told in the result', async () => {
    const tenantId = await addTenant(fixture.database);
    const created = await agents().create({
      ...{ tenantId, name: 'support', systemPrompt: 'You support.', tier: 'expert', temperature: 0.3, tools: ['echo'] },
      outputSchema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
    });
    expect(created).toMatchObject({ name: 'support', scope: 'tenant', version: 1, is_active: true, tools: ['echo'] });
    fixture.models.script(toolReply([{ name: 'format_final_json_response', arguments: { answer: 'Yes' } }]));
    const result = await fixture.runtime.run(taskOf(tenantId, { agent: 'support', system_prompt: ' ' }));
    expect(lastRequest()).toMatchObject({ model: 'anthropic/claude-3-5-sonnet', temperature: 0.3 });
    expect(lastRequest()?.messages[0]?.content).toMatch(/^You support\./);
    expect(lastRequest()?.tools?.map(({ function: { name } }) => name)).toEqual(['echo', 'format_final_json_response']);
    expect(result).toMatchObject({
      status: 'completed',
      agent_tier: 'expert',
      agent: { name: 'support', source: 'virtual', version: 1 },
      structured_output: { answer: 'Yes' },
      warnings: [],
    });
  });

  it('makes way for what the task says, and its limits only narrow', async () => {
    const tenantId = await addTenant(fixture.database);
    await agents().set({
      ...{ tenantId, name: 'support', systemPrompt: 'You support.', model: 'openai/gpt-4o-mini', temperature: 1 },
      limits: { max_tool_calls: 0, max_cost_usd: '5' },
    });
    const own = {
      agent: 'support',
      agent_tier: 'small',
      system_prompt: 'Be brief.',
      temperature: 0,
      max_tool_calls: 9,
    };
    fixture.models.script(toolReply([{ name: 'echo' }]), textReply('Done'));
    const result = await fixture.runtime.run(taskOf(tenantId, own));
    expect(lastRequest()).toMatchObject({ model: 'qwen/qwen3-8b', temperature: 0 });
    expect(result.agent_tier).toBe('small');
    expect(lastRequest()?.messages[0]).toMatchObject({ content: 'Be brief.' });
    expect(JSON.stringify(result.result.tool_calls)).toContain('TOOL_RUN_LIMIT');
  });

  it('narrows the tools of tenant and task, and cannot widen them', async () => {
    const settings = { tool_config: { agents: { support: { disabled_tools: ['echo'] } } } };
    const tenantId = await addTenant(fixture.database, { settings });
    await agents().create({ tenantId, name: 'support', tools: ['echo', 'later'] });
    expect((await run(tenantId, { agent: 'support' })).tools).toEqual(['later']);
    expect((await run(tenantId, { agent: 'support', tools: ['echo'] })).tools).toEqual([]);
    await agents().update({ tenantId, name: 'support', tools: [] });
    expect((await run(tenantId, { agent: 'support' })).tools).toEqual([]);
    expect(await fixture.runtime.admin.tool.list({ tenantId, agent: 'support' })).toMatchObject({ tools: [] });
    const call = { tenantId, tool: 'later', arguments: {}, agent: 'support' };
    expect((await failureOf(fixture.runtime.admin.tool.execute(call))).code).toBe('TOOL_NOT_FOUND');
  });

  it('chooses the model by what the task says, the first rule that fits', async () => {
    const tenantId = await addTenant(fixture.database);
    const modelRules: ModelRule[] = [
      { when: { 'context.plan': 'pro', 'context.seats': 2 }, tier: 'expert' },
      { when: { 'meta.client_id': 'c1' }, model: 'openai/gpt-4o-mini' },
    ];
    await agents().create({ tenantId, name: 'router', tier: 'small', modelRules });
    const modelFor = async (config: object) => (await run(tenantId, { agent: 'router', ...config })).result.model_used;
    expect(await modelFor({ context: { plan: 'pro', seats: 2 } })).toBe('anthropic/claude-3-5-sonnet');
    expect(await modelFor({ context: { plan: 'pro', seats: '2' } })).toBe('qwen/qwen3-8b');
    fixture.models.script(textReply('Done'));
    const task = taskOf(tenantId, { agent: 'router' });
    const ofClient = await fixture.runtime.run({ ...task, meta: { ...task.meta, client_id: 'c1' } });
    expect(ofClient).toMatchObject({
      model_used: 'openai/gpt-4o-mini',
      cost_usd: expect.not.stringMatching(/^0\.0+$/) as string,
    });
  });

  it('keeps its tier, and what that allows, for another model that the task names', async () => {
    const tenantId = await addTenant(fixture.database, { settings: { default_tier: 'expert' } });
    await agents().create({ tenantId, name: 'small', tier: 'small' });
    const { result } = await run(tenantId, { agent: 'small', model_override: 'openai/gpt-4o-mini' });
    expect(result).toMatchObject({ agent_tier: 'small', model_used: 'openai/gpt-4o-mini' });
  });

  it('stays within the highest tier of the tenant', async () => {
    const tenantId = await addTenant(fixture.database, { settings: { max_tier: 'small' } });
    await agents().create({ tenantId, name: 'dear', tier: 'expert' });
    expect((await failureOf(fixture.runtime.run(taskOf(tenantId, { agent: 'dear' })))).code).toBe('TIER_NOT_ALLOWED');
    await agents().update({ tenantId, name: 'dear', tier: null, model: 'anthropic/claude-3-5-sonnet' });
    expect((await failureOf(fixture.runtime.run(taskOf(tenantId, { agent: 'dear' })))).code).toBe('MODEL_NOT_ALLOWED');
  });
});

describe('a name', () => {
  it('is the own row of the tenant, then that of all tenants, then code, then rules only', async () => {
    const settings = { tool_config: { agents: { ruled: { enabled_tools: [] } } } };
    const tenantId = await addTenant(fixture.database, { settings });
    const promptOf = async (agent: string) => {
      const { request, result } = await run(tenantId, { agent });
      return [request?.messages.find(({ role }) => role === 'system')?.content, result.agent?.source];
    };
    const { shared } = { shared: true };
    await agents().create({ shared, name: 'of-all', systemPrompt: 'Of all.' });
    expect(await promptOf('of-all')).toEqual(['Of all.', 'virtual']);
    await agents().create({ tenantId, name: 'of-all', systemPrompt: 'Own.' });
    expect(await promptOf('of-all')).toEqual(['Own.', 'virtual']);
    expect(await promptOf('clerk')).toEqual(['You are a clerk.', 'code']);
    await agents().create({ tenantId, name: 'clerk', systemPrompt: 'A row.' });
    expect(await promptOf('clerk')).toEqual(['A row.', 'virtual']);
    expect(await promptOf('ruled')).toEqual([undefined, 'rules']);
    expect((await agents().list({ tenantId })).agents.map(({ name, source, scope }) => [name, source, scope])).toEqual([
      ['clerk', 'virtual', 'tenant'],
      ['of-all', 'virtual', 'tenant'],
      ['of-all', 'virtual', 'shared'],
      ['ruled', 'rules', null],
    ]);
    expect(await agents().list({ shared })).toMatchObject({ agents: [{ name: 'of-all' }, { source: 'code' }] });
    await agents().delete({ shared, name: 'of-all' });
  });

  it('that is none is refused before anything is spent, and so are those of other tenants and inactive ones', async () => {
    const [tenantId, other] = [await addTenant(fixture.database), await addTenant(fixture.database)];
    await agents().create({ tenantId: other, name: 'theirs' });
    await agents().create({ tenantId, name: 'off', isActive: false });
    const asked = fixture.models.received.length;
    const codeOf = async (agent: string) => (await failureOf(fixture.runtime.run(taskOf(tenantId, { agent })))).code;
    expect([await codeOf('theirs'), await codeOf('off')]).toEqual(['AGENT_NOT_FOUND', 'AGENT_INACTIVE']);
    await fixture.database.query(
      `UPDATE elo_agents SET limits = '{"max_cost": 1}', is_active = true WHERE tenant_id = $1`,
      [tenantId],
    );
    expect(await codeOf('off')).toBe('AGENT_INVALID');
    expect(fixture.models.received).toHaveLength(asked);
  });

  it('is a label where no agent is defined at all, with a warning', async () => {
    const tenantId = await addTenant(fixture.database);
    const runtime = createRuntime({
      database: { url: fixture.database.url },
      model: { apiKey: 'sk-test-key', baseUrl: fixture.models.url },
    });
    fixture.models.script(textReply('Done'));
    const result = await runtime.run(taskOf(tenantId, { agent: 'sales' }));
    await runtime.close();
    expect(result).toMatchObject({ status: 'completed', warnings: [{ code: 'AGENT_UNDEFINED' }] });
    expect(result.agent).toBeUndefined();
  });
});

describe('an agent that is changed', () => {
  it('turns no replay into a conflict', async () => {
    const tenantId = await addTenant(fixture.database);
    await agents().create({ tenantId, name: 'support', systemPrompt: 'Before.' });
    const task = taskOf(tenantId, { agent: 'support' });
    fixture.models.script(textReply('Done'));
    await fixture.runtime.run(task);
    expect(await agents().update({ tenantId, name: 'support', systemPrompt: 'After.' })).toMatchObject({ version: 2 });
    expect(await agents().set({ tenantId, name: 'support', systemPrompt: 'After.' })).toMatchObject({ version: 2 });
    expect(await fixture.runtime.run(task)).toMatchObject({ replayed: true, agent: { version: 1 } });
  });

  it('leaves text and model to a run that waits, and narrows its tools at once', async () => {
    const tenantId = await addTenant(fixture.database);
    const toolPermissions = { echo: { decision: 'ask' } };
    await agents().create({
      ...{ tenantId, name: 'support', systemPrompt: 'Before.', tier: 'pro', toolPermissions, tools: ['echo', 'later'] },
    });
    fixture.models.script(toolReply([{ name: 'echo' }]));
    const { run_id, status } = await fixture.runtime.run(taskOf(tenantId, { agent: 'support' }));
    expect(status).toBe('awaiting_input');
    await agents().update({ tenantId, name: 'support', systemPrompt: 'After.', tier: 'expert', tools: ['echo'] });
    fixture.models.script(textReply('Done'));
    const approval = { run_id, decision: 'approve' };
    const result = await fixture.runtime.run({ config: { approval }, meta: { tenant_id: tenantId } });
    expect(result).toMatchObject({ status: 'completed', agent: { version: 1 }, agent_tier: 'pro' });
    expect(lastRequest()).toMatchObject({ model: 'openai/gpt-4o-mini' });
    expect(lastRequest()?.messages[0]).toMatchObject({ content: 'Before.' });
    expect(lastRequest()?.tools?.map(({ function: { name } }) => name)).toEqual(['echo']);
  });
});

it('a change that is committed after a later one holds for the next run', async () => {
  const tenantId = await addTenant(fixture.database);
  await agents().create({ tenantId, name: 'a' });
  await agents().create({ tenantId, name: 'b' });
  const client = new Client({ connectionString: fixture.database.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(`UPDATE elo_agents SET tools = '{echo}' WHERE tenant_id = $1 AND name = 'a'`, [tenantId]);
  await agents().update({ tenantId, name: 'b', description: 'Later' });
  expect((await run(tenantId, { agent: 'a' })).tools).toEqual(['echo', 'later']);
  const versions = () =>
    fixture.database.query<{ version: string }>('SELECT elo_agent_policy_version($1) AS version', [tenantId]);
  const before = await versions();
  await client.query('COMMIT');
  await client.end();
  expect(await versions()).not.toEqual(before);
  expect((await run(tenantId, { agent: 'a' })).tools).toEqual(['echo']);
});

it('a run that waits goes on when the rules that made its agent are gone', async () => {
  const settings = { tool_config: { tool_permissions: { echo: { decision: 'ask' } }, agents: { ruled: {} } } };
  const tenantId = await addTenant(fixture.database, { settings });
  fixture.models.script(toolReply([{ name: 'echo' }]));
  const { run_id } = await fixture.runtime.run(taskOf(tenantId, { agent: 'ruled' }));
  await fixture.runtime.admin.tenant.update({ tenantId, settings: { tool_config: null } });
  fixture.models.script(textReply('Done'));
  const approval = { run_id, decision: 'approve' };
  const result = await fixture.runtime.run({ config: { approval }, meta: { tenant_id: tenantId } });
  expect(result).toMatchObject({ status: 'completed', agent: { source: 'rules' } });
});

it.each(['', 'a\u0000b', 'x'.repeat(100_000)])(
  'a name that no row can have (%#) is no error of the database',
  async (agent) => {
    const tenantId = await addTenant(fixture.database);
    await agents().create({ tenantId, name: 'a' });
    if (agent === '') {
      expect((await run(tenantId, { agent })).result).toMatchObject({ status: 'completed', warnings: [] });
    } else {
      const { code, message } = await failureOf(fixture.runtime.run(taskOf(tenantId, { agent })));
      expect([code, message.length < 200]).toEqual(['AGENT_NOT_FOUND', true]);
    }
  },
);

it('the schema check names agents that no run can read', async () => {
  const tenantId = await addTenant(fixture.database);
  await agents().create({ tenantId, name: 'broken' });
  await fixture.database.query(`UPDATE elo_agents SET limits = '{"max_cost": 1}' WHERE tenant_id = $1`, [tenantId]);
  const { refusedRows } = await fixture.runtime.admin.diagnostics.schema();
  expect(refusedRows?.rows).toContainEqual({
    ...{ tenant: tenantId, agent: 'broken' },
    problem: expect.stringContaining('"max_cost"') as string,
  });
});

it.each([
  ['a model and a tier', { tier: 'pro', model: 'x/y' }, 'ADMIN_INPUT_INVALID'],
  ['a tier that is none', { tier: 'gold' }, 'TIER_UNKNOWN'],
  ['a tool that is none', { tools: ['ecko'] }, 'RULE_UNMATCHED'],
  ['rules that cannot be read', { toolPermissions: { echo: { decison: 'deny' } } }, 'POLICY_INVALID'],
  ['limits that there are none of', { limits: { max_cost: 1 } }, 'ADMIN_INPUT_INVALID'],
  ['a rule on a secret place', { modelRules: [{ when: { 'config.x': 1 }, tier: 'pro' }] }, 'ADMIN_INPUT_INVALID'],
  [
    'a rule on a number that is another',
    { modelRules: [{ when: { 'context.x': 1e21 }, tier: 'pro' }] },
    'ADMIN_INPUT_INVALID',
  ],
  [
    'a rule on a prototype',
    { modelRules: [{ when: JSON.parse('{"__proto__":1,"context.a":1}') as Record<string, number>, tier: 'pro' }] },
    'ADMIN_INPUT_INVALID',
  ],
  ['a schema that is none', { outputSchema: { type: 'objekt' } }, 'OUTPUT_FORMAT_INVALID'],
  ['a name that is none', { name: 'the support' }, 'ADMIN_INPUT_INVALID'],
])('%s is refused, and nothing is written', async (_what, change, code) => {
  const tenantId = await addTenant(fixture.database);
  const failure = await failureOf(agents().create({ tenantId, name: 'a', ...change }));
  expect(failure.code).toBe(code);
  expect(await fixture.database.query('SELECT FROM elo_agents WHERE tenant_id = $1', [tenantId])).toEqual([]);
});

it('what is there or is not is told', async () => {
  const tenantId = await addTenant(fixture.database);
  await agents().create({ tenantId, name: 'a' });
  const codeOf = async (change: Promise<unknown>) => (await failureOf(change)).code;
  expect(await codeOf(agents().create({ tenantId, name: 'a' }))).toBe('AGENT_EXISTS');
  expect(await codeOf(agents().update({ tenantId, name: 'b' }))).toBe('AGENT_UNKNOWN');
  expect(await codeOf(agents().get({ shared: true, name: 'a' }))).toBe('AGENT_UNKNOWN');
  expect(await codeOf(agents().create({ name: 'b' }))).toBe('ADMIN_INPUT_INVALID');
  expect(await agents().get({ tenantId, name: 'a' })).toMatchObject({ name: 'a', system_prompt: null, version: 1 });
});
