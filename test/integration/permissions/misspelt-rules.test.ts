import type { Tool } from '../../../runtime';
import { findRefusedRows } from '../../../runtime/admin/diagnostics/refused-rows';
import { MCP_SERVER_DEFAULTS } from '../../../runtime/compose/mcp-defaults';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { addMcpServer, addTenant, addTool, enableTool, giveTool, useMcpServer } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { startMcpServer } from '../../support/servers/mcp-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, echoTool, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { documentsTask } from '../../support/values/documents-task';

let fixture: AgentFixture;
let server: TestServer;
let paid: unknown[] = [];
const payTool: Tool = {
  ...echoTool,
  definition: { name: 'pay', description: 'Pays', inputSchema: { type: 'object', properties: { amount: {} } } },
  execute: (input) => {
    paid.push(input);
    return Promise.resolve({ isError: false, value: 'paid' });
  },
};

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [payTool] }));
  server = await startServer((request, response) => sendJson(response, { got: request.body }));
});
beforeEach(() => {
  paid = [];
  fixture.models.received.length = 0;
});
afterEach(() => fixture.database.query('UPDATE elo_agent_tiers SET tool_config = NULL'));
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const tenantWith = (settings: object) => addTenant(fixture.database, { settings });
const script = () =>
  fixture.models.script(toolReply([{ name: 'pay', arguments: { amount: 1_000_000 } }]), textReply('Paid'));
const ofPay = (rules: object): object => ({ tool_permissions: { pay: rules } });

it('a rule of the tenant with a misspelt key refuses the run before a model is asked', async () => {
  script();
  const settings = { tool_config: ofPay({ decison: 'deny' }) };
  const error = await failureOf(fixture.runtime.run(aTask(await tenantWith(settings))));
  expect(error).toMatchObject({ code: 'POLICY_INVALID', message: containing('it has no key "decison"') });
  expect([paid, fixture.models.received]).toEqual([[], []]);
});

it('so does one of the tier, and one of the task', async () => {
  await fixture.database.query(`UPDATE elo_agent_tiers SET tool_config = $1 WHERE code = 'pro'`, [
    JSON.stringify({ disabled_tool: ['pay'] }),
  ]);
  const ofTier = await failureOf(fixture.runtime.run(aTask(fixture.tenantId)));
  expect(ofTier).toMatchObject({ code: 'POLICY_INVALID', message: containing('elo_agent_tiers.tool_config') });
  const given = { tool_permissions: { pay: { decison: 'deny' } } };
  const ofTask = await failureOf(fixture.runtime.run(aTask(await tenantWith({}), { agent_tier: 'expert', ...given })));
  expect(ofTask).toMatchObject({ code: 'POLICY_INVALID', message: containing('config.tool_permissions.pay') });
  expect(fixture.models.received).toEqual([]);
});

it.each([
  ['permissions', { permissions: { decison: 'deny' } }, 'decision'],
  ['the row itself', { permission: { decision: 'deny' } }, 'permissions'],
  ['transport_config', { transport_config: { repeatible: true } }, 'repeatable'],
])('a tool whose row has a misspelt key in %s is not offered', async (where, customConfig, right) => {
  const tenantId = await tenantWith({});
  const code = `row_${where.replaceAll(' ', '_')}`;
  await giveTool(fixture.database, tenantId, { code, endpoint: server.url, customConfig });
  const { tools, warnings } = await fixture.runtime.tools.list({ tenantId });
  expect(tools.map(({ name }) => name)).not.toContain(code);
  expect(warnings).toMatchObject([{ code: 'TOOL_SKIPPED', message: containing(`did you mean "${right}"?`) }]);
});

