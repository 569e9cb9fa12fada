import type { WorkflowNode } from '../contract';
import type { Edge } from '../graph';
import { type Choice, decide, type Entry, type PathTest } from './decide';
import type { RoutedOutput } from './router-outputs';
import { isInner, isLiveAgent, isRouted, routedEdges, type Search, setApart } from './router-search';
import { ALWAYS } from './test-expressions';

/** Agents that can be merged: the router in front of them, the routers behind it, and who gets which items. */
export interface MergedAgents {
  readonly router: WorkflowNode;
  readonly inner: readonly WorkflowNode[];
  readonly choices: readonly Choice[];
}

interface Tree {
  /** Every router after the one in front of it. */
  readonly routers: readonly WorkflowNode[];
  readonly names: ReadonlySet<string>;
  /** Routers that would be deeper in the tree than is sensible, or reached in more ways. */
  readonly tooFar: readonly WorkflowNode[];
}

const MAX_DEPTH = 50;
/** Several outputs of one router may lead to the same next one, so that the ways multiply with each. */
const MAX_WAYS = 50;

/** All that can be merged among the agents behind these routers. */
export function mergeAgents(nodes: readonly WorkflowNode[], search: Search): readonly MergedAgents[] {
  const found: MergedAgents[] = [];
  const roots = nodes.filter((node) => search.routings.has(node.name) && !isInner(node, search)).reverse();
  for (let root = roots.pop(); root !== undefined; root = roots.pop()) {
    const tree = gather(root, search);
    for (const far of tree.tooFar) search.severed.add(far.name);
    roots.push(...tree.tooFar);
    if (linkedAgents(tree, search).size < 2) continue;
    const result = tryTree(tree, search);
    if (result.kind === 'merged') found.push(...result.merged);
    else roots.push(...result.roots);
  }
  return found;
}

function gather(root: WorkflowNode, search: Search): Tree {
  const names = new Set([root.name]);
  const routers = [root];
  const tooFar: WorkflowNode[] = [];
  let level: ReadonlyMap<WorkflowNode, number> = new Map([[root, 1]]);
  for (let depth = 0; level.size > 0; depth += 1) {
    const next = [...waysOn(level, search)].filter(([node]) => !names.has(node.name) && isInner(node, search));
    const isFar = ([, ways]: (typeof next)[number]): boolean => depth === MAX_DEPTH || ways > MAX_WAYS;
    tooFar.push(...next.filter(isFar).map(([node]) => node));
    level = new Map(next.filter((step) => !isFar(step)));
    for (const node of level.keys()) names.add(node.name);
    routers.push(...level.keys());
  }
  return { routers, names, tooFar };
}

/** What these routers lead to, and in how many ways. */
function waysOn(level: ReadonlyMap<WorkflowNode, number>, search: Search): ReadonlyMap<WorkflowNode, number> {
  const next = new Map<WorkflowNode, number>();
  for (const [router, ways] of level) {
    for (const { to } of routedEdges(router, search)) next.set(to, (next.get(to) ?? 0) + ways);
  }
  return next;
}

function linkedAgents(tree: Tree, search: Search): ReadonlySet<WorkflowNode> {
  const targets = tree.routers.flatMap((router) => routedEdges(router, search).map((edge) => edge.to));
  return new Set(targets.filter(isLiveAgent));
}

type Attempt =
  | { readonly kind: 'merged'; readonly merged: readonly MergedAgents[] }
  /** Something was set apart: these are to be looked at again. */
  | { readonly kind: 'again'; readonly roots: readonly WorkflowNode[] };

function tryTree(tree: Tree, search: Search): Attempt {
  const [root] = tree.routers;
  if (root === undefined) return { kind: 'merged', merged: [] };
  excludeOthers(tree, search);
  const leading = leadingEdges(tree, search);
  const split = splitOutputs(tree, leading, search);
  if (split.length > 0) return { kind: 'again', roots: [root, ...split.filter((node) => !isLiveAgent(node))] };
  const entries = readEntries(root, leading, search);
  if (new Set(entries.map(({ agent }) => agent)).size < 2) return { kind: 'merged', merged: [] };
  const decision = decide(entries);
  if (decision.kind === 'decided') return { kind: 'merged', merged: [asMerged(tree, entries, decision.choices)] };
  const children = routedEdges(decision.router, search).map((edge) => edge.to);
  setApart(decision.router, decision.why, search);
  const freed = children.filter((node) => tree.names.has(node.name) && node !== decision.router);
  return { kind: 'again', roots: decision.router === root ? freed : [root, ...freed] };
}

