import { AGENT_TYPE } from '../agent-type';
import type { Reason, WorkflowNode } from '../contract';
import type { Edge, Graph } from '../graph';
import { readRouter, type RoutedOutput, routerKind } from './router-outputs';

/** An agent that takes part in runs; n8n sends items past a disabled one. */
export function isLiveAgent(node: WorkflowNode): boolean {
  return node.type === AGENT_TYPE && node.disabled !== true;
}

/** What is known while the routers of a workflow are gone through. */
export interface Search {
  readonly graph: Graph;
  /** What each router does, in the order in which it decides; routers that are not here lead to no cluster. */
  readonly routings: Map<string, readonly RoutedOutput[]>;
  /** Routers that are looked at by themselves although another router stands in front of them. */
  readonly severed: Set<string>;
  /** Agents that must not be merged with those beside them, and why. */
  readonly alone: Map<string, Reason>;
}

export function startSearch(nodes: readonly WorkflowNode[], graph: Graph): Search {
  const search: Search = { graph, routings: new Map(), severed: new Set(), alone: new Map() };
  for (const node of nodes) {
    if (routerKind(node) === undefined) continue;
    const routing = readRouter(node);
    if (routing.kind === 'first-match') search.routings.set(node.name, routing.outputs);
    else setApart(node, routing.why, search);
  }
  return search;
}

/** Main links from outputs of a router that a test belongs to, not those from its error output. */
export function routedEdges(router: WorkflowNode, search: Search): readonly Edge[] {
  return search.graph.outOf(router, 'main').filter((edge) => isRouted(edge, search));
}

export function isRouted(edge: Edge, search: Search): boolean {
  return search.routings.get(edge.from.name)?.some(({ output }) => output === edge.output) === true;
}

/** A router whose items all come from one other router. */
export function isInner(node: WorkflowNode, search: Search): boolean {
  const edges = search.graph.into(node, 'main');
  const [first] = edges;
  if (first === undefined || first.from === node || search.severed.has(node.name)) return false;
  return search.routings.has(node.name) && edges.every((edge) => edge.from === first.from && isRouted(edge, search));
}

/** No cluster goes through this router; the agents that it leads to stand alone, for this reason. */
export function setApart(router: WorkflowNode, why: Reason, search: Search): void {
  search.routings.delete(router.name);
  const agents = search.graph.outOf(router, 'main').flatMap(({ to }) => (isLiveAgent(to) ? [to.name] : []));
  for (const name of agents) if (!search.alone.has(name)) search.alone.set(name, why);
}
