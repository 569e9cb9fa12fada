import type { MigrationOptions, Workflow } from '../../../runtime/workflow-migration/contract';
import { renderMarkdown, renderText } from '../../../runtime/workflow-migration/rewrite/render-report';
import { attach, node, type Part, type Wire } from '../../support/workflows/workflow-builder';
import { findLosses } from '../../support/workflows/workflow-links';
import { bufferMemory, conditions, httpTool, prompts, tierIs } from '../../support/workflows/workflow-parts';
import { migrate, migrated, model, modelNode, newNodes, reasons, switched } from './a-cluster';

const EACH: Partial<MigrationOptions> = { each: true };
const SQL: Partial<Part> = { typeVersion: 1.6, parameters: { agent: 'sqlAgent' } };
const WORKFLOW_TOOL = node('Look up', 'ai.toolWorkflow@2.2', { workflowId: 'w' });

interface More {
  readonly parts?: readonly Part[];
  readonly wires?: readonly Wire[];
}

/** Three branches that cannot become one node: only the first has the memory. The third may be another agent. */
function differing(last: Partial<Part> = {}, { parts = [], wires = [] }: More = {}): Workflow {
  return switched(
    { a: model('x/y'), b: model('x/z'), c: { ...model('x/q'), agent: last } },
    {
      parts: [bufferMemory('Memory', '1.3'), ...parts],
      wires: [...attach('Memory', 'ai_memory', ['Agent a']), ...wires],
    },
  );
}

/** The same with a second router, behind which are two agents. */
function twoRouters(input: Workflow, agent: Partial<Part>, { parts = [], wires = [] }: More = {}): Workflow {
  const branches = { d: { ...model('x/d'), agent }, e: { ...model('x/e'), agent } };
  const other = switched(branches, { parts, wires: [...wires] });
  const renamed = JSON.parse(
    JSON.stringify(other).replaceAll('"Router"', '"Router 2"').replaceAll('"id":"0000', '"id":"1111'),
  ) as Workflow;
  const added = renamed.nodes.filter(({ name }) => !['Start', 'Answer'].includes(name));
  const { Start: _start, ...connections } = renamed.connections;
  const start = { main: [['Router', 'Router 2'].map((to) => ({ node: to, type: 'main', index: 0 }))] };
  return {
    ...input,
    nodes: [...input.nodes, ...added],
    connections: { ...input.connections, ...connections, Start: start },
  };
}

const namesOf = (input: Workflow, options = EACH): readonly string[] =>
  newNodes(migrated(input, options).workflow).map(({ name }) => name);

/** The migrated workflow; nothing of the input is lost, and a second run changes nothing. */
function sound(input: Workflow, options: Partial<MigrationOptions> = EACH): Workflow {
  const { workflow, report } = migrated(input, options);
  expect(findLosses(input, workflow, report)).toEqual([]);
  expect(migrate(workflow, options).kind).toBe('unchanged');
  return workflow;
}

describe('without each, agents that differ', () => {
  it('stay, and the report offers it for those that could be migrated alone', () => {
    const { kind, report } = migrate(differing(SQL));
    expect(kind).toBe('unchanged');
    expect(new Set(report.left.map(({ node: name }) => name))).toEqual(new Set(['Agent a', 'Agent b', 'Agent c']));
    const offer = '--each migrates 2 of its 3 agents one by one.';
    expect(report.notes).toEqual([{ node: 'Router', text: offer }]);
    expect(renderText({ file: 'x.json', report })).toContain(`To know or to do:\n    Router: ${offer}\n`);
    expect(renderMarkdown([{ file: 'x.json', report }])).toContain(`- Router: ${offer}`);
  });

  it('are offered beside what is migrated, and not where none could be migrated alone', () => {
    const others = twoRouters(differing(), {});
    expect(migrated(others).report.notes.map(({ text }) => text)).toContain(
      '--each migrates 3 of its 3 agents one by one.',
    );
    const none = twoRouters(differing(), SQL);
    expect(migrate(none).report.notes.map(({ node: name }) => name)).toEqual(['Router']);
  });
});

