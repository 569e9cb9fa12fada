import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { addModelCredential, addPostgresCredential, connect, type N8n } from './support/host';

const SKILL =
  '---\nname: orders\ndescription: Counts orders. Use when a customer asks for them.\n---\nCount those of {{shop}}.';
const PICTURES = path.resolve(__dirname, '../..', '.cache/screenshots');

/** What a model says to a message. */
const REPLIES: Readonly<Record<string, ReturnType<typeof textReply>>> = {
  'How many bikes?': textReply('Two are left.'),
  'Look up the price.': textReply('They cost 300.'),
  'How many are left?': toolReply([
    { name: 'ask_stock', arguments: { message: 'How many bikes?' } },
    { name: 'load_skill', arguments: { name: 'pricing' } },
  ]),
};
const ORDERS = toolReply([
  { name: 'load_skill', arguments: { name: 'orders', arguments: '{{shop}}' } },
  { name: 'set_variable', arguments: { name: 'counted', value: 5 } },
]);

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let editor: Editor;
let workflowId: string;

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  models.always(({ messages }) => {
    const last = messages.at(-1);
    const isSeller = messages[1]?.content === 'How many are left?';
    if (last?.role === 'tool') return textReply(isSeller ? 'There are 2 bikes.' : 'You have 5 orders.').body;
    return (REPLIES[last?.content ?? ''] ?? ORDERS).body;
  });
  const tenant = await addTenant(database);
  await giveTool(database, tenant, { code: 'set_variable', transport: 'builtin', endpoint: null });
  await database.query(
    `INSERT INTO elo_agent_skills (tenant_id, name, description, content) VALUES ($1, 'pricing', 'Knows prices.', $2)`,
    [tenant, '---\nname: pricing\ndescription: Knows prices.\nmax_turns: 2\n---\nLook up the price.'],
  );
  const tenantId = { __rl: true, mode: 'id', value: tenant };
  const credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-agents', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
  };
  const node = (name: string, type: string, rest: object): object => ({
    ...{ id: name, name, type, typeVersion: 1, position: [0, 0], credentials },
    ...rest,
  });
  const agent = {
    resource: 'agent',
    tenantId,
    shared: false,
    name: 'support',
    systemPrompt: 'You answer customers of {{shop}}.',
  };
  ({ id: workflowId } = await n8n.createWorkflow({
    name: 'Agents',
    // n8n cannot go on from a node of a workflow that was never saved in the editor without it.
    pinData: {},
    nodes: [
      node('Start', 'n8n-nodes-base.manualTrigger', { credentials: undefined, parameters: {} }),
      node('Create Skill', 'n8n-nodes-universal-ai-agent.universalAiAgentAdmin', {
        position: [220, 0],
        parameters: { resource: 'skill', operation: 'create', tenantId, shared: false, content: SKILL },
      }),
      node('Create Agent', 'n8n-nodes-universal-ai-agent.universalAiAgentAdmin', {
        position: [440, 0],
        parameters: {
          ...{ ...agent, operation: 'create' },
          additionalFields: { tier: 'expert', maxIterations: 3, skills: ['orders'] },
        },
      }),
      node('Ask', 'n8n-nodes-universal-ai-agent.universalAiAgent', {
        typeVersion: 4,
        position: [660, 0],
        parameters: {
          tenantId,
          message: 'How many orders have I at {{shop}}?',
          options: { variables: '{ "shop": "Bikes" }' },
        },
      }),
      node('Create Stock', 'n8n-nodes-universal-ai-agent.universalAiAgentAdmin', {
        position: [0, 220],
        parameters: { ...agent, operation: 'create', name: 'stock', systemPrompt: 'You know the stock.' },
      }),
      node('Create Seller', 'n8n-nodes-universal-ai-agent.universalAiAgentAdmin', {
        position: [220, 220],
        parameters: {
          ...{ ...agent, operation: 'create', name: 'seller', systemPrompt: 'You sell.' },
          additionalFields: { tier: 'expert', tools: [], skills: ['pricing'], subAgents: [] },
        },
      }),
      node('Ask Seller', 'n8n-nodes-universal-ai-agent.universalAiAgent', {
        typeVersion: 4,
        position: [440, 220],
        parameters: {
          tenantId,
          agent: { __rl: true, mode: 'name', value: 'seller' },
          message: 'How many are left?',
          options: { includeTrace: true },
        },
      }),
    ],
    connections: {
      'Create Stock': { main: [[{ node: 'Create Seller', type: 'main', index: 0 }]] },
      'Create Seller': { main: [[{ node: 'Ask Seller', type: 'main', index: 0 }]] },
      Start: {
        main: [
          [
            { node: 'Create Skill', type: 'main', index: 0 },
            { node: 'Create Stock', type: 'main', index: 0 },
          ],
        ],
      },
      'Create Skill': { main: [[{ node: 'Create Agent', type: 'main', index: 0 }]] },
      'Create Agent': { main: [[{ node: 'Ask', type: 'main', index: 0 }]] },
    },
  }));
  editor = await openEditor({ host: n8n });
  await editor.login();
});
afterAll(async () => {
  await editor.close();
  await Promise.all([models.close(), database.close()]);
});

