import type { MigrationOptions, Workflow } from '../../../runtime/workflow-migration/contract';
import { renderMarkdown, renderText } from '../../../runtime/workflow-migration/rewrite/render-report';
import { attach, chain, main, node, type Part, type Wire, workflow } from '../../support/workflows/workflow-builder';
import { httpTool, prompts } from '../../support/workflows/workflow-parts';
import { agentNode, type BranchParts, migrate, migrated, model, modelNode, newNode, switched } from './a-cluster';

const NEAR: Readonly<Record<string, BranchParts>> = {
  a: model('qwen/qwen3-8b', { temperature: 0.1, maxTokens: 800 }),
  b: model('openai/gpt-4o-mini', { temperature: 0.5 }),
};
const notesOf = (input: Workflow, options: Partial<MigrationOptions> = {}): readonly string[] =>
  migrate(input, options).report.notes.map(({ node: name, text }) => `${name}: ${text}`);
const tiersOf = (input: Workflow, options: Partial<MigrationOptions> = {}): readonly string[] =>
  migrated(input, options).report.clusters.flatMap(({ tiers }) => tiers.map(({ code }) => code));

describe('tiers', () => {
  const codes = tiersOf(switched(NEAR));
  const map = (...entries: [string, string][]): Partial<MigrationOptions> => ({ tierMap: new Map(entries) });

  it('of the model of one that is there are proposed for it', () => {
    const [a = '', b = ''] = codes;
    expect(notesOf(switched(NEAR))).toEqual(
      expect.arrayContaining([
        `Agent a: Its model is that of the tier small, and it differs only in temperature: --tier-map ${a}=small would change 0.10 to 0.20.`,
        `Agent b: Its model is that of the tier pro, and it differs only in maximum of tokens: --tier-map ${b}=pro would change none to 2000.`,
      ]),
    );
  });

  it('have the name that is asked for: by the code, else by the agent, else by the model', () => {
    const [a = '', b = ''] = codes;
    const all = map(['qwen/qwen3-8b', 'one'], ['Agent a', 'two'], [a, 'small']);
    expect(tiersOf(switched(NEAR), all)).toEqual(['small', b]);
    expect(tiersOf(switched(NEAR), map(['qwen/qwen3-8b', 'one'], ['Agent a', 'two']))).toEqual(['two', b]);
    expect(tiersOf(switched(NEAR), map(['qwen/qwen3-8b', 'one']))).toEqual(['one', b]);
  });

  it('that are mapped have no row, and are required', () => {
    const { sql } = migrated(switched(NEAR), map(['Agent a', 'small'], ['Agent b', 'pro']));
    expect(sql).not.toContain('INSERT INTO elo_agent_tiers');
    expect(sql.match(/there is no tier \w+/g)).toEqual(['there is no tier small', 'there is no tier pro']);
  });

  it('that are mapped say what changes', () => {
    const notes = notesOf(switched(NEAR), map(['Agent a', 'pro'], ['Agent b', 'house']));
    expect(notes).toEqual(
      expect.arrayContaining([
        'Agent a: Its tier pro changes the model from qwen/qwen3-8b to openai/gpt-4o-mini and the temperature from 0.10 to 0.50 and the maximum of tokens from 800 to 2000, as --tier-map asks.',
        'Agent b: Its model and settings are those of the tier house in the database, as --tier-map asks.',
      ]),
    );
  });

  it('are those of the database, where they are known', () => {
    const tiers = [{ code: 'cheap', name: 'Cheap', modelId: 'qwen/qwen3-8b', temperature: 0.1, maxTokens: 800 }];
    const [a = '', b = ''] = tiersOf(switched(NEAR), { tiers });
    expect([a, b]).toEqual(['cheap', codes[1]]);
    const ofRunBefore = [{ ...tiers[0], code: codes[0] ?? '', name: 'Shop: Agent a', modelId: 'qwen/qwen3-8b' }];
    expect(migrated(switched(NEAR), { tiers: ofRunBefore }).sql).toBe(migrated(switched(NEAR)).sql);
  });
});

