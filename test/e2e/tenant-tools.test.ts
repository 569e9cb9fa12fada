import { mkdirSync } from 'node:fs';

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';

import { openEditor } from '../../scripts/lib/editor.mjs';
import { textReply, toolReply } from '../support/servers/model-server';
import { eventually } from '../support/values/agent-fixture';
import type { SubNode } from './support/connected';
import { byId, examplesIn } from './support/examples';
import { connect, ended, lastExecutionId, type N8n } from './support/host';
import { PICTURES } from './support/pictures';
import { asksForReview, type Reviews, startReviews } from './support/reviews';
import { mixedUp, SCHEMA, startStock, type Stock } from './support/stock';

let n8n: N8n;
let stock: Stock;
let reviews: Reviews;

beforeAll(async () => {
  n8n = await connect();
  [stock, reviews] = await Promise.all([startStock(n8n), startReviews(n8n)]);
});
afterAll(() => Promise.all([stock.close(), reviews.close()]));
beforeEach(() => stock.forget());

it.each([1.9, 2.2, 3.1])("n8n's AI Agent %s calls tools of two tenants 340 times without a mix-up", async (version) => {
  const path = `tenant-tools-${version}`;
  await stock.publish(path, version, [stock.model(), stock.tenantTools('={{ $json.tenant }}')]);
  await stock.storm(path, 17);
  expect(stock.sent()).toHaveLength(340);
  expect(mixedUp(stock)).toEqual([]);
  expect(stock.models.received[0]?.tools?.[0]?.function.parameters).toMatchObject(SCHEMA);
});

interface Row {
  readonly executionStatus: string;
  readonly source: readonly { readonly previousNode: string }[];
  readonly error?: { readonly message: string };
}

async function rowsOf(workflowId: string): Promise<readonly Row[]> {
  const { data } = await ended(n8n, await lastExecutionId(n8n, workflowId));
  return (data.resultData.runData as unknown as Record<string, Row[]>)['Tenant Tools'] ?? [];
}

it.each([2.2, 3.1])('each call is a row below AI Agent %s, a failed one in red', async (version) => {
  const path = `tenant-tools-rows-${version}`;
  const id = await stock.publish(path, version, [stock.model(), stock.tenantTools('={{ $json.tenant }}')]);
  const calls = [{ no: 1 }, { no: -1 }].map((input) => ({ name: 'stock', arguments: input }));
  stock.models.script(toolReply(calls), textReply('one'));
  expect(await stock.ask(path, stock.ann)).toBe('one');
  const rows = await rowsOf(id);
  expect(rows.map(({ executionStatus, source }) => [executionStatus, source[0]?.previousNode])).toEqual([
    ['success', 'Agent'],
    ['error', 'Agent'],
  ]);
  expect(rows[1]?.error?.message).toContain('no');
  expect(JSON.stringify(stock.models.received.at(-1)?.messages)).toContain('TOOL_INVALID_ARGS');
});

it("n8n's Logs show each call of tools and model", async () => {
  mkdirSync(PICTURES, { recursive: true });
  const path = 'order-desk';
  const subNodes = [stock.tenantModel('={{ $json.tenant }}'), stock.tenantTools('={{ $json.tenant }}')];
  const id = await stock.publish(path, 3.1, subNodes);
  const calls = [{ no: 1 }, { no: 2 }, { no: -1 }].map((input) => ({ name: 'stock', arguments: input }));
  stock.models.script(toolReply(calls), textReply('Seven of the first, none of the second.'));
  await stock.ask(path, stock.ann);
  const editor = await openEditor({ host: n8n });
  try {
    await editor.login();
    await editor.page.goto(`${n8n.baseUrl}/workflow/${id}/executions/${await lastExecutionId(n8n, id)}`);
    await editor.page.getByText('Logs', { exact: true }).click();
    const rows = (name: string) => editor.page.locator('[data-test-id="logs-overview-body"]').getByText(name).count();
    await eventually(async () => ((await rows('Tenant Tools')) === 3 ? true : undefined));
    expect(await rows('Tenant Model')).toBe(2);
    await editor.page.locator('[data-test-id="node-error-message"]').getByText('(TOOL_INVALID_ARGS)').waitFor();
    await editor.screenshot(`${PICTURES}/logs.png`);
    await editor.page.locator('[data-test-id="logs-overview-body"]').getByText('Tenant Model').last().click();
    await editor.page.getByText('Seven of the first').last().waitFor();
    await editor.screenshot(`${PICTURES}/logs-model.png`);
  } finally {
    await editor.close();
  }
}, 120_000);

it('a person can try a tool in the editor', async () => {
  const id = await stock.publish('tenant-tools-step', 3.1, [stock.model(), stock.tenantTools(stock.ann)]);
  await n8n.updateWorkflow(id, { pinData: { Webhook: [{ json: { body: { items: [{}] } } }] } });
  // What the editor sends for "Execute step".
  const { executionId } = (await n8n.rest('POST', `/workflows/${id}/run`, {
    destinationNode: { nodeName: 'Tenant Tools', mode: 'inclusive' },
    triggerToStartFrom: { name: 'Webhook' },
    agentRequest: { query: { stock: { no: 3 } }, tool: { name: 'stock' } },
  })) as { executionId: string };
  await ended(n8n, executionId);
  expect(stock.sent()).toMatchObject([{ tenant_id: stock.ann, arguments: { no: 3 } }]);
});

