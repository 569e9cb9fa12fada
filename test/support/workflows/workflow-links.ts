import { isDeepStrictEqual } from 'node:util';

import type {
  ClusterReport,
  MigrationReport,
  Workflow,
  WorkflowNode,
} from '../../../runtime/workflow-migration/contract';

interface FlatLink {
  readonly from: string;
  readonly type: string;
  readonly output: number;
  readonly to: string;
  readonly input: number;
}

interface Change {
  readonly before: Workflow;
  readonly after: Workflow;
  readonly clusters: readonly ClusterReport[];
  /** From a removed agent to the node that stands for it. */
  readonly heirs: ReadonlyMap<string, string>;
  readonly removed: ReadonlySet<string>;
  /** Nodes of the output that the input does not have. */
  readonly added: ReadonlySet<string>;
  /** Links of models and tools that something else does the work of, whether they are gone or not. */
  readonly replaced: ReadonlySet<string>;
  /** Sub-nodes that stay for others. */
  readonly unwired: ReadonlySet<string>;
  /** Memories that stand for several: their session key says which. */
  readonly memories: ReadonlySet<string>;
  /** What led to agents that are gone: rules of theirs may be merged and outputs numbered anew. */
  readonly routers: ReadonlySet<string>;
}

/**
 * What a migration lost or made up, a sentence for each: nodes and links of the input that are neither in the output nor
 * named in the report, links that point nowhere, nodes that nobody asked for. An empty list is a good one.
 */
export function findLosses(before: Workflow, after: Workflow, report: MigrationReport): readonly string[] {
  const change = describe(before, after, report);
  return [
    ...lostNodes(change),
    ...inventedNodes(change),
    ...lostLinks(change),
    ...inventedLinks(change),
    ...danglingLinks(change),
    ...lostSettings(change),
  ];
}

/** Every link of a workflow. What is no list of links is none. */
export function linksOf(workflow: Workflow): readonly FlatLink[] {
  return Object.entries(workflow.connections).flatMap(([from, byType]) =>
    Object.entries(byType).flatMap(([type, outputs]) =>
      outputs.flatMap((links, output) =>
        (links ?? []).map((link) => ({ from, type, output, to: link.node, input: link.index })),
      ),
    ),
  );
}

function describe(before: Workflow, after: Workflow, { clusters }: MigrationReport): Change {
  const heirs = clusters.flatMap(({ agents, node }) => agents.map((agent) => [agent, node] as const));
  const names = new Set(before.nodes.map(({ name }) => name));
  const removed = new Set(clusters.flatMap((cluster) => cluster.removed));
  const added = after.nodes.map(({ name }) => name).filter((name) => !names.has(name) || removed.has(name));
  const routers = linksOf(before).filter(({ type, to }) => type === 'main' && removed.has(to));
  const memories = linksOf(before).filter(({ type, to }) => type === 'ai_memory' && removed.has(to));
  return {
    before,
    after,
    clusters,
    heirs: new Map(heirs),
    removed,
    added: new Set(added),
    replaced: new Set(clusters.flatMap((cluster) => replacedBy(before, cluster))),
    unwired: new Set(clusters.flatMap((cluster) => cluster.unwired)),
    memories: new Set(memories.map(({ from }) => from)),
    routers: new Set(routers.map(({ from }) => from).filter((name) => isSwitch(name, before))),
  };
}

/** Tiers stand for models, and rows for tools, that may go on serving other nodes. */
function replacedBy(before: Workflow, { agents, connected, tiers, tools }: ClusterReport): string[] {
  const rows = new Set(tools.map(({ node }) => node));
  return linksOf(before)
    .filter(({ to }) => agents.includes(to))
    .filter(({ from }) => !connected.includes(from))
    .filter(({ from, type }) => (type === 'ai_languageModel' ? tiers.length > 0 : rows.has(from)))
    .map(pairOf);
}

function isSwitch(name: string, { nodes }: Workflow): boolean {
  return nodes.some((node) => node.name === name && node.type === 'n8n-nodes-base.switch');
}

function lostNodes({ before, after, removed, routers, memories }: Change): string[] {
  const left = new Map(after.nodes.map((node) => [node.name, node]));
  return before.nodes.flatMap((node) => {
    if (removed.has(node.name)) return [];
    const same = left.get(node.name);
    if (same === undefined) return [`the node ${node.name} is gone and the report does not say so`];
    const changed = changedFields(node, same).filter((field) => field !== 'parameters' || !routers.has(node.name));
    return changed
      .filter((field) => field !== 'parameters' || !(mentions(node, removed) || memories.has(node.name)))
      .map((field) => `${field} of the node ${node.name} is not as it was`);
  });
}

/** Parameters may change where they name a node that is gone, or read what an agent gave. */
function mentions(node: WorkflowNode, removed: ReadonlySet<string>): boolean {
  const text = JSON.stringify(node.parameters);
  return [...removed].some((name) => text.includes(JSON.stringify(name).slice(1, -1))) || text.includes('$json');
}

function changedFields(before: WorkflowNode, after: WorkflowNode): string[] {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...fields].filter((field) => !isDeepStrictEqual(before[field], after[field]));
}