it('a limit of the tenant under another name refuses runs and calls, until its name is right', async () => {
  const tenantId = await tenantWith({ monthly_cost_limit: '0.01', ai_mode: 'auto' });
  const refused = { code: 'SETTING_INVALID', message: containing('did you mean "monthly_cost_limit_usd"?') };
  expect(await failureOf(fixture.runtime.run(aTask(tenantId)))).toMatchObject(refused);
  const call = { tenantId, tool: 'pay', arguments: { amount: 1 } };
  expect(await failureOf(fixture.runtime.tools.call(call))).toMatchObject(refused);
  expect([paid, fixture.models.received]).toEqual([[], []]);
  await fixture.database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [
    tenantId,
    JSON.stringify({ monthly_cost_limit_usd: '10', ai_mode: 'auto' }),
  ]);
  fixture.models.script(textReply('Hello'));
  await expect(fixture.runtime.run(aTask(tenantId))).resolves.toMatchObject({ status: 'completed' });
});

describe('a key of a task that nobody reads', () => {
  it('is refused where it was meant to guard', async () => {
    const error = await failureOf(fixture.runtime.run(aTask(fixture.tenantId, { max_cost: '0.01' })));
    expect(error).toMatchObject({ code: 'INPUT_INVALID', message: containing('did you mean "max_cost_usd"?') });
    expect(fixture.models.received).toEqual([]);
  });

  it('is a warning in the result where it is somebody’s own', async () => {
    fixture.models.script(textReply('Hello'));
    const result = await fixture.runtime.run(aTask(fixture.tenantId, { chat_name: 'x' }));
    expect(result.warnings).toMatchObject([{ code: 'CONFIG_KEY_UNKNOWN', message: containing('"chat_name"') }]);
  });

  it('is not in the task of the documents', async () => {
    fixture.models.script(textReply('Hello'));
    const { callback: _callback, ...task } = documentsTask(fixture.tenantId);
    expect((await fixture.runtime.run(task)).warnings).toEqual([]);
  });
});

it('the check of the schema lists the rows that are refused, with the right names', async () => {
  const { database } = fixture;
  await database.query('TRUNCATE elo_t_tenants, elo_agent_tools CASCADE');
  const good = await tenantWith({ ai_mode: 'auto', tool_config: ofPay({ decision: 'ask' }) });
  const ofSetting = await tenantWith({ monthly_cost_limit: 5 });
  const ofAgent = await tenantWith({ tool_config: { agents: { sales: { disabled_tool: [] } } } });
  const hook = await addTool(database, { code: 'hook', endpoint: 'http://a.test/', authHeader: 'vault:crm' });
  for (const tenantId of [good, ofSetting]) {
    const headers = { authorization: 'vault:crm' };
    await enableTool(database, { tenantId, toolId: hook, customConfig: { headers, fixed_arguments: { a: 1 } } });
  }
  await enableTool(database, { tenantId: ofAgent, toolId: hook, customConfig: { permissions: { decison: 'deny' } } });
  const fetch = await addTool(database, { code: 'web_fetch', transport: 'builtin' });
  await database.query(`UPDATE elo_agent_tools SET transport_config = '{"only_allowed_host": true}' WHERE id = $1`, [
    fetch,
  ]);
  await enableTool(database, { tenantId: good, toolId: fetch });
  await enableTool(database, {
    tenantId: good,
    toolId: await addTool(database, { code: 'sql_query', transport: 'builtin' }),
  });
  await database.query(`UPDATE elo_agent_tiers SET tool_config = '{"enable_tools": []}' WHERE code = 'nano'`);
  const crm = await addMcpServer(database, { code: 'crm', url: server.url });
  await useMcpServer(database, { tenantId: good, serverId: crm, auth: { kind: 'bearer', token: 'vault:crm' } });
  await useMcpServer(database, { tenantId: ofAgent, serverId: crm, auth: { kind: 'bearer', token: 'x', tokn: 'x' } });
  const old = await addMcpServer(database, { code: 'old', url: 'ftp://a.test/' });
  await useMcpServer(database, { tenantId: good, serverId: old });
  await useMcpServer(database, { tenantId: ofSetting, serverId: old, isEnabled: false });
  const postgres = createPostgres({ url: database.url, maxConnections: 2 });
  const { rows, count } = await findRefusedRows(postgres.query, MCP_SERVER_DEFAULTS).finally(() => postgres.close());
  const expected = [
    { tier: 'nano', problem: containing('"enable_tools" (did you mean "enabled_tools"?)') },
    { tenant: ofSetting, problem: containing('did you mean "monthly_cost_limit_usd"?') },
    { tenant: ofAgent, problem: containing('"disabled_tool" (did you mean "disabled_tools"?)') },
    { tenant: ofAgent, tool: 'hook', problem: containing('"decison" (did you mean "decision"?)') },
    {
      tenant: good,
      tool: 'web_fetch',
      problem: containing('"only_allowed_host" (did you mean "only_allowed_hosts"?)'),
    },
    { tenant: ofAgent, server: 'crm', problem: containing('"tokn" (did you mean "token"?)') },
    { tenant: good, server: 'old', problem: 'its URL is not an http(s) URL' },
  ];
  for (const row of expected) expect(rows).toContainEqual(row);
  expect(count).toBe(7);
});

