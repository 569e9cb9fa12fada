import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { createDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { connect, type N8n } from './support/host';
import { aPerson } from './support/person';
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

it('goes from an empty database to an answer with an own tool, in the editor alone', async () => {
  const { page } = editor;
  const { add, choose, click, clicks, execute, fill, pick, use, write } = aPerson(editor, POSTGRES);
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
  await click('[data-test-id="ndv"]', 'Add Argument');
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
  expect(clicks()).toBeLessThanOrEqual(40);
}, 180_000);
