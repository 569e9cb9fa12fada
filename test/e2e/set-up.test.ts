import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { createDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { connect, type N8n } from './support/host';
import { PICTURES } from './support/pictures';

const ROOT = path.resolve(__dirname, '../..');

const POSTGRES = 'Postgres of the set-up';
const MODEL = 'OpenRouter of the set-up';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let editor: Editor;

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  [database, models] = await Promise.all([createDatabase(), startModelServer()]);
  await n8n.createCredential({ name: MODEL, type: 'openRouterApi', data: { apiKey: 'sk-or-set-up', url: models.url } });
  await n8n.createCredential({ name: POSTGRES, type: 'postgres', data: postgresCredential(database.url) });
  editor = await openEditor({ host: n8n });
  await editor.login();
  await editor.page.evaluate(() => localStorage.setItem('N8N_THEME', 'light'));
});
afterAll(async () => {
  // What was in sight when it failed.
  await editor.screenshot(path.join(ROOT, '.cache/screenshots/set-up-last.png'));
  await editor.close();
  await Promise.all([models.close(), database.close()]);
});

/** How often a person would have clicked or typed. */
let clicks = 0;

const one = (selector: string): ReturnType<Editor['page']['locator']> =>
  editor.page.locator(selector).filter({ visible: true }).first();

async function click(selector: string, text?: string): Promise<void> {
  clicks += 1;
  await (text === undefined ? one(selector) : one(selector).getByText(text).first()).click();
}

/** Adds a node with one of its actions, as a person finds it. */
async function add(words: string, node: string, action: string): Promise<void> {
  const { page } = editor;
  if (await page.locator('[data-test-id="ndv"]').isVisible()) await page.keyboard.press('Escape');
  await click('[data-test-id="node-creator-plus-button"]');
  const creator = page.locator('[data-test-id="node-creator"]');
  await creator.locator('input').first().fill(words);
  await creator.getByText(node, { exact: true }).first().click();
  await creator.getByText(action, { exact: true }).first().click();
  clicks += 3;
  await page.locator('[data-test-id="ndv"]').waitFor();
  await page.waitForLoadState('networkidle');
  await use('Postgres', POSTGRES);
}

const parameter = (name: string): string => `[data-test-id="parameter-input-${name}"]`;

async function fill(name: string, text: string): Promise<void> {
  clicks += 1;
  await one(`${parameter(name)} input, ${parameter(name)} textarea`).fill(text);
}

/** In place of an expression. */
async function write(name: string, text: string): Promise<void> {
  await click(`${parameter(name)} .cm-content`);
  await editor.page.keyboard.press('ControlOrMeta+A');
  await editor.page.keyboard.type(text);
  // The editor shows the value once it has taken it, a moment after the last key.
  await one('[data-test-id^="parameter-expression-preview-"]').getByText(text).waitFor();
}

/** From the list of a tenant. */
async function pick(name: string, entry: string): Promise<void> {
  await click(`[data-test-id="resource-locator-${name}"] [data-test-id="rlc-input"]`);
  clicks += 1;
  await one(`[data-test-id="rlc-item"]:has-text(${JSON.stringify(entry)})`).click();
}

async function choose(name: string, entry: string): Promise<void> {
  await click(parameter(name));
  await editor.page
    .getByRole('option', { name: new RegExp(entry) })
    .first()
    .click();
}

/** What a new installation has only one of: n8n picks it by itself, unless other tests have made more. */
async function use(slot: string, credential: string): Promise<void> {
  const input = one(`[data-test-id="node-credentials-slot"]:has-text(${JSON.stringify(slot)}) input`);
  if ((await input.inputValue()) === credential) return;
  await input.click();
  await one(`.el-select-dropdown__item:has-text(${JSON.stringify(credential)})`).click();
}

async function execute(expected: string): Promise<void> {
  await click('[data-test-id="node-execute-button"]');
  await one('[data-test-id="output-panel"]').getByText(expected).first().waitFor();
}

it('goes from an empty database to an answer with an own tool, in the editor alone', async () => {
  const { page } = editor;
  const shot = async (name: string): Promise<void> => {
    await page.locator('.el-notification').first().waitFor({ state: 'hidden' });
    await editor.screenshot(path.join(PICTURES, `set-up-${name}.png`));
  };
  // With an address of its own: other tests have the same tool active at the same time.
  const tool = readFileSync(path.join(ROOT, 'examples/workflows/find-orders.json'), 'utf8');
  const own = JSON.parse(tool.replaceAll('"find-orders"', '"find-orders-of-set-up"')) as Record<string, unknown>;
  const { id: toolId } = await n8n.createWorkflow(own);
  await n8n.activate(toolId);

  const { id } = await n8n.createWorkflow({
    name: 'Set up',
    nodes: [
      {
        id: 'm',
        name: 'Start',
        type: 'n8n-nodes-base.manualTrigger',
        typeVersion: 1,
        position: [0, 0],
        parameters: {},
      },
    ],
    connections: {},
  });
  await editor.openWorkflow(id);
  await add('agent admin', 'Universal AI Agent Admin', 'Prepare the database');
  await execute('applied');
  await shot('1-database');
  await add('agent admin', 'Universal AI Agent Admin', 'Create a tenant');
  await fill('name', 'Acme Bikes');
  await execute('Acme Bikes');
  await add('agent admin', 'Universal AI Agent Admin', 'Create a tool');
  await fill('code', 'find_orders');
  await fill('description', 'Find the orders of a customer');
  await fill('endpoint', `${n8n.baseUrl}/webhook/find-orders-of-set-up`);
  await click('[data-test-id="ndv"]', 'Add Field');
  await fill('name', 'customer');
  await pick('enableFor', 'Acme Bikes');
  await execute('find_orders');
  await shot('2-tool');
  await add('universal ai agent', 'Universal AI Agent', 'Ask the agent');
  await use('OpenRouter', MODEL);
  await pick('tenantId', 'Acme Bikes');
  await choose('tier', 'Pro');
  await write('message', 'Which orders does Ada have?');
  models.script(toolReply([{ name: 'find_orders', arguments: { customer: 'Ada' } }]), textReply('Ada has two orders.'));
  await execute('Ada has two orders.');
  await shot('3-answer');
  expect(await page.locator('[data-test-id="output-panel"]').innerText()).toContain('find_orders');
  // What a person does between the empty canvas and the answer.
  expect(clicks).toBeLessThanOrEqual(40);
}, 180_000);