/** An agent that gets items from elsewhere too would have those judged by tests that were never made on them. */
function excludeOthers(tree: Tree, search: Search): void {
  for (const agent of linkedAgents(tree, search)) {
    const isOurs = (edge: Edge): boolean => tree.names.has(edge.from.name) && isRouted(edge, search);
    if (search.alone.has(agent.name) || search.graph.into(agent, 'main').every(isOurs)) continue;
    search.alone.set(agent.name, {
      reason: 'other-inputs',
      text: 'It gets items from elsewhere too, not from one router only, so that the router’s conditions do not tell which are its own.',
    });
  }
}

type Leading = ReadonlyMap<WorkflowNode, readonly Edge[]>;

/** The links of each router that lead to agents of the tree, directly or through further routers. */
function leadingEdges(tree: Tree, search: Search): Leading {
  const leading = new Map<WorkflowNode, readonly Edge[]>();
  for (const router of tree.routers.toReversed()) {
    const leads = ({ to }: Edge): boolean =>
      isLiveAgent(to) ? !search.alone.has(to.name) : tree.names.has(to.name) && (leading.get(to)?.length ?? 0) > 0;
    leading.set(router, routedEdges(router, search).filter(leads));
  }
  return leading;
}

/** What one output sends to several agents at once is theirs each: sets all of them apart and returns them. */
function splitOutputs(tree: Tree, leading: Leading, search: Search): readonly WorkflowNode[] {
  const split: WorkflowNode[] = [];
  for (const router of tree.routers) {
    const edges = leading.get(router) ?? [];
    const isShared = (edge: Edge): boolean => edges.some((other) => other !== edge && other.output === edge.output);
    split.push(...edges.filter(isShared).map((edge) => edge.to));
  }
  for (const node of split) {
    if (!isLiveAgent(node)) search.severed.add(node.name);
    else
      search.alone.set(node.name, {
        reason: 'same-output',
        text: 'One output of the router leads to several agents, each of which answers every item.',
      });
  }
  return [...new Set(split)];
}

function readEntries(root: WorkflowNode, leading: Leading, search: Search): Entry[] {
  const follow = (router: WorkflowNode, path: readonly PathTest[]): Entry[] => {
    const edges = leading.get(router) ?? [];
    const isUsed = ({ output }: RoutedOutput): boolean => edges.some((edge) => edge.output === output);
    const used = (search.routings.get(router.name) ?? []).filter(isUsed);
    return used.flatMap(({ output, test }, index) => {
      // Whatever comes through the router and took none of the outputs before took the last one.
      const further = [...path, { router, test: index === used.length - 1 ? ALWAYS : test }];
      const targets = edges.filter((edge) => edge.output === output).map(({ to }) => to);
      return targets.flatMap((to) =>
        isLiveAgent(to) ? [{ agent: to, from: { node: router.name, output }, path: further }] : follow(to, further),
      );
    });
  };
  return follow(root, []);
}

function asMerged(tree: Tree, entries: readonly Entry[], choices: readonly Choice[]): MergedAgents {
  const used = new Set(entries.flatMap((entry) => entry.path.map(({ router }) => router)));
  const deciding = tree.routers.filter((router) => used.has(router));
  // Routers with one way on decide nothing among these agents.
  const outermost = deciding.findIndex(
    (router) => new Set(entries.flatMap((entry) => wayThrough(router, entry))).size > 1,
  );
  const [router, ...inner] = deciding.slice(Math.max(outermost, 0));
  if (router === undefined) throw new RangeError('a tree without routers');
  return { router, inner, choices };
}

function wayThrough(router: WorkflowNode, entry: Entry): readonly string[] {
  const index = entry.path.findIndex((step) => step.router === router);
  if (index < 0) return [];
  const next = entry.path[index + 1]?.router.name;
  return [next === undefined ? `${entry.from.node} ${entry.from.output}` : next];
}