describe('below an AI Agent Tool', () => {
  const helper: SubNode = {
    ...{ name: 'Helper', type: '@n8n/n8n-nodes-langchain.agentTool', version: 3, output: 'ai_tool' },
    parameters: { toolDescription: 'Knows the stock', text: "={{ $fromAI('question', 'What to ask') }}" },
  };
  const publish = (path: string, tenant: string) =>
    stock.publish(path, 3.1, [
      ...[stock.model(), helper, stock.model({ name: 'Own Model', to: 'Helper' })],
      stock.tenantTools(tenant, { to: 'Helper' }),
    ]);
  const asked = () => {
    const { bob } = stock;
    const input = { tenant: bob, body: { items: [{ tenant: bob }] }, question: 'how many?' };
    return toolReply([{ name: 'Helper', arguments: input }]);
  };

  it('calls are for the tenant of the workflow, whatever the agent above writes', async () => {
    await publish('tenant-tools-below', "={{ $('Webhook').first().json.body.items[0].tenant }}");
    const called = toolReply([{ name: 'stock', arguments: { no: 1 } }]);
    stock.models.script(asked(), called, textReply('seven'), textReply('There are seven.'));
    expect(await stock.ask('tenant-tools-below', stock.ann)).toBe('There are seven.');
    expect(stock.sent()).toMatchObject([{ tenant_id: stock.ann, arguments: { no: 1 } }]);
  });

  it('200 calls of two tenants are made without a mix-up', async () => {
    await publish('tenant-tools-helpers', "={{ $('Webhook').first().json.body.items[0].tenant }}");
    await stock.storm('tenant-tools-helpers', 10);
    expect([stock.sent().length, mixedUp(stock)]).toEqual([200, []]);
  });

  it('a tenant that the agent above can write is refused', async () => {
    await publish('tenant-tools-untrusted', '={{ $json.tenant }}');
    stock.models.script(asked(), textReply('sorry'));
    expect(await stock.ask('tenant-tools-untrusted', stock.ann)).toBe('sorry');
    expect(JSON.stringify(stock.models.received.at(-1)?.messages)).toContain('Tenant Tools');
    expect(stock.sent()).toEqual([]);
  });
});

it('the Universal AI Agent as a tool is that of the tenant of its item', async () => {
  const desk: SubNode = {
    ...{ name: 'Desk', type: 'n8n-nodes-universal-ai-agent.universalAiAgentTool', version: 3, output: 'ai_tool' },
    parameters: {
      toolDescription: 'Asks the desk',
      tenantId: { __rl: true, mode: 'id', value: "={{ $('Items').item.json.tenant }}" },
      message: "={{ $fromAI('question', 'What to ask') }}",
    },
    credentials: { postgres: stock.postgres, openRouterApi: stock.openRouterApi },
  };
  await stock.publish('tenant-tools-desk', 3.1, [stock.model(), desk]);
  stock.models.always(({ messages, tools = [] }) => {
    if (messages.at(-1)?.role === 'tool') return textReply('done').body;
    const tenant = String(messages.find(({ role }) => role === 'user')?.content);
    const [name = ''] = tools.map((tool) => tool.function.name);
    // The desk of the one is asked for the tool of the other.
    const input =
      name === 'stock' ? { no: 1, tenant: tenant === stock.ann ? stock.bob : stock.ann } : { question: tenant };
    return toolReply([{ name, arguments: input }]).body;
  });
  const items = [stock.ann, stock.bob, stock.bob].map((tenant) => ({ tenant, message: tenant }));
  expect((await n8n.callWebhook('tenant-tools-desk', { items })).json).toHaveLength(3);
  expect([stock.sent().length, mixedUp(stock)]).toEqual([3, []]);
});

it("n8n's MCP Server Trigger serves them to any client, for the tenant of its caller", async () => {
  const path = 'tenant-tools-mcp';
  await stock.serve(path, '={{ $json.headers["x-tenant"] }}');
  const { ann, bob } = stock;
  const [one, other] = (await Promise.all([ann, bob].map((tenant) => stock.connect(path, { 'x-tenant': tenant })))) as [
    Client,
    Client,
  ];
  expect((await one.listTools()).tools).toMatchObject([{ name: 'stock', description: 'Does stock' }]);
  const calls = Array.from({ length: 20 }, (_, no) => {
    const [client, tenant] = no % 2 === 0 ? [one, bob] : [other, ann];
    return client.callTool({ name: 'stock', arguments: { no, tenant } });
  });
  await Promise.all(calls);
  expect([stock.sent().length, mixedUp(stock)]).toEqual([20, []]);
  expect(await one.callTool({ name: 'stock', arguments: { no: -1 } })).toMatchObject({ isError: true });
  await Promise.all([one.close(), other.close()]);
});