describe('copies of a tool', () => {
  const withTools = (tools: Readonly<Record<string, readonly Part[]>>, prompt = 'Be kind.'): Workflow => {
    const agent = (name: string): { agent: Partial<Part> } => ({
      agent: { name, parameters: prompts('={{ $json.message }}', prompt) },
    });
    const branches = { a: { ...model('x/y'), ...agent('Agent a') }, b: { ...model('x/z'), ...agent('Agent b') } };
    const all = Object.entries(tools);
    return switched(branches, {
      parts: all.flatMap(([, parts]) => parts),
      wires: all.flatMap(([owner, parts]) => parts.flatMap(({ name }) => attach(name, 'ai_tool', [owner]))),
    });
  };
  const codesOf = (input: Workflow): readonly string[] => [
    ...new Set(migrated(input).report.clusters.flatMap(({ tools }) => tools.map(({ code }) => code))),
  ];

  it.each([
    ['Find Orders', 'Find Orders1', 'Find_Orders'],
    ['find_orders_small', 'find_orders_pro', 'find_orders'],
    ['small find orders', 'pro find orders', 'find_orders'],
    ['search', 'serve', 'search'],
  ])('become one row for all their tiers: %s and %s', (one, other, code) => {
    const input = withTools({ 'Agent a': [httpTool(one)], 'Agent b': [httpTool(other)] });
    expect(codesOf(input)).toEqual([code]);
    expect(newNode(input).parameters.options).toMatchObject({ tools: [code] });
    expect(migrated(input).sql.match(/INSERT INTO elo_agent_tools/g)).toHaveLength(1);
  });

  it('stay apart where anything of them differs', () => {
    const input = withTools({ 'Agent a': [httpTool('find_a')], 'Agent b': [httpTool('find_b', 'Finds more')] });
    expect(codesOf(input)).toEqual(['find_a', 'find_b']);
  });

  it('stay apart where one branch has two of them', () => {
    const input = withTools({ 'Agent a': [httpTool('find_a'), httpTool('find_b')], 'Agent b': [httpTool('find_c')] });
    expect(codesOf(input)).toEqual(['find_a', 'find_b', 'find_c']);
  });

  it('stay apart where a prompt calls one by its name', () => {
    const tools = { 'Agent a': [httpTool('find_a')], 'Agent b': [httpTool('find_b')] };
    expect(codesOf(withTools(tools, 'First:\nfind_b, then answer.'))).toEqual(['find_a', 'find_b']);
    expect(codesOf(withTools(tools, 'Never say find_bad.'))).toEqual(['find']);
  });
});

describe('a router', () => {
  const drop: Partial<MigrationOptions> = { dropRouter: true };
  const branches = { a: model('x/y'), b: model('x/z') };
  const change = (input: Workflow, name: string, more: Partial<Part>): Workflow => ({
    ...input,
    nodes: input.nodes.map((one) => (one.name === name ? { ...one, ...more } : one)),
  });
  const total = (more: { parts?: readonly Part[]; wires?: readonly Wire[]; answer?: Part } = {}): Workflow => {
    const input = switched(branches, {
      ...more,
      wires: [...(more.wires ?? []), ...main('Router', [], [], ['Agent b'])],
    });
    const router = input.nodes.find(({ name }) => name === 'Router');
    return change(input, 'Router', { parameters: { ...router?.parameters, options: { fallbackOutput: 'extra' } } });
  };
  const isThere = (input: Workflow, options: Partial<MigrationOptions> = drop): boolean =>
    migrated(input, options).workflow.nodes.some(({ name }) => name === 'Router');

  it('goes where every item takes one of the branches', () => {
    expect(isThere(total(), {})).toBe(true);
    expect(isThere(total())).toBe(false);
    expect(migrated(total(), drop).workflow.connections.Start?.main).toEqual([
      [{ node: 'Universal AI Agent', type: 'main', index: 0 }],
    ]);
    expect(renderText({ file: 'x.json', report: migrated(total(), drop).report })).toContain(
      'In place of the router: Router',
    );
  });

  it('that lets items end stays, unless that is allowed', () => {
    expect(isThere(switched(branches))).toBe(true);
    expect(notesOf(switched(branches), drop)).toContain(
      'Router: Add --allow unmatched-items to drop it too. Until then it stays. It drops items that match no rule or whose output is not linked; without it, Agent b would answer them. To keep them out of that branch, link every output to an agent, and one for all other items.',
    );
    expect(isThere(switched(branches), { ...drop, allow: ['unmatched-items'] })).toBe(false);
  });

  it.each([
    ['leads elsewhere', total({ parts: [node('Log', 'base.noOp@1')], wires: main('Router', ['Log']) }), 'it leads to'],
    [
      'is read',
      total({ answer: node('Answer', 'base.set@3.4', { v: "={{ $('Router').item.json.x }}" }) }),
      'Answer reads',
    ],
    ['takes one item', change(total(), 'Router', { executeOnce: true }), 'Execute Once'],
    ['is led back to', total({ wires: chain('Agent a', 'Router').concat(chain('Agent b', 'Router')) }), 'lead back'],
    [
      'is told from other nodes',
      change(total(), 'Agent a', { parameters: prompts('={{ $prevNode.name }}') }),
      'which node their items came from',
    ],
  ])('stays where it %s', (_where, input, why) => {
    expect(isThere(input)).toBe(true);
    expect(notesOf(input, drop)).toContainEqual(expect.stringMatching(new RegExp(`^Router: It stays: .*${why}`)));
  });

  it('names everything that has to be allowed at once', () => {
    const counting = node('Answer', 'base.aggregate@1');
    const needsOf = (input: Workflow): unknown =>
      migrated(input, drop).report.notes.flatMap(({ needs, text }) => (needs === undefined ? [] : [{ needs, text }]));
    expect(needsOf(total({ answer: counting }))).toEqual([
      { needs: ['merged-runs'], text: expect.stringMatching(/^Add --allow merged-runs to drop it too\. /) as string },
    ]);
    const partial = switched(branches, { answer: counting });
    const needs = ['merged-runs', 'unmatched-items'] as const;
    expect(needsOf(partial)).toEqual([
      { needs, text: expect.stringMatching(/^Add --allow merged-runs,unmatched-items to drop it too\. /) as string },
    ]);
    expect(isThere(partial)).toBe(true);
    expect(isThere(partial, { ...drop, allow: needs })).toBe(false);
  });
});