function inventedNodes({ after, added, clusters }: Change): string[] {
  const expected = new Set(clusters.map(({ node }) => node));
  const missing = [...expected].filter((name) => !added.has(name)).map((name) => `the new node ${name} is missing`);
  const notes = new Set(after.nodes.filter(({ type }) => type === 'n8n-nodes-base.stickyNote').map(({ name }) => name));
  const strange = [...added].filter((name) => !expected.has(name) && !notes.has(name));
  const names = after.nodes.map(({ name }) => name);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  return [
    ...missing,
    ...strange.map((name) => `nobody asked for the node ${name}`),
    ...twice.map((name) => `two nodes have the name ${name}`),
  ];
}

function lostLinks(change: Change): string[] {
  const { before, after, routers } = change;
  const exact = countsOf(linksOf(after).map(keyOf));
  const asked = countsOf(linksOf(before).map(keyOf));
  const loose = new Set(linksOf(after).map(pairOf));
  const names = new Set(before.nodes.map(({ name }) => name));
  return linksOf(before).flatMap((link) => {
    if (!names.has(link.from) || !names.has(link.to)) return [];
    const expected = carried(link, change);
    if (expected === undefined) return [];
    // The outputs of a router are numbered anew when rules are merged; the inputs of an agent are the node's own.
    const isFree = routers.has(link.from) || expected.to !== link.to;
    // n8n takes the same link twice for two.
    const isSame = exact.get(keyOf(expected)) === asked.get(keyOf(link));
    const isKept = isFree ? loose.has(pairOf(expected)) : isSame;
    return isKept ? [] : [`the link ${keyOf(link)} is gone and the report does not say so`];
  });
}

function countsOf(keys: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** What a link has to be afterwards; undefined where the report says that it is gone. */
function carried(link: FlatLink, change: Change): FlatLink | undefined {
  const { heirs } = change;
  if (isGoneWithNode(link, change) || isReplaced(link, change)) return undefined;
  return { ...link, from: heirs.get(link.from) ?? link.from, to: heirs.get(link.to) ?? link.to };
}

function isGoneWithNode({ from, type, to }: FlatLink, { removed, heirs }: Change): boolean {
  const isGone = (name: string): boolean => removed.has(name) && !heirs.has(name);
  // A sub-node that is gone takes its links to agents that are gone with it, and to no others.
  if (isGone(from) && (removed.has(to) || heirs.has(to))) return true;
  // n8n follows no main link into a sub-node; a model that others use too may have been one of a Model Selector.
  return isGone(to) && (removed.has(from) || ['main', 'ai_languageModel'].includes(type));
}

function isReplaced(link: FlatLink, { replaced, unwired, heirs }: Change): boolean {
  if (replaced.has(pairOf(link))) return true;
  return link.type !== 'main' && unwired.has(link.from) && heirs.has(link.to);
}

function inventedLinks({ before, after, added, heirs, routers }: Change): string[] {
  const known = new Set(linksOf(before).map(pairOf));
  const exact = new Set(linksOf(before).map(keyOf));
  const ofNew = new Set([...added, ...heirs.values()]);
  return linksOf(after)
    .filter((link) => !ofNew.has(link.from) && !ofNew.has(link.to))
    .filter((link) => (routers.has(link.from) ? !known.has(pairOf(link)) : !exact.has(keyOf(link))))
    .map((link) => `nobody asked for the link ${keyOf(link)}`);
}

/** A link that pointed nowhere before may do so afterwards. */
function danglingLinks({ before, after, heirs }: Change): string[] {
  const names = new Set(after.nodes.map(({ name }) => name));
  const heirOf = (name: string): string => heirs.get(name) ?? name;
  const known = new Set(
    linksOf(before).flatMap((link) => [
      pairOf(link),
      pairOf({ ...link, from: heirOf(link.from), to: heirOf(link.to) }),
    ]),
  );
  const had = new Set(before.nodes.map(({ name }) => name));
  const wasDangling = (link: FlatLink): boolean => known.has(pairOf(link)) && !(had.has(link.from) && had.has(link.to));
  return linksOf(after)
    .filter((link) => !(names.has(link.from) && names.has(link.to)) && !wasDangling(link))
    .map((link) => `the link ${keyOf(link)} points nowhere`);
}

function lostSettings({ before, after, removed }: Change): string[] {
  const fields = Object.keys(before).filter((field) => !['nodes', 'connections', 'pinData'].includes(field));
  const pins = Object.keys(before.pinData ?? {}).filter((name) => !removed.has(name));
  return [
    ...fields
      .filter((field) => !isDeepStrictEqual(before[field], after[field]))
      .map((field) => `${field} of the workflow is not as it was`),
    ...pins
      .filter((name) => !isDeepStrictEqual(before.pinData?.[name], after.pinData?.[name]))
      .map((name) => `the pinned items of ${name} are not as they were`),
  ];
}

const pairOf = ({ from, type, to }: FlatLink): string => JSON.stringify([from, type, to]);
const keyOf = ({ from, type, output, to, input }: FlatLink): string => JSON.stringify([from, type, output, to, input]);
