import type { Link, Workflow, WorkflowNode } from './contract';

/** A link with both of its ends: `output` of `from` leads to input `index` of `to`. */
export interface Edge {
  readonly from: WorkflowNode;
  readonly type: string;
  readonly output: number;
  readonly to: WorkflowNode;
  readonly index: number;
}

/** The links of a workflow, read from both ends. Links to or from nodes that are not there are left out. */
export interface Graph {
  readonly into: (node: WorkflowNode, type: string) => readonly Edge[];
  readonly outOf: (node: WorkflowNode, type: string) => readonly Edge[];
}

export function buildGraph(workflow: Workflow): Graph {
  const nodes = new Map(workflow.nodes.map((node) => [node.name, node]));
  const all = [...readEdges(workflow, nodes)];
  const into = Map.groupBy(all, ({ to }) => to.name);
  const outOf = Map.groupBy(all, ({ from }) => from.name);
  const ofType = (edges: readonly Edge[] | undefined, type: string): readonly Edge[] =>
    edges?.filter((edge) => edge.type === type) ?? [];
  return {
    into: (node, type) => ofType(into.get(node.name), type),
    outOf: (node, type) => ofType(outOf.get(node.name), type),
  };
}

function* readEdges(workflow: Workflow, nodes: ReadonlyMap<string, WorkflowNode>): Generator<Edge> {
  for (const [name, byType] of Object.entries(workflow.connections)) {
    const from = nodes.get(name);
    if (from === undefined) continue;
    for (const [type, outputs] of Object.entries(byType)) {
      for (const [output, links] of outputs.entries()) yield* edgesOf({ from, type, output }, links, nodes);
    }
  }
}

function* edgesOf(
  start: Pick<Edge, 'from' | 'type' | 'output'>,
  links: readonly Link[] | null,
  nodes: ReadonlyMap<string, WorkflowNode>,
): Generator<Edge> {
  for (const link of links ?? []) {
    const to = nodes.get(link.node);
    if (to !== undefined) yield { ...start, to, index: link.index };
  }
}
