import type { Workflow, WorkflowNode } from './contract';
import type { Graph } from './graph';

/** The kinds of links that a workflow has from sub-nodes, such as `ai_tool`. */
export function subNodeKinds({ connections }: Workflow): readonly string[] {
  const kinds = Object.values(connections).flatMap((byType) => Object.keys(byType));
  return [...new Set(kinds)].filter((kind) => kind.startsWith('ai_'));
}

/** Nodes that are wired to these as sub-nodes, and those that are wired to them in turn. */
export function subNodesOf(
  nodes: readonly WorkflowNode[],
  graph: Graph,
  kinds: readonly string[],
): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [...nodes];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const from of partsOf(node, graph, kinds)) {
      if (found.has(from.name)) continue;
      found.add(from.name);
      open.push(from);
    }
  }
  return found;
}

function partsOf(node: WorkflowNode, graph: Graph, kinds: readonly string[]): readonly WorkflowNode[] {
  return kinds.flatMap((kind) => graph.into(node, kind).map(({ from }) => from));
}
