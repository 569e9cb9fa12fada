import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { type INode, type INodeTypeDescription, NodeHelpers } from 'n8n-workflow';

import type { Workflow } from '../../runtime/workflow-migration/contract';
import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { connect, type N8n } from './support/host';
import { migrateInto, type MigrationWorld, observe, realFixture, startWorld } from './support/migration';
import { PICTURES } from './support/pictures';

const GOLDEN = path.resolve(__dirname, '../golden/migration');

/** Run before and after. */
const SAME = [
  'agent-1.7',
  'agent-2',
  'agent-3.1',
  'switch-1-expression',
  'five-branches',
  'own-tiers',
  'if-cascade',
  'nested-routers',
  'filter-chain',
  'two-clusters',
  'lone-agent',
  'model-selector',
  'other-branches',
  'compound-rules',
  'merge-behind',
  'openai-branches',
  'shared-memory',
  'separate-memories',
  'fallback-model',
  'tools-as-rows',
  'tools-connected',
  'tools-by-branch',
  'tools-that-stay',
  'error-outputs',
  'unicode-names',
  'named-in-expressions',
  'dropped-router',
  'dropped-partial-router',
  'each-agent',
];

let n8n: N8n;
let world: MigrationWorld;

beforeAll(async () => {
  // n8n closes a connection that was idle for five seconds; on a busy machine it takes longer to load this file.
  n8n = await connect().catch(connect);
  world = await startWorld(n8n);
});
afterAll(() => world.close());

/** What the editor would show a red mark for; credentials are not looked at, since those of the files exist nowhere. */
function issuesOf({ nodes }: Workflow, types: readonly INodeTypeDescription[]): readonly string[] {
  return nodes.flatMap((node) => {
    const type = types.find(({ name, version }) => name === node.type && [version].flat().includes(node.typeVersion));
    if (type === undefined) return [`${node.name}: no type ${node.type} ${node.typeVersion}`];
    const { parameters = {} } =
      NodeHelpers.getNodeParametersIssues(type.properties, node as unknown as INode, type) ?? {};
    const known = new Set(type.properties.map(({ name }) => name));
    return [
      ...Object.values(parameters)
        .flat()
        .map((issue) => `${node.name}: ${issue}`),
      ...Object.keys(node.parameters)
        .filter((name) => !known.has(name))
        .map((name) => `${node.name}: no parameter ${name}`),
    ];
  });
}

const goldens = readdirSync(GOLDEN).filter((file) => file.endsWith('.json'));

it.each(SAME)('behaves as before: %s', async (name) => {
  const fixture = realFixture(world, name);
  const before = await observe(world, fixture.workflow);
  expect(before.requests).not.toEqual([]);
  const { workflow, database } = await migrateInto(world, fixture);
  try {
    expect(await observe(world, workflow)).toEqual(before);
  } finally {
    await database.close();
  }
});

describe('in the editor', () => {
  let editor: Editor;
  beforeAll(async () => {
    mkdirSync(PICTURES, { recursive: true });
    editor = await openEditor({ host: n8n });
    await editor.login();
    await editor.page.evaluate(() => localStorage.setItem('N8N_THEME', 'light'));
  });
  afterAll(() => editor.close());

  it('imports every migrated workflow as it is, without a node that something is wrong with', async () => {
    const types = await editor.page.request.get(`${n8n.baseUrl}/types/nodes.json`);
    const known = (await types.json()) as readonly INodeTypeDescription[];
    for (const file of goldens) {
      const { workflow } = JSON.parse(readFileSync(path.join(GOLDEN, file), 'utf8')) as { workflow: Workflow };
      const { nodes, connections } = workflow;
      const { id } = await n8n.createWorkflow({ name: file, nodes, connections });
      const saved = (await n8n.rest('GET', `/workflows/${id}`)) as Workflow;
      expect({ file, connections: saved.connections }).toEqual({ file, connections });
      expect(saved.nodes.map(({ name }) => name)).toEqual(nodes.map(({ name }) => name));
      expect({ file, issues: issuesOf(workflow, known) }).toEqual({ file, issues: [] });
    }
    expect(goldens.length).toBeGreaterThan(35);
  });

  async function picture(workflow: Workflow, file: string): Promise<number> {
    const { nodes, connections, name = '' } = workflow;
    const { id } = await n8n.createWorkflow({ name, nodes, connections });
    await editor.openWorkflow(id);
    await editor.page.locator('[data-test-id="zoom-to-fit"]').click();
    const drawn = nodes.filter(({ type }) => type !== 'n8n-nodes-base.stickyNote').length;
    await editor.page
      .locator('[data-test-id="canvas-node"]')
      .nth(drawn - 1)
      .waitFor();
    await editor.screenshot(path.join(PICTURES, file));
    return editor.page.locator('[data-test-id="node-issues"]').count();
  }

  it('is one node where there were five branches, and neither has a red mark', async () => {
    const fixture = realFixture(world, 'five-branches');
    const { workflow, database } = await migrateInto(world, fixture);
    await database.close();
    expect(await picture(fixture.workflow, 'migration-before.png')).toBe(0);
    expect(await picture(workflow, 'migration-after.png')).toBe(0);
  });
});