describe('a rule that matches nothing is told in the warnings of the run', () => {
  const warningsOf = async (settings: object, agent?: string): Promise<readonly string[]> => {
    script();
    const tenantId = await tenantWith(settings);
    if (agent !== undefined) await fixture.runtime.admin.agent.create({ tenantId, name: agent });
    const { warnings } = await fixture.runtime.run(aTask(tenantId, { agent }));
    return warnings.filter(({ code }) => code === 'RULE_UNMATCHED').map(({ message }) => message);
  };

  it('of the tenant', async () => {
    const told = await warningsOf({ tool_config: ofPay({ limits: { amout: { max: 10 } } }) });
    expect(told).toEqual([expect.stringContaining('"amout" (did you mean "')]);
  });

  it('of an agent whose name differs by case, and of none that has rules of its own', async () => {
    const settings = { tool_config: { agents: { support: { disabled_tools: ['pay'] } } } };
    expect(await warningsOf(settings, 'Support')).toEqual([
      'The rule settings.tool_config.agents.support matches nothing: the agent of this task is "Support".',
    ]);
    expect(await warningsOf(settings, 'support')).toEqual([]);
  });

  it('of the row of a tool', async () => {
    const code = 'wire';
    const tenantId = await tenantWith({});
    const toolId = await addTool(fixture.database, {
      ...{ code, endpoint: server.url, description: 'x' },
      schema: { type: 'object', properties: { amount: {} } },
    });
    await enableTool(fixture.database, {
      tenantId,
      toolId,
      customConfig: { permissions: { limits: { amout: { max: 1 } } } },
    });
    const { warnings } = await fixture.runtime.tools.list({ tenantId });
    expect(warnings).toMatchObject([
      {
        code: 'RULE_UNMATCHED',
        message: containing('custom_config.permissions.limits.amout matches nothing: tool "wire"'),
      },
    ]);
  });

  it('but nothing is told of tools of a server that the operator holds back', async () => {
    const held = {
      tool_permissions: { 'shop.pay': { limits: { amount: { max: 5 } } } },
      disabled_tools: ['shop_send'],
    };
    const tenantId = await tenantWith({ tool_config: held });
    const mcp = await startMcpServer({
      tools: () => ['pay', 'look'].map((name) => ({ name, inputSchema: { type: 'object' as const } })),
      answer: () => ({ content: [] }),
    });
    const serverId = await addMcpServer(fixture.database, { code: 'shop', url: mcp.url, excludeTools: ['pay'] });
    await useMcpServer(fixture.database, { tenantId, serverId });
    const { tools, warnings } = await fixture.runtime.tools.refresh({ tenantId });
    await mcp.close();
    expect([tools.map(({ name }) => name).includes('shop_look'), warnings]).toEqual([true, []]);
  });

  it('but nothing is told of the tools of a server that did not answer', async () => {
    const tenantId = await tenantWith({ tool_config: { disabled_tools: ['away.delete', 'away_delete'] } });
    const serverId = await addMcpServer(fixture.database, { code: 'away', url: 'http://127.0.0.1:1/mcp' });
    await useMcpServer(fixture.database, { tenantId, serverId });
    const { warnings } = await fixture.runtime.tools.list({ tenantId });
    expect(warnings.map(({ code }) => code)).not.toContain('RULE_UNMATCHED');
  });
});
