import { randomUUID } from 'node:crypto';

import type { ConnectedTool } from '../../../runtime';
import { addMcpServer, addTenant, giveTool, useMcpServer } from '../../support/servers/database';
import { startMcpServer, type TestMcpServer } from '../../support/servers/mcp-server';
import { textReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, echoTool, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;
let shop: TestMcpServer;
const looking = { ...echoTool, isReadOnly: true, definition: { ...echoTool.definition, name: 'look' } };

beforeAll(async () => {
  fixture = await startAgentFixture(() => ({ tools: [echoTool, looking] }));
  const tool = (name: string, annotations: object): object => ({ name, annotations, inputSchema: { type: 'object' } });
  shop = await startMcpServer({
    answer: () => ({ content: [{ type: 'text', text: 'ok' }] }),
    tools: () => [tool('stock', { readOnlyHint: true }), tool('restock', { idempotentHint: true }), tool('sell', {})],
  } as never);
});
afterAll(() => Promise.all([fixture.close(), shop.close()]));

const connected: ConnectedTool[] = [
  {
    definition: { name: 'calculator', description: 'Counts', inputSchema: { type: 'object' } },
    call: () => Promise.resolve('42'),
  },
];

/** A tenant with a tool of each kind; their codes end in its own letters. */
async function tenantWith(toolConfig: object) {
  const tenantId = await addTenant(fixture.database);
  const own = randomUUID().slice(0, 8);
  const endpoint = 'http://127.0.0.1:9/x';
  const rest = (method: string, more: object = {}) => {
    const customConfig = { ...more, transport_config: { method } };
    return { endpoint, transport: 'rest', customConfig };
  };
  const tools = [
    { code: `hook_${own}`, endpoint },
    { code: `reads_${own}`, endpoint, customConfig: { read_only: true } },
    { code: `again_${own}`, endpoint, customConfig: { repeatable: true } },
    { code: `get_${own}`, ...rest('GET') },
    { code: `put_${own}`, ...rest('PUT', { read_only: true }) },
    { code: `now_${own}`, transport: 'builtin' },
    { code: `post_${own}`, ...rest('POST') },
  ];
  for (const tool of tools) await giveTool(fixture.database, tenantId, tool);
  await fixture.database.query(
    `UPDATE elo_agent_tools SET transport_config = '{"builtin": "extract"}' WHERE code = $1`,
    [`now_${own}`],
  );
  const serverId = await addMcpServer(fixture.database, { code: `shop_${own}`, url: shop.url });
  await useMcpServer(fixture.database, { tenantId, serverId });
  const rename = (value: object): object => JSON.parse(JSON.stringify(value).replaceAll('_OWN', `_${own}`)) as object;
  await fixture.runtime.admin.tenant.update({ tenantId, settings: { tool_config: rename(toolConfig) } as never });
  const offered = async (config: Record<string, unknown> = {}) => {
    fixture.models.script(textReply('Done'));
    await fixture.runtime.run(aTask(tenantId, rename(config) as Record<string, unknown>), {
      connected: { tools: connected },
    });
    const names = fixture.models.received.at(-1)?.tools?.map(({ function: { name } }) => name) ?? [];
    return names.map((name) => name.replaceAll(`_${own}`, '')).sort();
  };
  return { tenantId, own, offered };
}

const READING = ['get', 'look', 'now', 'put', 'reads', 'shop_stock'];
const ALL = [...READING, 'again', 'calculator', 'echo', 'hook', 'post', 'shop_restock', 'shop_sell'].sort();

it('without a word, and with "allow", every tool is offered', async () => {
  expect(await (await tenantWith({})).offered()).toEqual(ALL);
  expect(await (await tenantWith({ default: 'allow' })).offered()).toEqual(ALL);
});

it('"read-only" offers what is declared to change nothing: by hint, method, row or program', async () => {
  expect(await (await tenantWith({ default: 'read-only' })).offered()).toEqual(READING);
});

it('"deny" offers what is granted by name alone, and a limit is no grant', async () => {
  const tool_permissions = {
    hook_OWN: { decision: 'ask' },
    again_OWN: { decision: 'allow' },
    post_OWN: { max_calls_per_run: 1 },
  };
  const { offered, tenantId, own } = await tenantWith({ default: 'deny', tool_permissions });
  expect(await offered()).toEqual(['again', 'hook']);
  await fixture.database.query(
    `UPDATE elo_t_tenant_tools SET custom_config = '{"permissions": {"decision": "allow"}}'
     WHERE tenant_id = $1 AND tool_id = (SELECT id FROM elo_agent_tools WHERE code = $2)`,
    [tenantId, `get_${own}`],
  );
  expect(await offered()).toEqual(['again', 'get', 'hook']);
});

it('neither a task nor a tier grants what the tenant holds back; an agent of the tenant does', async () => {
  const { offered, tenantId, own } = await tenantWith({ default: 'read-only' });
  const tools = ['hook_OWN', 'get_OWN'];
  expect(await offered({ tools, tool_permissions: { hook_OWN: { decision: 'allow' } } })).toEqual(['get']);
  const before = await fixture.database.query<{ tool_config: unknown }>(
    `SELECT tool_config FROM elo_agent_tiers WHERE code = 'pro'`,
  );
  await fixture.database.query(
    `UPDATE elo_agent_tiers SET tool_config = '{"enabled_tools": ["*"]}' WHERE code = 'pro'`,
  );
  expect(await offered()).toEqual(READING);
  await fixture.database.query(`UPDATE elo_agent_tiers SET tool_config = $1 WHERE code = 'pro'`, [
    before[0]?.tool_config ?? null,
  ]);
  await fixture.runtime.admin.agent.create({ tenantId, name: 'seller', tools: [`hook_${own}`, `get_${own}`] });
  expect(await offered({ agent: 'seller' })).toEqual(['get', 'hook']);
});

it('a server whose tool begins to claim that it only reads has to be approved again', async () => {
  let annotations: object = { idempotentHint: true };
  const server = await startMcpServer({
    answer: () => ({ content: [] }),
    tools: () => [{ name: 'pay', annotations, inputSchema: { type: 'object' } }],
  });
  const tenantId = await addTenant(fixture.database);
  const code = `s_${randomUUID().slice(0, 8)}`;
  const serverId = await addMcpServer(fixture.database, { code, url: server.url, onToolChange: 'quarantine' });
  await useMcpServer(fixture.database, { tenantId, serverId });
  const quarantined = async () => {
    const { tools } = await fixture.runtime.admin.mcpServer.refresh({ tenantId });
    return tools.map(({ name, is_quarantined: isQuarantined = false }) => [name, isQuarantined]);
  };
  expect(await quarantined()).toContainEqual([`${code}_pay`, false]);
  annotations = { readOnlyHint: true };
  expect(await quarantined()).toContainEqual(['pay', true]);
  await server.close();
});

it('a default that there is none of is refused where it is written', async () => {
  const tenantId = await addTenant(fixture.database);
  const change = fixture.runtime.admin.tenant.update({ tenantId, settings: { tool_config: { default: 'readonly' } } });
  await expect(change).rejects.toMatchObject({ code: 'POLICY_INVALID' });
});
