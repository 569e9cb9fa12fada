import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { connect, type Credential, type N8n } from './support/host';

const PICTURES = path.resolve(__dirname, '../../.cache/screenshots');
const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';
const NAMES = { openRouterApi: 'My OpenRouter', postgres: 'My Postgres', redis: 'My Redis' };

let n8n: N8n;
let editor: Editor;
let credentials: Record<keyof typeof NAMES, Credential>;

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  const data = {
    openRouterApi: { apiKey: 'sk' },
    postgres: { host: 'db', database: 'x', user: 'x', password: 'x' },
    redis: { host: 'redis', port: 6379, password: '' },
  };
  const make = async (type: keyof typeof NAMES): Promise<Credential> => ({
    id: await n8n.createCredential({ name: NAMES[type], type, data: data[type] }),
    name: NAMES[type],
  });
  credentials = {
    openRouterApi: await make('openRouterApi'),
    postgres: await make('postgres'),
    redis: await make('redis'),
  };
  editor = await openEditor({ host: n8n });
  await editor.login();
});
afterAll(() => editor.close());

interface Shown {
  readonly text: string;
  readonly credentials: readonly string[];
}

/** What the panel of a node with these parameters shows. */
async function panelOf(name: string, node: object): Promise<Shown> {
  const { id } = await n8n.createWorkflow({
    name,
    nodes: [{ id: name, name, typeVersion: 4, position: [0, 0], credentials, ...node }],
    connections: {},
  });
  await editor.openWorkflow(id);
  await editor.openNode(name);
  const panel = editor.page.locator('[data-test-id="ndv"]');
  await panel.getByText('Credential for Redis').first().waitFor();
  await editor.screenshot(path.join(PICTURES, `${name}.png`));
  const chosen = await editor.page
    .locator('[data-test-id="node-credentials-slot"] input')
    .evaluateAll((inputs) => inputs.map((input) => (input as unknown as { value: string }).value));
  return { text: await panel.innerText(), credentials: chosen.filter((value) => value !== '') };
}

it('offers all credentials to run a task', async () => {
  const shown = await panelOf('run', { type: TYPE, parameters: { options: { inputMode: 'item', useRedis: true } } });
  expect(shown.credentials).toEqual([NAMES.openRouterApi, NAMES.postgres, NAMES.redis]);
  for (const label of ['Operation', 'Input: Mode', 'Queue: Use Redis']) expect(shown.text).toContain(label);
});

it('asks for Redis only to enqueue a task', async () => {
  const shown = await panelOf('enqueue', { type: TYPE, parameters: { operation: 'enqueue' } });
  expect(shown.credentials).toEqual([NAMES.redis]);
  for (const label of ['Tenant', 'Tier', 'System Prompt', 'Message', 'Options']) expect(shown.text).toContain(label);
  expect(shown.text).not.toContain('Require Specific Output Format');
});

it('asks for Redis only to get a result', async () => {
  const shown = await panelOf('get-result', { type: TYPE, parameters: { operation: 'getResult' } });
  expect(shown.credentials).toEqual([NAMES.redis]);
  for (const label of ['Result Key', 'Task ID', 'Wait Seconds', 'Options']) expect(shown.text).toContain(label);
  for (const label of ['Tenant', 'Require Specific Output Format']) expect(shown.text).not.toContain(label);
});

it('shows the parameters of the trigger', async () => {
  const shown = await panelOf('trigger', { type: `${TYPE}Trigger`, typeVersion: 1, parameters: {} });
  expect(shown.credentials).toEqual([NAMES.redis]);
  for (const label of ['Task List', 'Task Types', 'Forward List', 'Failed List', 'Parallel Tasks', 'Acknowledge']) {
    expect(shown.text).toContain(label);
  }
});

it('has the operations that it can do, and no other one', async () => {
  const response = await editor.page.request.get(`${n8n.baseUrl}/types/nodes.json`);
  interface NodeType {
    readonly name: string;
    readonly properties: readonly { readonly name: string; readonly options?: readonly { readonly value: string }[] }[];
  }
  const types = (await response.json()) as readonly NodeType[];
  const operation = types.find(({ name }) => name === TYPE)?.properties.find(({ name }) => name === 'operation');
  expect(operation?.options?.map(({ value }) => value)).toEqual(['run', 'enqueue', 'getResult']);
});
