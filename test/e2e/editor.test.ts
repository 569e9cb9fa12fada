import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { addTenant, addTool, createMigratedDatabase, enableTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { untilTrue } from '../support/values/until';
import { addModelCredential, addPostgresCredential, connect, type Credential, type N8n } from './support/host';
import { PICTURES } from './support/pictures';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let tools: TestServer;
let editor: Editor;
let tenant: string;
let workflowId: string;
let credentials: { openRouterApi: Credential; postgres: Credential };

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  database = await createMigratedDatabase();
  models = await startModelServer();
  tools = await startServer((_request, response) => sendJson(response, { customer: 'Ada', orders: [1001, 1002] }));
  credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-editor', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
  };
  tenant = await addTenant(database, { name: "Ada's Bicycles", settings: { default_tier: 'pro' } });
  const toolId = await addTool(database, {
    code: 'find_orders',
    description: 'Find the orders of a customer',
    endpoint: tools.url,
  });
  await enableTool(database, { tenantId: tenant, toolId });
  ({ id: workflowId } = await n8n.createWorkflow(workflow()));
  editor = await openEditor({ host: n8n });
  await editor.login();
  await editor.page.evaluate(() => localStorage.setItem('N8N_THEME', 'light'));
});
afterAll(async () => {
  await editor.close();
  await Promise.all([models.close(), tools.close(), database.close()]);
});

function workflow(options: object = {}): { name: string } & Record<string, unknown> {
  return {
    name: 'One agent for every tenant',
    nodes: [
      {
        id: 'e1',
        name: 'When clicking Execute',
        type: 'n8n-nodes-base.manualTrigger',
        typeVersion: 1,
        position: [0, 0],
        parameters: {},
      },
      {
        id: 'e2',
        name: 'Universal AI Agent',
        type: TYPE,
        typeVersion: 4,
        position: [260, 0],
        parameters: {
          tenantId: { __rl: true, mode: 'list', value: tenant, cachedResultName: "Ada's Bicycles" },
          tier: 'pro',
          systemPrompt: 'You are the assistant of a shop for bicycle parts. Be brief.',
          message: 'Which orders does Ada have?',
          options: { includeTrace: true, ...options },
        },
        credentials,
      },
    ],
    connections: { 'When clicking Execute': { main: [[{ node: 'Universal AI Agent', type: 'main', index: 0 }]] } },
  };
}

async function picker(kind: 'options' | 'resource-locator-results', methodName: string): Promise<unknown> {
  return n8n.rest('POST', `/dynamic-node-parameters/${kind}`, {
    path: kind === 'options' ? 'parameters.options.tools' : 'parameters.tenantId',
    nodeTypeAndVersion: { name: TYPE, version: 3 },
    currentNodeParameters: { tenantId: { __rl: true, mode: 'list', value: tenant } },
    methodName,
    credentials,
  });
}

it('lists the tenants and the tools of the chosen tenant in the pickers', async () => {
  expect(await picker('resource-locator-results', 'searchTenants')).toMatchObject({
    results: [{ name: "Ada's Bicycles", value: tenant }],
  });
  expect(await picker('options', 'getTenantTools')).toEqual([
    { name: 'find_orders', value: 'find_orders', description: 'Find the orders of a customer' },
  ]);
});

it('stands under AI and then Agents in the list of nodes, once, and can be a tool', async () => {
  const response = await editor.page.request.get(`${n8n.baseUrl}/types/nodes.json`);
  interface NodeType {
    readonly name: string;
    readonly version: number | readonly number[];
    readonly codex?: { readonly subcategories?: { readonly AI?: readonly string[] } };
  }
  const types = (await response.json()) as readonly NodeType[];
  const ours = types.filter(({ name }) => name.startsWith('n8n-nodes-universal-ai-agent.'));
  // The list has each version of a node; the editor shows the newest one.
  const isNewest = ({ name, version }: NodeType): boolean =>
    [version].flat().includes(name === TYPE || name === `${TYPE}Tool` ? 3 : 1);
  const nodes = ours.filter(isNewest);
  const subNodes = ['tenantModel', 'tenantTools'].map((name) => `n8n-nodes-universal-ai-agent.${name}`);
  const own = [TYPE, `${TYPE}Admin`, `${TYPE}Tool`, `${TYPE}Trigger`];
  expect(nodes.map(({ name }) => name).sort()).toEqual([...subNodes, ...own]);
  expect(nodes.find(({ name }) => name === TYPE)?.codex?.subcategories?.AI).toContain('Agents');
});