const one = (selector: string): ReturnType<Editor['page']['locator']> =>
  editor.page.locator(selector).filter({ visible: true }).first();

async function execute(expected: string): Promise<void> {
  await one('[data-test-id="node-execute-button"]').click();
  await one('[data-test-id="output-panel"]').getByText(expected).first().waitFor();
}

it('an agent that Admin creates is picked from the list of the tenant, and answers with its prompt, model and variables', async () => {
  const { page } = editor;
  await editor.openWorkflow(workflowId);
  await editor.openNode('Create Skill');
  await page.waitForLoadState('networkidle');
  await execute('orders');
  await editor.screenshot(path.join(PICTURES, 'skill-create.png'));
  await page.keyboard.press('Escape');
  await editor.openNode('Create Agent');
  await page.waitForLoadState('networkidle');
  await execute('You answer customers of {{shop}}.');
  await editor.screenshot(path.join(PICTURES, 'agent-create.png'));
  await page.keyboard.press('Escape');
  await editor.openNode('Ask');
  await one('[data-test-id="resource-locator-agent"] [data-test-id="rlc-input"]').click();
  await one('[data-test-id="rlc-item"]:has-text("support")').click();
  await execute('You have 5 orders.');
  await one('[data-test-id="output-panel"]').getByText('counted').first().waitFor();
  await editor.screenshot(path.join(PICTURES, 'agent-picked.png'));
  expect(models.received.at(-1)).toMatchObject({
    model: 'anthropic/claude-3-5-sonnet',
    messages: [
      {
        role: 'system',
        content: expect.stringMatching(/^You answer customers of Bikes\.[^]*<name>orders<\/name>/) as string,
      },
      { role: 'user', content: 'How many orders have I at {{shop}}?' },
      { role: 'assistant' },
      { role: 'tool', content: expect.stringContaining('Count those of Bikes.\\n\\nARGUMENTS: Bikes') as string },
      { role: 'tool' },
    ],
  });
});

it('an agent asks another one that is picked from a list, and its share is in the trace', async () => {
  const { page } = editor;
  await editor.openWorkflow(workflowId);
  await editor.openNode('Create Stock');
  await execute('You know the stock.');
  await page.keyboard.press('Escape');
  await editor.openNode('Create Seller');
  await page.waitForLoadState('networkidle');
  const stock = one('.el-select-dropdown__item:has-text("stock")');
  // The list closes again when its items arrive after the click.
  for (let tries = 0; tries < 5 && !(await stock.isVisible()); tries++) {
    await one('[data-test-id="parameter-input-subAgents"]').click();
    await stock.waitFor({ timeout: 5000 }).catch(() => undefined);
  }
  await stock.click();
  await page.keyboard.press('Escape');
  await execute('You sell.');
  await editor.screenshot(path.join(PICTURES, 'sub-agents.png'));
  await page.keyboard.press('Escape');
  await editor.openNode('Ask Seller');
  await execute('There are 2 bikes.');
  await one('[data-test-id="output-panel"]').getByText('ask_stock').first().waitFor();
  await editor.screenshot(path.join(PICTURES, 'sub-agents-asked.png'));
  const [asked, ...below] = models.received.slice(-4);
  const answered = below.pop();
  expect(asked?.tools?.map(({ function: { name } }) => name)).toEqual(['load_skill', 'ask_stock']);
  expect(below.map(({ messages }) => messages.map(({ content }) => content)).sort()).toEqual([
    ['You know the stock.', 'How many bikes?'],
    ['You sell.', 'Look up the price.'],
  ]);
  expect(answered?.messages.slice(-2)).toMatchObject([
    { content: '"Two are left."' },
    { content: '{"skill":"pricing","answer":"They cost 300."}' },
  ]);
  const [run] = await database.query<{ trace: { tool?: string; runs?: object[] }[] }>(
    `SELECT result -> 'trace' AS trace FROM elo_agent_runs WHERE agent = 'seller' AND root_task_id IS NULL`,
  );
  expect(run?.trace.slice(1, 3)).toMatchObject([
    { tool: 'ask_stock', runs: [{ agent: 'stock', tokens: 120 }] },
    { tool: 'load_skill', runs: [{ agent: 'seller', tokens: 120 }] },
  ]);
});
