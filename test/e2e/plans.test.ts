import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../support/servers/model-server';
import { plan, review } from '../support/values/plan-script';
import { addModelCredential, addPostgresCredential, connect, type N8n } from './support/host';

const PICTURES = path.resolve(__dirname, '../..', '.cache/screenshots');

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let editor: Editor;
let workflowId: string;

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  const tenant = await addTenant(database);
  await database.query(
    `INSERT INTO elo_agents (tenant_id, name, description, system_prompt, sub_agents) VALUES
     ($1, 'writer', 'Writes offers.', 'You write.', NULL), ($1, 'seller', NULL, 'You sell.', '{writer}')`,
    [tenant],
  );
  const credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-plans', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
  };
  const node = (name: string, type: string, rest: object): object => ({
    ...{ id: name, name, type, typeVersion: 1, position: [0, 0], credentials },
    ...rest,
  });
  ({ id: workflowId } = await n8n.createWorkflow({
    name: 'Plans',
    pinData: {},
    nodes: [
      node('Start', 'n8n-nodes-base.manualTrigger', { credentials: undefined, parameters: {} }),
      node('Sell', 'n8n-nodes-universal-ai-agent.universalAiAgent', {
        typeVersion: 4,
        position: [220, 0],
        parameters: {
          tenantId: { __rl: true, mode: 'id', value: tenant },
          agent: { __rl: true, mode: 'name', value: 'seller' },
          message: 'Offer bikes to Ann.',
          options: { supervisorTier: 'expert', includeTrace: true },
        },
      }),
    ],
    connections: { Start: { main: [[{ node: 'Sell', type: 'main', index: 0 }]] } },
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

it('a mode is chosen in the panel, and the item has the plan with what each step came to', async () => {
  const { page } = editor;
  await editor.openWorkflow(workflowId);
  await editor.openNode('Sell');
  await page.waitForLoadState('networkidle');
  await one('[data-test-id="parameter-input-mode"]').click();
  await one('.el-select-dropdown__item:has-text("A plan for whatever needs a tool")').click();
  await one('[data-test-id="parameter-input-supervisorTier"]').scrollIntoViewIfNeeded();
  const steps = [
    { task: 'Find what Ann needs', executor: 'loop' },
    { task: 'Write the offer', executor: 'agent', name: 'writer' },
  ];
  models.script(
    plan(...steps),
    textReply('A red bike'),
    review('SUCCESS'),
    textReply('Dear Ann, a red bike.'),
    review('SUCCESS'),
    textReply('The offer is written.'),
  );
  await one('[data-test-id="node-execute-button"]').click();
  const output = one('[data-test-id="output-panel"]');
  await output.getByText('The offer is written.').first().waitFor();
  await output.getByText('Dear Ann, a red bike.').first().waitFor();
  await editor.screenshot(path.join(PICTURES, 'plan.png'));
  const [planner, , supervisor] = models.received;
  expect(planner?.tools?.map(({ function: { name } }) => name)).toEqual(['make_plan']);
  expect(supervisor).toMatchObject({ model: 'anthropic/claude-3-5-sonnet' });
  const [run] = await database.query(
    `SELECT result -> 'plan' AS plan FROM elo_agent_runs WHERE agent = 'seller' AND root_task_id IS NULL`,
  );
  expect(run).toMatchObject({
    plan: {
      steps: [
        { result: 'A red bike', verdict: 'SUCCESS' },
        { executor: 'agent', name: 'writer', result: 'Dear Ann, a red bike.', verdict: 'SUCCESS' },
      ],
    },
  });
});
