import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { connect, type N8n } from './support/host';
import { aPerson, parameter, type Person } from './support/person';

const PICTURES = path.resolve(__dirname, '../..', '.cache/screenshots');
const POSTGRES = 'Postgres of the forms';
const TENANT = 'Bikes of the forms';

let n8n: N8n;
let database: TestDatabase;
let api: TestServer;
let editor: Editor;
let person: Person;

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  [database, api] = await Promise.all([
    createMigratedDatabase(),
    startServer((_request, response) => sendJson(response, { temperature: 21 })),
  ]);
  await addTenant(database, { name: TENANT });
  await n8n.createCredential({ name: POSTGRES, type: 'postgres', data: postgresCredential(database.url) });
  const start = { id: 'm', name: 'Start', type: 'n8n-nodes-base.manualTrigger', typeVersion: 1, position: [0, 0] };
  const { id } = await n8n.createWorkflow({ name: 'Forms', nodes: [{ ...start, parameters: {} }], connections: {} });
  editor = await openEditor({ host: n8n });
  await editor.login();
  await editor.openWorkflow(id);
  person = aPerson(editor, POSTGRES);
});
afterAll(async () => {
  await editor.screenshot(path.join(PICTURES, 'admin-forms-last.png'));
  await editor.close();
  await Promise.all([api.close(), database.close()]);
});

const shot = (name: string): Promise<void> => editor.screenshot(path.join(PICTURES, `admin-forms-${name}.png`));

it('makes a tool of an HTTP API with its method, URL and arguments, and calls it', async () => {
  const { add, choose, click, execute, fill, one, pick } = person;
  await add('agent admin', 'Universal AI Agent Admin', 'Create a tool');
  await fill('code', 'weather');
  await fill('description', 'The weather of a city');
  await choose('transport', 'REST');
  await fill('requestUrl', `${api.url}/cities/{city}`);
  await click('[data-test-id="ndv"]', 'Add Argument');
  await fill('name', 'city');
  await pick('enableFor', TENANT);
  await shot('rest');
  await execute('weather');

  await choose('operation', 'Execute');
  await pick('tenantId', TENANT);
  await choose('tool', 'weather');
  await one('[data-test-id="mapping-fields-container"] input').fill('Oslo');
  await execute('21');
  expect(api.requests.map(({ method, path: at }) => [method, at])).toEqual([['GET', '/cities/Oslo']]);
});

it('sets the rules of a tool whose list appears when the operation changes in the open panel', async () => {
  const { choose, execute, one, pick } = person;
  await choose('operation', 'Set Limits');
  await pick('tenantId', TENANT);
  await choose('code', 'weather');
  expect(await one(`${parameter('dailyLimit')} input`).inputValue()).toBe('');
  await one('input[placeholder="Add Rule"], [data-test-id="collection-add"]').click();
  await editor.page.getByRole('option', { name: 'Decision' }).first().click();
  await shot('rules');
  await execute('ask');
  const [row] = await database.query('SELECT usage_limit_daily, custom_config FROM elo_t_tenant_tools');
  expect(row).toEqual({ usage_limit_daily: null, custom_config: { permissions: { decision: 'ask' } } });
});
