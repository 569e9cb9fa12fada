import { createRuntime, type Tool } from '../../../runtime';
import { createMemoryLedger } from '../../../runtime/testing';
import type { JsonObject } from '../../../runtime/util/json';
import { addTenant } from '../../support/servers/database';
import { type AgentFixture, echoTool, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { memoryTenants, TENANT_ID } from '../../support/values/memory-stores';
import { aModelRequest } from '../../support/values/model-request';
import { usageOf } from '../../support/values/usage-of';

const MODEL = 'openai/gpt-4o-mini';
const TASK = { id: 'n8n:77:agent:0', type: 'tenant_tools' };

/** Uses a hundred tokens of a model on the account of whoever calls it. */
const shorten: Tool = {
  definition: { name: 'shorten', description: 'Makes a text shorter', inputSchema: { type: 'object' } },
  parseInput: (value) => ({ ok: true, value }),
  execute: async (_input, { run: { account } }) => {
    const call = { purpose: 'summarise', modelId: MODEL, promptTokens: 90, completionTokens: 10 } as const;
    const callNo = await account.reserve(call);
    const message = { role: 'assistant', content: 'Short.' } as const;
    const reply = { message, finishReason: 'stop', usage: usageOf(90, 10) } as const;
    await account.charge(callNo, { request: aModelRequest({ attempts: { sent: 1, answered: 1 } }), reply });
    return { isError: false, value: 'Short.' };
  },
};

/** What zod does not know. */
const inputSchema = {
  type: 'object',
  $defs: { place: { type: 'object', properties: { city: { type: 'string' } }, unevaluatedProperties: false } },
  properties: { at: { $ref: '#/$defs/place' } },
};
const locate: Tool = { ...echoTool, definition: { name: 'locate', description: 'Where it is', inputSchema } };

let fixture: AgentFixture;

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [echoTool, shorten, locate] }));
});
afterAll(() => fixture.close());

const ofTenant = (tenantId: string, sql: string) => fixture.database.query(sql, [tenantId]);
const withRules = (tool_permissions: object) =>
  addTenant(fixture.database, { settings: { tool_config: { tool_permissions } } });

it('an agent of another program is shown definitions as they are', async () => {
  const { tools, warnings } = await fixture.runtime.tools.offer({ tenantId: await addTenant(fixture.database) });
  expect(warnings).toEqual([]);
  expect(tools.map(({ name }) => name)).toEqual(['echo', 'shorten', 'locate']);
  expect(tools.find(({ name }) => name === 'locate')).toEqual(locate.definition);
});

it('an allow-list narrows what is offered, and what is called', async () => {
  const tenantId = await addTenant(fixture.database);
  const allowed = ['ec*'];
  const { tools } = await fixture.runtime.tools.offer({ tenantId, allowed });
  expect(tools.map(({ name }) => name)).toEqual(['echo']);
  const call = (tool: string) => fixture.runtime.tools.call({ tenantId, allowed, tool, arguments: {} });
  await expect(call('echo')).resolves.toMatchObject({ isError: false });
  expect(await failureOf(call('locate'))).toMatchObject({ code: 'TOOL_NOT_FOUND' });
});

it('calls of one task stand on one line of the bill, and each in the audit', async () => {
  const tenantId = await addTenant(fixture.database);
  const call = (task: object) =>
    fixture.runtime.tools.call({
      ...{ tenantId, tool: 'shorten', arguments: {}, task: { ...TASK, ...task }, meta: { user_id: 'u-1' } },
    });
  await Promise.all([call({}), call({}), call({}), call({ id: 'n8n:78:agent:0' })]);
  const bill =
    'SELECT task_id, task_type, agent_tier, model_calls, total_tokens FROM elo_t_token_usage WHERE tenant_id = $1';
  const line = { task_type: 'tenant_tools', agent_tier: 'nano' };
  expect(await ofTenant(tenantId, `${bill} ORDER BY task_id`)).toEqual([
    { ...line, task_id: 'n8n:77:agent:0', model_calls: 3, total_tokens: 300 },
    { ...line, task_id: 'n8n:78:agent:0', model_calls: 1, total_tokens: 100 },
  ]);
  const audit = 'SELECT DISTINCT task_id, user_id FROM elo_tool_executions WHERE tenant_id = $1';
  const lines = await ofTenant(tenantId, audit);
  expect(lines).toHaveLength(4);
  expect(lines.every(({ user_id: user }) => user === 'u-1')).toBe(true);
});

it('a limit of calls a run holds within a task, also for calls at once, and not beyond it', async () => {
  const tenantId = await withRules({ echo: { max_calls_per_run: 2 } });
  const call = (id?: string) =>
    fixture.runtime.tools.call({ tenantId, tool: 'echo', arguments: {}, task: { type: 'tenant_tools', id } });
  const first = [await call('one'), await call('one')];
  const later = await Promise.all([call('one'), call('one'), call('two'), call(), call(), call()]);
  expect([...first, ...later].map(({ code }) => code)).toEqual([
    ...[undefined, undefined, 'TOOL_RUN_LIMIT', 'TOOL_RUN_LIMIT'],
    ...[undefined, undefined, undefined, undefined],
  ]);
});