it('shows its parameters and notices in the panel', async () => {
  await editor.openWorkflow(workflowId);
  await editor.openNode('Universal AI Agent');
  const panel = editor.page.locator('[data-test-id="ndv"]');
  await panel.getByText('System Prompt').waitFor();
  await editor.screenshot(path.join(PICTURES, 'panel.png'));
  const text = await panel.innerText();
  for (const label of ['Tenant', 'Tier', 'System Prompt', 'Message', 'Output: Include Trace']) {
    expect(text).toContain(label);
  }
  // What a chat needs is in sight, and nothing else.
  for (const label of ['Input Mode', 'Provider', 'Context', 'Identity', 'Redis']) expect(text).not.toContain(label);
});

it('shows under the tenant which tools it has', async () => {
  const line = editor.page.locator('[data-test-id="parameter-input-tenantTools"]');
  await untilTrue(async () => (await line.locator('input').inputValue()) === '1: find_orders');
  await line.click();
  await editor.page.getByText('Find the orders of a customer').waitFor();
  await editor.screenshot(path.join(PICTURES, 'panel-tools.png'));
  await editor.page.keyboard.press('Escape');
});

it('offers the credentials that n8n holds, each kind in its own list', async () => {
  const slots = editor.page.locator('[data-test-id="node-credentials-slot"]');
  const names = await slots
    .locator('input')
    .evaluateAll((inputs) => inputs.map((input) => (input as unknown as { value: string }).value));
  expect(names.filter((name) => name !== '')).toEqual([credentials.openRouterApi.name, credentials.postgres.name]);
});

it('offers the credentials for MCP servers with the option that needs them', async () => {
  const { id } = await n8n.createWorkflow(
    workflow({
      useVaultKey: true,
      mcpServers: { servers: [{ name: 'shop', url: 'https://mcp.example.com/mcp', authentication: 'httpBearerAuth' }] },
    }),
  );
  await editor.openWorkflow(id);
  await editor.openNode('Universal AI Agent');
  const panel = editor.page.locator('[data-test-id="ndv"]');
  await panel.getByText('Bearer for MCP Servers').waitFor();
  await panel.getByText('Tools: MCP Servers', { exact: true }).scrollIntoViewIfNeeded();
  await editor.screenshot(path.join(PICTURES, 'mcp-servers.png'));
  const text = await panel.innerText();
  for (const label of [
    'Header for MCP Servers',
    'OAuth2 for MCP Servers',
    'Vault Key',
    'Authentication',
    'Add Server',
  ]) {
    expect(text).toContain(label);
  }
});

it('shows answer, tool calls, tokens and cost after an execution', async () => {
  models.script(
    toolReply([{ name: 'find_orders', arguments: { customer: 'Ada' } }], { prompt: 310, completion: 20 }),
    textReply('Ada has two orders: 1001 and 1002.', { prompt: 350, completion: 15 }),
  );
  await editor.openWorkflow(workflowId);
  await editor.page.locator('[data-test-id="execute-workflow-button"]').click();
  await editor.page.locator('[data-test-id="canvas-node-status-success"]').nth(1).waitFor();
  await editor.screenshot(path.join(PICTURES, 'canvas.png'));
  await editor.openNode('Universal AI Agent');
  const output = editor.page.locator('[data-test-id="output-panel"]');
  await output.getByText('Ada has two orders').first().waitFor();
  await output.getByText('JSON', { exact: true }).click();
  await output.getByText('cost_usd').first().waitFor();
  // "Workflow executed successfully" goes by itself, and may have gone before it could be clicked away.
  await editor.page.locator('.el-notification').first().waitFor({ state: 'hidden' });
  await editor.screenshot(path.join(PICTURES, 'output.png'));
  const text = await output.innerText();
  for (const shown of ['2 model calls, 1 tool call', 'find_orders', 'openai/gpt-4o-mini', '0.00012000'])
    expect(text).toContain(shown);
});
