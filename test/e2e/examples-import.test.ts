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

/** Names of the nodes that are not wholly between the head of the page and the Logs panel, or that lie on another one. */
async function hiddenNodes(): Promise<readonly string[]> {
  const { page } = editor;
  const { x = 0, y: bottom = 0, width = 0 } = (await page.locator('[data-test-id="logs-panel"]').boundingBox()) ?? {};
  const nodes = await Promise.all(
    (await page.locator('[data-test-id="canvas-node"]').all()).map(async (node) => {
      const box = (await node.boundingBox()) ?? { x: -1, y: 0, width: 0, height: 0 };
      const [right, foot] = [box.x + box.width, box.y + box.height];
      return { name: await node.getAttribute('data-node-name'), left: box.x, top: box.y, right, foot };
    }),
  );
  type Drawn = (typeof nodes)[number];
  const isInSight = (one: Drawn): boolean =>
    one.left >= 0 && one.top >= 60 && one.right <= x + width && one.foot <= bottom;
  const isOn = (one: Drawn, other: Drawn): boolean =>
    one.left < other.right && other.left < one.right && one.top < other.foot && other.top < one.foot;
  return nodes
    .filter((one) => !isInSight(one) || nodes.some((other) => other !== one && isOn(one, other)))
    .map(({ name }) => name ?? '');
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
  expect(await hiddenNodes()).toEqual([]);
  expect((await issues()).filter((issue) => !TO_CHOOSE.test(issue))).toEqual([]);
});