describe('with each, agents that differ', () => {
  it('become nodes of their own names and places behind the same router', () => {
    const input = differing();
    const after = sound(input);
    const nodes = newNodes(after);
    expect(nodes.map(({ name }) => name)).toEqual(['Agent a', 'Agent b', 'Agent c']);
    expect(nodes.map(({ position }) => position)).toEqual(
      nodes.map(({ name }) => input.nodes.find((one) => one.name === name)?.position),
    );
    expect(after.connections.Router).toEqual(input.connections.Router);
    expect(after.nodes).toContainEqual(input.nodes.find(({ name }) => name === 'Router'));
    const ids = after.nodes.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(migrated(input, EACH).report).toMatchObject({
      left: [],
      clusters: ['a', 'b', 'c'].map((name) => ({ node: `Agent ${name}`, agents: [`Agent ${name}`] })),
    });
    expect(migrated(input, EACH).report.notes.filter(({ text }) => text.includes('--each'))).toEqual([]);
  });

  it('have a note each, and none covers another', () => {
    const notes = sound(differing()).nodes.filter(({ type }) => type.endsWith('stickyNote'));
    const boxes = notes.map(({ position: [x, y], parameters: { height } }) => ({ x, top: y, end: y + Number(height) }));
    expect(notes.map(({ name }) => name)).toEqual(['a', 'b', 'c'].map((name) => `Migration of Agent ${name}`));
    for (const [index, one] of boxes.entries()) {
      for (const other of boxes.slice(index + 1)) {
        expect(one.x !== other.x || one.end <= other.top || other.end <= one.top).toBe(true);
      }
    }
  });

  it('stay where they could not be migrated alone either, for their own reason', () => {
    const input = differing(SQL);
    expect(namesOf(input)).toEqual(['Agent a', 'Agent b']);
    expect(migrated(input, EACH).report.left).toMatchObject([{ node: 'Agent c', reason: 'sql-agent' }]);
    expect(sound(input).nodes.filter(({ type }) => type.endsWith('.agent'))).toMatchObject([{ name: 'Agent c' }]);
    expect(reasons(twoRouters(input, SQL), EACH)).toEqual(['sql-agent:']);
  });

  it('read one another as before', () => {
    const last = { parameters: prompts("={{ $('Agent a').item.json.output }}") };
    const text = "={{ $('Agent a').item.json.output }}";
    expect(newNodes(sound(differing(last)))[2]?.parameters.message).toBe(text);
  });

  it('have the tiers that the database has for them', () => {
    const tierMap = new Map([
      ['Agent a', 'house'],
      ['x/z', 'small'],
    ]);
    const { report, workflow, sql } = migrated(differing(), { ...EACH, tierMap });
    expect(newNodes(workflow).map(({ parameters }) => parameters.tier)).toEqual([
      'house',
      'small',
      report.clusters[2]?.tiers[0]?.code,
    ]);
    expect(sql.match(/INSERT INTO elo_agent_tiers/g)).toHaveLength(1);
  });

  it('keep their router, also where routers are dropped', () => {
    const options: Partial<MigrationOptions> = { ...EACH, dropRouter: true, allow: ['unmatched-items'] };
    const after = sound(twoRouters(differing(), {}), options);
    expect(after.nodes.map(({ name }) => name)).toContain('Router');
    expect(after.nodes.map(({ name }) => name)).not.toContain('Router 2');
    expect(newNodes(after)).toHaveLength(4);
  });

  it('are migrated before n8n 3 where n8n 3 no longer runs them', () => {
    const old = { typeVersion: 1.7, parameters: prompts('={{ $json.message }}') };
    expect(namesOf(differing(old), { ...EACH, v3: true })).toEqual(['Agent c']);
    expect(reasons(differing(old), { ...EACH, v3: true })).toEqual(['runs-in-v3:']);
  });
});

it('with each, agents that can become one node become the same node as without it', () => {
  const tool = (name: string, owner: string): More => ({
    parts: [httpTool(name)],
    wires: attach(name, 'ai_tool', [owner]),
  });
  const input = twoRouters(differing({}, tool('find orders', 'Agent a')), {}, tool('find_orders', 'Agent d'));
  const [whole] = migrated(input).report.clusters;
  const { report, workflow } = migrated(input, EACH);
  expect(whole).toMatchObject({ agents: ['Agent d', 'Agent e'], tools: [{ node: 'find_orders' }] });
  expect(report.clusters).toHaveLength(4);
  expect(report.clusters).toContainEqual(whole);
  expect(newNodes(workflow).map(({ name }) => name)).toContain('Universal AI Agent');
});

describe('with each, what is wired to several agents', () => {
  it('stays wired to those that are migrated and to those that stay', () => {
    const agents = ['Agent a', 'Agent b', 'Agent c'];
    const shared = { parts: [WORKFLOW_TOOL], wires: attach('Look up', 'ai_tool', agents) };
    const input = differing(SQL, {
      ...shared,
      wires: [...shared.wires, ...attach('Memory', 'ai_memory', ['Agent c'])],
    });
    const after = sound(input);
    expect(after.connections['Look up']).toEqual(input.connections['Look up']);
    expect(after.connections.Memory).toEqual(input.connections.Memory);
  });

  it('stays for those that stay where a tier stands for it', () => {
    const bare = withoutModels(differing(SQL), 'Model c');
    const links = ['Agent b', 'Agent c'].map((to) => ({ node: to, type: 'ai_languageModel', index: 0 }));
    const connections = { ...bare.connections, 'Model b': { ai_languageModel: [links] } };
    const input: Workflow = { ...bare, connections };
    expect(sound(input).connections['Model b']).toEqual({ ai_languageModel: [links.slice(1)] });
    expect(migrated(input, EACH).report.clusters[1]).toMatchObject({ node: 'Agent b', unwired: ['Model b'] });
  });

  it('is gone once all of them have tiers', () => {
    expect(sound(differing()).nodes.filter(({ name }) => name.startsWith('Model'))).toEqual([]);
  });

  it('stays connected where it is a Model Selector that cannot become tiers', () => {
    const rule = ['x', 'y'].map((tier, index) => ({ modelIndex: index + 1, conditions: conditions([tierIs(tier)]) }));
    const all = switched(
      { a: {}, b: {}, c: {} },
      {
        parts: [
          bufferMemory('Memory', '1.3'),
          node('Selector', 'ai.modelSelector@1', { rules: { rule } }),
          modelNode('One'),
          node('Two', 'ai.lmChatAnthropic@1.3'),
        ],
        wires: [
          ...attach('Memory', 'ai_memory', ['Agent c']),
          ...attach('Selector', 'ai_languageModel', ['Agent a', 'Agent b']),
          ...attach('One', 'ai_languageModel', ['Selector']),
          ...attach('Two', 'ai_languageModel:1', ['Selector']),
        ],
      },
    );
    const input = withoutModels(all, 'Model a', 'Model b');
    const after = sound(input);
    expect(newNodes(after).map(({ name }) => name)).toEqual(['Agent a', 'Agent b', 'Agent c']);
    expect(after.connections.Selector).toEqual(input.connections.Selector);
  });
});

function withoutModels(input: Workflow, ...models: readonly string[]): Workflow {
  const kept = Object.entries(input.connections).filter(([name]) => !models.includes(name));
  const nodes = input.nodes.filter(({ name }) => !models.includes(name));
  return { ...input, nodes, connections: Object.fromEntries(kept) };
}
