import { AGENT_TYPE } from '../agent-type';
import { attachments } from '../attachments';
import type { Branch, Cluster, Reason, Router, Workflow, WorkflowNode } from '../contract';
import { buildGraph, type Graph } from '../graph';
import { mergeAgents, type MergedAgents } from './merge-agents';
import { splitBySelector } from './model-selector';
import { mergeParallel } from './parallel-filters';
import { routerKind } from './router-outputs';
import { startSearch } from './router-search';

/** Agents that can be judged together, in the order of the workflow's nodes. */
export function findClusters(workflow: Workflow): readonly Cluster[] {
  const graph = buildGraph(workflow);
  const search = startSearch(workflow.nodes, graph);
  const merged = [...mergeAgents(workflow.nodes, search), ...mergeParallel(workflow.nodes, search)];
  const clusters = merged.map((agents) => toCluster(agents, graph));
  const byAgent = new Map(
    clusters.flatMap((cluster) => cluster.branches.map(({ agent }) => [agent, cluster] as const)),
  );
  const inOrder = workflow.nodes
    .filter((node) => node.type === AGENT_TYPE)
    .map((agent) => byAgent.get(agent) ?? loneCluster(agent, graph, search.alone.get(agent.name)));
  return [...new Set(inOrder)];
}

function toCluster({ router, inner, choices }: MergedAgents, graph: Graph): Cluster {
  const branches = choices.map((choice): Branch => ({ ...choice, ...attachments(choice.agent, graph) }));
  return { router: asRouter(router), inner: inner.map(asRouter), branches };
}

function asRouter(node: WorkflowNode): Router {
  return { node, kind: routerKind(node) ?? 'switch' };
}

const DISABLED: Reason = { reason: 'disabled', text: 'It is disabled, so that it stays as it is.' };

/** A cluster of this agent alone; a branch for each model of a Model Selector. */
export function loneCluster(agent: WorkflowNode, graph: Graph, why?: Reason): Cluster {
  const alone = agent.disabled === true ? DISABLED : why;
  const branch = { agent, from: [], ...attachments(agent, graph) };
  const selected = agent.disabled === true ? undefined : splitBySelector(branch, graph);
  return { inner: [], branches: [branch], ...selected, ...(alone === undefined ? {} : { alone }) };
}
