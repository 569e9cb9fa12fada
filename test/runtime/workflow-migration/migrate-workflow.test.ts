import type { Workflow } from '../../../runtime/workflow-migration/contract';
import { migrateWorkflow } from '../../../runtime/workflow-migration/migrate-workflow';
import { attach, chain, node, workflow } from '../../support/workflows/workflow-builder';
import { MIGRATION_OPTIONS, optionsOf, WORKFLOW_FIXTURES } from '../../support/workflows/workflow-fixtures';
import { findLosses } from '../../support/workflows/workflow-links';
import { agentNode, migrate, migrated, modelNode, newNodes, switched } from './a-cluster';

const lone = (more: Parameters<typeof modelNode>[1] = {}): Workflow =>
  workflow('Lone', {
    parts: [
      node('Start', 'base.manualTrigger@1'),
      agentNode('Helper'),
      modelNode('Model', more),
      node('End', 'base.noOp@1'),
    ],
    wires: [...chain('Start', 'Helper', 'End'), ...attach('Model', 'ai_languageModel', ['Helper'])],
  });

it('gives a lone agent a node of its own name', () => {
  const { workflow: after } = migrated(lone());
  expect(newNodes(after)).toMatchObject([{ name: 'Helper', credentials: { openRouterApi: { id: 'or' } } }]);
  expect(after.connections).toMatchObject({
    Start: { main: [[{ node: 'Helper' }]] },
    Helper: { main: [[{ node: 'End' }]] },
  });
  expect(after.connections.Model).toBeUndefined();
});

it('keeps a model connected that no tier could be', () => {
  const { workflow: after, sql, report } = migrated(lone({ type: '@n8n/n8n-nodes-langchain.lmChatAnthropic' }));
  expect(after.connections.Model?.ai_languageModel).toEqual([[{ node: 'Helper', type: 'ai_languageModel', index: 0 }]]);
  expect(report.clusters[0]?.connected).toEqual(['Model']);
  expect(sql).toBe('');
});

it('gives the same text for the same input, and finds nothing the second time', () => {
  const input = switched({ a: {}, b: {} });
  const first = migrated(input);
  expect(JSON.stringify(migrated(input))).toBe(JSON.stringify(first));
  expect(migrate(first.workflow).kind).toBe('unchanged');
});

it('leaves its input as it is', () => {
  const input = switched({ a: {}, b: {} });
  const before = JSON.stringify(input);
  migrated(input);
  expect(JSON.stringify(input)).toBe(before);
});

it('tells why an agent is left', () => {
  const { kind, report } = migrate(lone({ disabled: true }));
  expect(kind).toBe('unchanged');
  expect(report.left).toMatchObject([{ node: 'Helper', reason: 'no-model' }]);
});

describe('names that are attacks', () => {
  const NAMES = [
    "x'; DROP TABLE elo_agent_tiers; --",
    'x\n\\! rm -rf /\n',
    "x }}' + $env.SECRET + '{{",
    '</script><img src=x onerror=1> [a](javascript:b)',
    'x`${process.exit()}`',
    '__proto__',
  ];

  it.each(NAMES)('%j', (name) => {
    const input = {
      ...switched({ a: { agent: { name } }, b: { model: { parameters: { model: name, options: {} } } } }),
      name,
    };
    const { sql, workflow: after, report } = migrated(input);
    const code = sql.split('\n').filter((line) => !line.startsWith('--'));
    const bare = code.join('\n').replace(/E?'(?:[^'\\]|''|\\\\)*'/g, 'TEXT');
    expect(bare).not.toMatch(/DROP|rm -rf|\\|'/);
    expect(newNodes(after)[0]?.parameters.tier).toMatch(
      /^=\{\{ \$json\.tier === 'a' \? '[a-z0-9_]+' : '[a-z0-9_]+' \}\}$/,
    );
    expect(findLosses(input, after, report)).toEqual([]);
  });
});

it.each(Object.entries(WORKFLOW_FIXTURES))('loses nothing of %s, whatever is allowed', (_name, fixture) => {
  const allow = ['agent-kind', 'merged-runs', 'dropped-options', 'expressions', 'memory-keys'] as const;
  for (const options of [MIGRATION_OPTIONS, optionsOf(fixture), { ...MIGRATION_OPTIONS, allow }]) {
    for (const tools of ['database', 'connected'] as const) {
      const result = migrateWorkflow(fixture.workflow, { ...options, tools });
      if (result.kind === 'unchanged') continue;
      expect(findLosses(fixture.workflow, result.workflow, result.report)).toEqual([]);
    }
  }
});
