import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { connect, type N8n } from './support/host';

const PICTURES = path.resolve(__dirname, '../..', '.cache/screenshots');
const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';

let n8n: N8n;
let editor: Editor;
let workflowId: string;

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  const start = { id: 'm', name: 'Start', type: 'n8n-nodes-base.manualTrigger', typeVersion: 1 };
  const agent = { id: 'a', name: 'Agent', type: TYPE, typeVersion: 4 };
  ({ id: workflowId } = await n8n.createWorkflow({
    name: 'Panel',
    nodes: [
      { ...start, position: [0, 0], parameters: {} },
      { ...agent, position: [260, 0], parameters: {} },
    ],
    connections: { Start: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] } },
  }));
  editor = await openEditor({ host: n8n });
  await editor.login();
});
afterAll(() => editor.close());

/** Reports whether the panel shows the first element above the second one. */
async function above(first: string, second: string): Promise<boolean> {
  const [upper, lower] = await Promise.all(
    [first, second].map((id) => editor.page.locator(`[data-test-id="${id}"]`).first().boundingBox()),
  );
  return (upper?.y ?? Infinity) < (lower?.y ?? 0);
}

it.each([
  [1440, 900, ['tenantId', 'tier', 'message', 'systemPrompt']],
  [1024, 700, ['tenantId', 'tier', 'message']],
])('what everybody fills in is in sight at %ix%i', async (width, height, names) => {
  const { page } = editor;
  await page.setViewportSize({ width, height });
  await editor.openWorkflow(workflowId);
  await editor.openNode('Agent');
  await page.waitForLoadState('networkidle');
  await editor.screenshot(path.join(PICTURES, `panel-${width}.png`));
  const bottoms = names.map(async (name) => {
    const box = await page.locator(`[data-test-id="parameter-input-${name}"]`).first().boundingBox();
    return [name, (box?.y ?? Infinity) + (box?.height ?? 0) <= height - 40] as const;
  });
  expect(await Promise.all(bottoms)).toEqual(names.map((name) => [name, true]));
  expect(await above('node-credentials-slot', 'parameter-input-tenantId')).toBe(true);
  await page.setViewportSize({ width: 1440, height: 900 });
});

it.each(['agent', 'tenant', 'openrouter', 'queue', 'redis', 'budget', 'cost'])(
  'a search for "%s" finds the node, with its own description',
  async (words) => {
    const { page } = editor;
    await editor.openWorkflow(workflowId);
    await page.locator('[data-test-id="node-creator-plus-button"]').first().click();
    const creator = page.locator('[data-test-id="node-creator"]');
    await creator.locator('input').first().fill(words);
    await creator.getByText('AI agent for many tenants').first().waitFor();
    await editor.screenshot(path.join(PICTURES, `creator-${words}.png`));
    const text = await creator.innerText();
    expect(text.indexOf('Universal AI Agent')).toBeGreaterThan(-1);
    // Fuzzy search finds "agent" in its name.
    expect(`${text}Magento`.indexOf('Magento')).toBeGreaterThan(text.indexOf('Universal AI Agent'));
  },
);

it('a search for "memory" leaves the memories to n8n', async () => {
  const { page } = editor;
  await editor.openWorkflow(workflowId);
  await page.locator('[data-test-id="node-creator-plus-button"]').first().click();
  const creator = page.locator('[data-test-id="node-creator"]');
  await creator.locator('input').first().fill('tenant');
  await creator.getByText('Universal AI Agent').first().waitFor();
  await creator.locator('input').first().fill('memory');
  await creator.getByText('Universal AI Agent').first().waitFor({ state: 'hidden' });
  await editor.screenshot(path.join(PICTURES, 'creator-memory.png'));
});

it('shows a credential where something asks for it', async () => {
  const { page } = editor;
  const slots = async (parameters: object, typeVersion = 3): Promise<string> => {
    const agent = { id: 'a', name: 'Agent', type: TYPE, typeVersion, position: [0, 0], parameters };
    const { id } = await n8n.createWorkflow({ name: 'Credentials', nodes: [agent], connections: {} });
    await editor.openWorkflow(id);
    await editor.openNode('Agent');
    const shown = page.locator('[data-test-id="node-credentials-slot"]');
    await shown.first().waitFor();
    return (await shown.allInnerTexts()).join(' ');
  };
  expect(await slots({})).not.toMatch(/Redis|Vault|SQL/);
  expect(await slots({}, 1)).toMatch(/Vault Key.*Role for SQL Queries.*Credential for Redis/s);
  expect(await slots({ options: { useRedis: true, useVaultKey: true, useSqlRole: true } })).toMatch(
    /Vault Key.*Role for SQL Queries.*Credential for Redis/s,
  );
  expect(await slots({ operation: 'enqueue' })).toMatch(/Credential for Redis/);
});

it('offers its options in groups, the first of them those of the model', async () => {
  const { page } = editor;
  await editor.openWorkflow(workflowId);
  await editor.openNode('Agent');
  await page.locator('[data-test-id="ndv"]').getByPlaceholder('Add Option').click();
  const items = page.locator('.el-select-dropdown__item:visible');
  await items.getByText('Model: Provider').waitFor();
  await editor.screenshot(path.join(PICTURES, 'panel-options.png'));
  const groups = (await items.allInnerTexts()).map((text) => text.split(':')[0]);
  expect([...new Set(groups)]).toEqual(['Model', 'Plan', 'Tools', 'Limit', 'Output', 'Input', 'Queue']);
});
