import type { JsonObject } from '../../../runtime/util/json';
import type { Migration, MigrationOptions, Workflow, WorkflowNode } from '../../../runtime/workflow-migration/contract';
import { migrateWorkflow } from '../../../runtime/workflow-migration/migrate-workflow';
import { attach, chain, main, node, type Part, workflow } from '../../support/workflows/workflow-builder';

export const OPTIONS: MigrationOptions = {
  tools: 'database',
  tenant: '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f',
  postgres: { id: 'pg', name: 'Postgres' },
  allow: [],
};

const rule = (value: string): JsonObject => ({
  conditions: {
    options: { caseSensitive: true, leftValue: '', typeValidation: 'strict', version: 2 },
    conditions: [
      {
        id: value,
        leftValue: '={{ $json.tier }}',
        rightValue: value,
        operator: { type: 'string', operation: 'equals' },
      },
    ],
    combinator: 'and',
  },
});

export interface BranchParts {
  readonly agent?: Partial<Part>;
  readonly model?: Partial<Part>;
}

export const agentNode = (name: string, more: Partial<Part> = {}): Part => ({
  ...node(name, 'ai.agent@3.1', { promptType: 'define', text: '={{ $json.message }}', options: {} }),
  ...more,
});

export const modelNode = (name: string, more: Partial<Part> = {}): Part => ({
  ...node(name, 'ai.lmChatOpenRouter@1', { model: 'qwen/qwen3-8b', options: {} }),
  credentials: { openRouterApi: { id: 'or', name: 'OpenRouter' } },
  ...more,
});

/** Start, a Switch by `$json.tier`, an agent with a model for each branch, Answer. */
export function switched(
  branches: Readonly<Record<string, BranchParts>>,
  more: { readonly parts?: readonly Part[]; readonly wires?: ReturnType<typeof chain>; readonly answer?: Part } = {},
): Workflow {
  const tiers = Object.keys(branches);
  const agents = tiers.map((tier) => branches[tier]?.agent?.name ?? `Agent ${tier}`);
  const parts = tiers.flatMap((tier, index) => [
    agentNode(agents[index] ?? '', branches[tier]?.agent),
    modelNode(`Model ${tier}`, branches[tier]?.model),
  ]);
  const answer = more.answer ?? node('Answer', 'base.set@3.4', { value: '={{ $json.output }}' });
  return workflow('Shop', {
    parts: [
      node('Start', 'base.manualTrigger@1'),
      node('Router', 'base.switch@3.4', { rules: { values: tiers.map(rule) }, options: {} }),
      ...parts,
      answer,
      ...(more.parts ?? []),
    ],
    wires: [
      ...chain('Start', 'Router'),
      ...main('Router', ...agents.map((name) => [name])),
      ...agents.flatMap((name, index) => attach(`Model ${tiers[index] ?? ''}`, 'ai_languageModel', [name])),
      ...agents.flatMap((name) => chain(name, answer.name)),
      ...(more.wires ?? []),
    ],
  });
}

export function migrate(input: Workflow, options: Partial<MigrationOptions> = {}): Migration {
  return migrateWorkflow(input, { ...OPTIONS, ...options });
}

export function migrated(
  input: Workflow,
  options: Partial<MigrationOptions> = {},
): Extract<Migration, { kind: 'migrated' }> {
  const result = migrate(input, options);
  if (result.kind !== 'migrated') throw new Error(`left: ${JSON.stringify(result.report.left)}`);
  return result;
}

/** The reasons of the agents that were left, each once. */
export function reasons(input: Workflow, options: Partial<MigrationOptions> = {}): readonly string[] {
  return [
    ...new Set(migrate(input, options).report.left.map(({ reason, allowance = '' }) => `${reason}:${allowance}`)),
  ];
}

export function newNodes({ nodes }: Workflow): readonly WorkflowNode[] {
  return nodes.filter(({ type }) => type.endsWith('universalAiAgent'));
}

/** The one new node of a workflow. */
export function newNode(input: Workflow, options: Partial<MigrationOptions> = {}): WorkflowNode {
  const [first, ...others] = newNodes(migrated(input, options).workflow);
  if (first === undefined || others.length > 0) throw new Error('not one new node');
  return first;
}

/** A branch on this model. */
export const model = (modelId: string, options: JsonObject = {}): { model: Partial<Part> } => ({
  model: { parameters: { model: modelId, options } },
});