it('ten calls at once under a limit of three are three calls, and as many as an agent may make', async () => {
  const tenantId = await withRules({ echo: { max_calls_per_run: 3 } });
  const call = (query: object) =>
    fixture.runtime.tools.call({ tenantId, tool: 'echo', arguments: {}, task: TASK, ...query });
  const ten = async (query: object) => {
    const outputs = await Promise.all(Array.from({ length: 10 }, () => call(query)));
    return outputs.filter(({ isError }) => !isError).length;
  };
  expect(await ten({})).toBe(3);
  const limits = async (name: string, given: JsonObject) => {
    await fixture.runtime.admin.agent.create({ tenantId, name, limits: given });
    return { agent: name, task: { ...TASK, id: name } };
  };
  expect(await ten(await limits('each', { max_calls_per_tool: 1 }))).toBe(1);
  const all = await limits('all', { max_tool_calls: 2 });
  expect([await ten(all), (await call({ ...all, tool: 'locate' })).code]).toEqual([2, 'TOOL_RUN_LIMIT']);
});

it('a tool that asks a person is left out and refused where nobody is asked', async () => {
  const tenantId = await withRules({ echo: { decision: 'ask' } });
  const { tools, warnings } = await fixture.runtime.tools.offer({ tenantId, isApproved: false });
  expect(tools.map(({ name }) => name)).toEqual(['shorten', 'locate']);
  expect(warnings).toMatchObject([{ code: 'TOOL_UNREVIEWED' }]);
  const call = (isApproved: boolean) =>
    fixture.runtime.tools.call({ tenantId, tool: 'echo', arguments: {}, task: TASK, isApproved });
  await expect(call(false)).resolves.toMatchObject({ isError: true, code: 'TOOL_PERMISSION_DENIED' });
  await expect(call(true)).resolves.toMatchObject({ isError: false });
  const audit = 'SELECT decision FROM elo_tool_executions WHERE tenant_id = $1 ORDER BY id';
  expect(await ofTenant(tenantId, audit)).toEqual([{ decision: 'deny' }, { decision: 'allow' }]);
});

it('the tier is that of a run: the default of the tenant, and none above what it may have', async () => {
  const tenantId = await addTenant(fixture.database, { settings: { default_tier: 'small', max_tier: 'optima' } });
  await fixture.runtime.tools.call({ tenantId, tool: 'shorten', arguments: {}, task: TASK });
  const bill = 'SELECT agent_tier FROM elo_t_token_usage WHERE tenant_id = $1';
  expect(await ofTenant(tenantId, bill)).toEqual([{ agent_tier: 'small' }]);
  const query = { tenantId, tier: 'expert' };
  expect(await failureOf(fixture.runtime.tools.offer(query))).toMatchObject({ code: 'TIER_NOT_ALLOWED' });
  const call = fixture.runtime.tools.call({ ...query, tool: 'echo', arguments: {}, task: TASK });
  expect(await failureOf(call)).toMatchObject({ code: 'TIER_NOT_ALLOWED' });
});

it('the tier of an agent comes before that of its tenant', async () => {
  const tenantId = await addTenant(fixture.database);
  await fixture.runtime.admin.agent.create({ tenantId, name: 'dear', tier: 'pro' });
  await fixture.runtime.tools.call({ tenantId, agent: 'dear', tool: 'shorten', arguments: {}, task: TASK });
  const bill = 'SELECT agent_tier FROM elo_t_token_usage WHERE tenant_id = $1';
  expect(await ofTenant(tenantId, bill)).toEqual([{ agent_tier: 'pro' }]);
});

it.each([
  { ...TASK, id: 'x'.repeat(161) },
  { ...TASK, id: 'a\u0000b' },
  { ...TASK, type: 'x'.repeat(51) },
  { ...TASK, type: '' },
])('a task that cannot be written down is refused before anything is done: %#', async (task) => {
  const call = fixture.runtime.tools.call({ tenantId: fixture.tenantId, tool: 'echo', arguments: {}, task });
  const issue = expect.stringContaining('task') as string;
  expect(await failureOf(call)).toMatchObject({ code: 'INPUT_INVALID', message: issue });
});

it('a ledger that cannot count calls lets none pass that are limited', async () => {
  const settings = { toolConfig: { tool_permissions: { echo: { max_calls_per_run: 2 } } } };
  const tenant = { settings };
  const plugins = { tenants: memoryTenants([], tenant as never), ledger: createMemoryLedger(), tools: [echoTool] };
  const runtime = createRuntime({ model: {}, plugins });
  const call = (id?: string) =>
    runtime.tools.call({ tenantId: TENANT_ID, tool: 'echo', arguments: {}, task: { type: 'tenant_tools', id } });
  expect([(await call('one')).code, (await call()).code]).toEqual(['TOOL_RUN_LIMIT', undefined]);
  await runtime.close();
});