describe('agents of two tenants', () => {
  const leadOf = (tenant: string): Partial<SubNode> => ({
    parameters: { tenantId: byId(tenant), agent: 'lead', options: { modelProvider: 'openRouter' } },
    credentials: { postgres: stock.postgres, openRouterApi: stock.openRouterApi },
  });
  const bills = () =>
    stock.database.query<{ tenant_id: string; calls: number }>(
      `SELECT tenant_id, sum(model_calls)::int AS calls FROM elo_t_token_usage
       WHERE task_type = 'tenant_tools' GROUP BY tenant_id`,
    );
  const callsOf = async (tenant: string) => (await bills()).find(({ tenant_id: one }) => one === tenant)?.calls ?? 0;

  beforeAll(async () => {
    const settings = JSON.stringify({ default_tier: 'pro' });
    await stock.database.query('UPDATE elo_t_tenants SET settings = $1', [settings]);
    for (const tenant of [stock.ann, stock.bob]) {
      await stock.database.query(
        `INSERT INTO elo_agents (tenant_id, name, system_prompt, sub_agents) VALUES
           ($1, 'lead', NULL, '{billing}'), ($1, 'billing', $2, NULL)`,
        [tenant, `You bill for ${tenant}.`],
      );
    }
    stock.models.always(({ messages }) => {
      const system = messages.find(({ role }) => role === 'system')?.content ?? '';
      if (system.startsWith('You bill for')) return textReply(system).body;
      const last = messages.at(-1);
      if (last?.role === 'tool') return textReply(last.content ?? '').body;
      return toolReply([{ name: 'ask_billing', arguments: { message: `Bill for ${stock.bob}` } }]).body;
    });
  });

  it.each([2.2, 3.1])("are asked by n8n's AI Agent %s, and billed", async (version) => {
    const path = `tenant-agents-${version}`;
    await stock.publish(path, version, [stock.model(), stock.tenantTools('', leadOf('={{ $json.tenant }}'))]);
    for (const tenant of [stock.ann, stock.bob]) {
      const before = await callsOf(tenant);
      expect(await stock.ask(path, tenant)).toContain(`You bill for ${tenant}.`);
      expect((await callsOf(tenant)) - before).toBe(1);
    }
  });

  it('are asked by any client of the MCP Server Trigger', async () => {
    const path = 'tenant-agents-mcp';
    await stock.serve(path, '', leadOf('={{ $json.headers["x-tenant"] }}'));
    const client = await stock.connect(path, { 'x-tenant': stock.ann });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('ask_billing');
    const { content } = await client.callTool({ name: 'ask_billing', arguments: { message: `For ${stock.bob}` } });
    expect(JSON.stringify(content)).toContain(`You bill for ${stock.ann}.`);
    await client.close();
  });
});

it('mcp-server.json serves one tenant to whoever has its token', async () => {
  const data = { token: 'a-token' };
  const httpBearerAuth = {
    id: await n8n.createCredential({ name: 'Token', type: 'httpBearerAuth', data }),
    name: 'Token',
  };
  const examples = examplesIn(n8n, { postgres: stock.postgres, httpBearerAuth });
  await examples.whilePublished('mcp-server.json', {
    changes: { 'Tenant Tools': { tenantId: byId(stock.ann) } },
    use: async () => {
      await expect(stock.connect('tenant-tools', {})).rejects.toThrow();
      const client = await stock.connect('tenant-tools', { authorization: 'Bearer a-token' });
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['stock']);
      expect((await client.callTool({ name: 'stock', arguments: { no: 4 } })).isError).not.toBe(true);
      await client.close();
    },
  });
  expect(stock.sent()).toMatchObject([{ tenant_id: stock.ann, arguments: { no: 4 } }]);
});

it('a person is asked before a call, which is made as it was approved', async () => {
  const { ann, database } = stock;
  const settings = { tool_config: { tool_permissions: { stock: { decision: 'ask' } } } };
  await database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [ann, JSON.stringify(settings)]);
  const path = 'tenant-tools-review';
  const tools = stock.tenantTools('={{ $json.tenant }}', { to: 'Ask' });
  const id = await stock.publish(path, 3.1, [stock.model(), reviews.node, tools]);
  stock.models.script(asksForReview('stock', { no: 5 }), textReply('done'));
  await n8n.callWebhook(path, { items: [{ tenant: ann, message: 'go' }] });
  expect(stock.sent()).toEqual([]);
  await reviews.approve(1);
  expect(await rowsOf(id)).toMatchObject([{ executionStatus: 'success' }]);
  expect(stock.sent()).toMatchObject([{ tenant_id: ann, arguments: { no: 5 } }]);
  const line = 'SELECT decision FROM elo_tool_executions WHERE tenant_id = $1 ORDER BY id DESC LIMIT 1';
  expect(await database.query(line, [ann])).toEqual([{ decision: 'allow' }]);
});
