import { createRequire } from 'node:module';
import { join } from 'node:path';

import type { WorkflowNode } from '../../runtime/workflow-migration/contract';
import { v3Flag } from '../../runtime/workflow-migration/v3-rules';
import { agent } from '../support/workflows/workflow-parts';

interface RulesOfN8n {
  readonly getAgentNodesBelowFirstSupportedVersion: (
    nodes: ReadonlyMap<string, readonly object[]>,
  ) => readonly object[];
  readonly getRemovedAgentMode: (node: object) => string | undefined;
}

const RULES = './node_modules/n8n/dist/modules/breaking-changes/rules/v3/agent-node-mode.js';
const ofN8n = createRequire(join(__dirname, '../e2e/package.json'))(RULES) as RulesOfN8n;

const VERSIONS = ['1', '1.1', '1.2', '1.3', '1.4', '1.5', '1.6', '1.7', '1.8', '1.9', '2', '2.2', '3', '3.1'];
const MODES = [
  undefined,
  '',
  'toolsAgent',
  'conversationalAgent',
  'openAiFunctionsAgent',
  'planAndExecuteAgent',
  'reActAgent',
  'sqlAgent',
  'constructor',
];
const cases = VERSIONS.flatMap((version) => MODES.map((mode) => ({ version, mode })));

/** The rule of n8n that names the node; undefined where none does. */
function ruleOfN8n(node: object, type: string): string | undefined {
  if (ofN8n.getAgentNodesBelowFirstSupportedVersion(new Map([[type, [node]]])).length === 0) return undefined;
  return typeof ofN8n.getRemovedAgentMode(node) === 'string' ? 'agent-removed-modes-v3' : 'agent-node-version-v3';
}

it.each(cases)('an agent $version in the mode $mode is named by the rule that names it in n8n', ({ version, mode }) => {
  const part = agent('Agent', version, mode === undefined ? {} : { agent: mode });
  const node: WorkflowNode = { ...part, position: [0, 0] };
  expect(v3Flag(node)?.rule).toBe(ruleOfN8n(node, node.type));
});
