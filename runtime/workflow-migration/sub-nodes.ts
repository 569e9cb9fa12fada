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
    const target = node;
    for (const { from } of kinds.flatMap((kind) => graph.into(target, kind))) {
      if (found.has(from.name)) continue;
      found.add(from.name);
      open.push(from);
    }
  }
  return found;
}
