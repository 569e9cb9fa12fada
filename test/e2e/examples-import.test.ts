import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { connect, type N8n } from './support/host';

const ROOT = path.resolve(__dirname, '../..');
const EXAMPLES = path.join(ROOT, 'examples/workflows');
const PICTURES = path.join(ROOT, '.cache/screenshots');

let n8n: N8n;
let editor: Editor;

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  editor = await openEditor({ host: n8n });
  await editor.login();
  // As whoever has looked at an execution has it: the panel takes a third of the height.
  await editor.page.evaluate(() => localStorage.setItem('N8N_LOGS_PANEL_OPEN', 'true'));
});
afterAll(() => editor.close());

interface Node {
  readonly type: string;
  readonly typeVersion: number;
}

/** What a person has to choose, for no file can: it is in the note of the example. */
const TO_CHOOSE = /^(Issues|Credentials for .+ are not set\.|Parameter "(Tenant|Data table)" is required\.)$/;

/** What the editor finds wrong with the nodes on the canvas. */
async function issues(): Promise<readonly string[]> {
  const { page } = editor;
  const title = page.getByText('Issues', { exact: true });
  const lists: string[] = [];
  for (const mark of await page.locator('[data-test-id="node-issues"]').all()) {
    await mark.hover();
    await title.waitFor();
    lists.push(await title.locator('xpath=..').innerText());
    await page.mouse.move(0, 0);
    await title.waitFor({ state: 'hidden' });
  }
  return lists.flatMap((list) => list.split('\n')).filter((line) => line.trim() !== '');
}

/** Names of the nodes that are not wholly between the head of the page and the Logs panel. */
async function outOfSight(): Promise<readonly string[]> {
  const { page } = editor;
  const logs = await page.locator('[data-test-id="logs-panel"]').boundingBox();
  const [bottom, right] = [logs?.y ?? 0, (logs?.x ?? 0) + (logs?.width ?? 0)];
  const nodes = await page.locator('[data-test-id="canvas-node"]').all();
  const names = await Promise.all(
    nodes.map(async (node) => {
      const box = await node.boundingBox();
      const isInSight =
        box !== null && box.x >= 0 && box.y >= 60 && box.x + box.width <= right && box.y + box.height <= bottom;
      return isInSight ? [] : [(await node.getAttribute('data-node-name')) ?? ''];
    }),
  );
  return names.flat();
}

interface NodeType {
  readonly name: string;
  readonly version: number | readonly number[];
}

/** Every node type that this n8n has, with its version. */
async function knownTypes(): Promise<ReadonlySet<string>> {
  const response = await editor.page.request.get(`${n8n.baseUrl}/types/nodes.json`);
  const types = (await response.json()) as readonly NodeType[];
  return new Set(types.flatMap(({ name, version }) => [version].flat().map((one) => `${name}@${one}`)));
}

it.each(readdirSync(EXAMPLES))('%s imports into the editor without a warning, each node in sight', async (file) => {
  const { nodes } = JSON.parse(readFileSync(path.join(EXAMPLES, file), 'utf8')) as { nodes: readonly Node[] };
  const { page } = editor;
  await page.goto(`${n8n.baseUrl}/workflow/new`);
  await page.waitForLoadState('networkidle');
  await page.locator('[data-test-id="workflow-import-input"]').setInputFiles(path.join(EXAMPLES, file));
  await page.locator('[data-test-id="canvas-node"]').first().waitFor();
  await page.waitForLoadState('networkidle');
  await editor.screenshot(path.join(PICTURES, `import-${path.parse(file).name}.png`));

  const known = await knownTypes();
  expect(nodes.map(({ type, typeVersion }) => `${type}@${typeVersion}`).filter((type) => !known.has(type))).toEqual([]);
  const drawn = page.locator('[data-test-id="canvas-node"], [data-test-id="sticky"]');
  expect(await drawn.count()).toBe(nodes.length);
  expect(await page.locator('.el-notification--warning, .el-notification--error').allInnerTexts()).toEqual([]);
  expect(await outOfSight()).toEqual([]);
  expect((await issues()).filter((issue) => !TO_CHOOSE.test(issue))).toEqual([]);
});
