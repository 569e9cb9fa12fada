import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { createDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { untilTrue } from '../support/values/until';
import { type Examples, examplesIn } from './support/examples';
import { addModelCredential, addPostgresCredential, connect, type N8n } from './support/host';
import { PICTURES } from './support/pictures';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let editor: Editor;
let examples: Examples;

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  [database, models] = await Promise.all([createDatabase(), startModelServer()]);
  examples = examplesIn(n8n, {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-quickstart', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
  });
  editor = await openEditor({ host: n8n });
  await editor.login();
  await editor.page.evaluate(() => localStorage.setItem('N8N_THEME', 'light'));
  await editor.page.setViewportSize({ width: 1100, height: 680 });
});
afterAll(async () => {
  await editor.close();
  await Promise.all([models.close(), database.close()]);
});

const byTestId = (id: string): ReturnType<Editor['page']['locator']> => editor.page.locator(`[data-test-id="${id}"]`);

async function picture(name: string): Promise<void> {
  await editor.page.locator('.el-notification').first().waitFor({ state: 'hidden' });
  await editor.screenshot(path.join(PICTURES, `quickstart-${name}.png`));
}

it('leads from an empty database to an answer with a tool, in the editor alone', async () => {
  const { page } = editor;
  // Other tests have the same tool active at the same time.
  const own = 'find-orders-quickstart';
  const tool = await examples.load('find-orders.json', { Webhook: { path: own } });
  await n8n.activate(tool);
  await editor.openWorkflow(tool);
  await picture('1-tool');

  await editor.openWorkflow(
    await examples.load('first-tenant.json', {
      'Create or Update Tool': { endpoint: `${n8n.baseUrl}/webhook/${own}` },
    }),
  );
  await byTestId('execute-workflow-button').click();
  await byTestId('canvas-node-status-success').nth(3).waitFor();
  await picture('2-first-tenant');
  await editor.openNode('Create or Update Tool');
  await byTestId('ndv').getByText('Endpoint').first().waitFor();
  await picture('3-create-tool');

  models.script(
    toolReply([{ name: 'find_orders', arguments: { customer: 'Ada' } }], { prompt: 310, completion: 20 }),
    textReply('Ada has two orders: 1001 is shipped, 1002 is in production.', { prompt: 350, completion: 15 }),
  );
  await editor.openWorkflow(await examples.load('chat-with-memory.json'));
  await editor.openNode('Universal AI Agent');
  await byTestId('rlc-input').first().click();
  await page.getByText('First tenant').first().click();
  const tools = byTestId('parameter-input-tenantTools').locator('input');
  await untilTrue(async () => (await tools.inputValue()) === '1: find_orders');
  await picture('4-agent');
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Open chat' }).last().click();
  await page.getByPlaceholder(/type (a )?message/i).fill('Which orders does Ada have?');
  await page.keyboard.press('Enter');
  await page.getByText('Ada has two orders').first().waitFor();
  await picture('5-chat');

  await editor.openNode('Universal AI Agent');
  const output = byTestId('output-panel');
  await output.getByText('JSON', { exact: true }).click();
  await output.getByText('$0.00012000').waitFor();
  await picture('6-output');
  // The item is what a customer's browser gets.
  const shown = await output.innerText();
  expect(shown).toContain('Ada has two orders');
  expect(shown).not.toContain('cost_usd');
  await n8n.deactivate(tool);
});