describe('what n8n 3 changes', () => {
  const V3: Partial<MigrationOptions> = { v3: true };
  const inRow = (...agents: readonly Part[]): Workflow =>
    workflow('Row', {
      parts: [node('Start', 'base.manualTrigger@1'), ...agents, modelNode('Model')],
      wires: [
        ...chain('Start', ...agents.map(({ name }) => name)),
        ...attach(
          'Model',
          'ai_languageModel',
          agents.map(({ name }) => name),
        ),
      ],
    });
  const old = (typeVersion: number, mode?: string, more: Partial<Part> = {}): Part => ({
    ...agentNode('Old'),
    typeVersion,
    parameters: { ...prompts('={{ $json.message }}'), ...(mode === undefined ? {} : { agent: mode }) },
    ...more,
  });

  it.each([
    { version: 1.6, mode: undefined, rule: 'agent-node-version-v3', outcome: 'migrated' },
    { version: 1.5, mode: undefined, rule: 'agent-removed-modes-v3', outcome: 'migrated' },
    { version: 1, mode: 'toolsAgent', rule: 'agent-node-version-v3', outcome: 'migrated' },
    { version: 1.7, mode: 'conversationalAgent', rule: 'agent-removed-modes-v3', outcome: 'migrated' },
    { version: 1.7, mode: 'openAiFunctionsAgent', rule: 'agent-removed-modes-v3', outcome: 'migrated' },
    { version: 1.7, mode: 'planAndExecuteAgent', rule: 'agent-removed-modes-v3', outcome: 'migrated' },
    { version: 1.7, mode: 'reActAgent', rule: 'agent-removed-modes-v3', outcome: 'migrated' },
    { version: 1.7, mode: 'sqlAgent', rule: 'agent-removed-modes-v3', outcome: 'left' },
  ])('is flagged: $version $mode is $outcome', ({ version, mode, rule, outcome }) => {
    const { report } = migrate(inRow(old(version, mode)), V3);
    expect(report.v3).toMatchObject([{ node: 'Old', rule, outcome }]);
    expect(report.left.map(({ node: name }) => name)).toEqual(outcome === 'left' ? ['Old'] : []);
  });

  it('names disabled nodes too, and leaves what goes on', () => {
    const { report } = migrate(inRow(old(1.7, undefined, { disabled: true }), agentNode('New')), V3);
    expect(report.v3).toMatchObject([{ node: 'Old', outcome: 'left' }]);
    expect(report.left).toMatchObject([
      { node: 'Old', reason: 'disabled' },
      { node: 'New', reason: 'runs-in-v3' },
    ]);
  });

  it('is said to people, and only when it was asked for', () => {
    const input = inRow(old(1.7, 'sqlAgent'));
    const line =
      'It uses the mode SQL Agent of AI Agent version 1.7, which fails in n8n 3. Here it is left (sql-agent).';
    const { report } = migrate(input, V3);
    expect(renderText({ file: 'x.json', report })).toContain(`Old (agent-removed-modes-v3): ${line}`);
    expect(renderMarkdown([{ file: 'x.json', report }])).toContain('### What n8n 3 changes');
    expect(migrate(input).report).not.toHaveProperty('v3');
    expect(migrate(inRow(old(1.7, 'reActAgent'))).report.left).toMatchObject([{ allowance: 'agent-kind' }]);
  });
});
