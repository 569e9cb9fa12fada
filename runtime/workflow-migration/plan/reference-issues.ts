import type { PlanContext } from '../context';
import type { Cluster, Workflow, WorkflowNode } from '../contract';
import { codeTexts } from '../expressions/code-texts';
import { findReferences, type FoundReference, type NodeReference } from '../expressions/references';
import type { Graph } from '../graph';
import { agentNames, type Issue } from '../issue';
import { showName } from '../show-name';
import { subNodesOf } from '../sub-nodes';

/** All references of a workflow, by the name of the node that they read; sought once for all clusters. */
export function collectReferences({ nodes }: Workflow): ReadonlyMap<string, readonly FoundReference[]> {
  const found = new Map<string, FoundReference[]>();
  for (const node of nodes) {
    for (const text of codeTexts(node.parameters)) {
      for (const reference of findReferences(text)) {
        const known = found.get(reference.name) ?? [];
        found.set(reference.name, known);
        known.push({ ...reference, from: node.name });
      }
    }
  }
  return found;
}

/** What other nodes read of the agents and of what goes with them, and the new node does not give. */
export function referenceIssues(
  cluster: Cluster,
  connected: ReadonlySet<string>,
  { graph, kinds, references }: PlanContext,
): readonly Issue[] {
  const agents = agentNames(cluster);
  const isLone = agents.length === 1;
  const issues = [
    ...agents.flatMap((name) =>
      (references.get(name) ?? []).flatMap((reference) => {
        const what = whatIsOther(reference, isLone);
        return what === undefined ? [] : [issueOf(reference.from, name, what)];
      }),
    ),
    ...[
      ...subNodesOf(
        cluster.branches.map(({ agent }) => agent),
        graph,
        kinds,
      ),
    ]
      .filter((name) => !connected.has(name))
      .flatMap((name) => (references.get(name) ?? []).map(({ from }) => issueOf(from, name, 'the node itself'))),
    ...fieldIssues(cluster, graph),
  ];
  return [...new Map(issues.map((issue) => [issue.text, issue])).values()];
}

function issueOf(from: string, name: string, what: string): Issue {
  const text = `The node ${showName(from)} reads ${what} of ${showName(name)}, which is another thing or nothing of the new node.`;
  return { node: from, reason: 'expressions', text, allowance: 'expressions' };
}

const STEPS = 'intermediateSteps';
const READS_STEPS = /\$json\s*(?:\??\.\s*|\[\s*["'])intermediateSteps\b/;
const OTHER_FIELD = /\.json\s*(?:\?\.|\.)?\s*(?:\[\s*\\*["'`])?\s*(?<field>[\p{L}_$][\p{L}\p{N}_$]*)?/u;
const SEVERAL = /^\s*\??\.\s*(?:first|last|all|itemMatching)\b|^\s*\[/;
/** These are the same of a node that stands for one agent. */
const OF_RUNS: ReadonlySet<string> = new Set(['isExecuted', 'runIndex']);
const ABOUT_NODE = /^\s*\??\.\s*(?<what>isExecuted|params|parameter|context|runIndex|binary)\b/;

/** What is read that is not the answer; of several agents also what depends on which of them ran. */
function whatIsOther(reference: NodeReference, isLone: boolean): string | undefined {
  const { reads, style } = reference;
  const about = ABOUT_NODE.exec(reads)?.groups?.what;
  if (about !== undefined) return isLone && OF_RUNS.has(about) ? undefined : about;
  if (!isLone && (style === 'items' || SEVERAL.test(reads))) return 'all items';
  return otherField(reads);
}

function otherField(reads: string): string | undefined {
  const [inside = ''] = reads.split('}}');
  const field = OTHER_FIELD.exec(inside)?.groups?.field;
  return field === STEPS ? `the field ${field}` : undefined;
}

/** What agents give beside `output` and `error`. Read by the nodes right behind them. */
function fieldIssues({ branches }: Cluster, graph: Graph): readonly Issue[] {
  const next = new Map(
    branches.flatMap(({ agent }) => graph.outOf(agent, 'main').map(({ to }): [string, WorkflowNode] => [to.name, to])),
  );
  const first = branches[0]?.agent.name ?? '';
  return [...next.values()].flatMap((node) =>
    [...codeTexts(node.parameters)].some((text) => READS_STEPS.test(text))
      ? [issueOf(node.name, first, `the field ${STEPS}`)]
      : [],
  );
}
