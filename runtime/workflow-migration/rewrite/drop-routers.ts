import type { Allowance, Connections, Link, MergePlan, Note, Workflow, WorkflowNode } from '../contract';
import type { FoundReference } from '../expressions/references';
import { buildGraph, type Graph } from '../graph';
import { agentNames } from '../issue';
import { readRouter } from '../routers/router-outputs';
import { showName } from '../show-name';

/** Which routers go with the agents that they chose, by the plan. */
export interface DroppedRouters {
  readonly dropped: ReadonlyMap<MergePlan, readonly WorkflowNode[]>;
  readonly notes: readonly Note[];
}

interface DropRequest {
  readonly workflow: Workflow;
  readonly plans: readonly MergePlan[];
  readonly references: ReadonlyMap<string, readonly FoundReference[]>;
  readonly mayTakeAll: boolean;
}

const UNMATCHED = 'unmatched-items';
const MERGED = 'merged-runs';

/** A router can go where all that it does is to choose the branch; else a note says what more it does. */
export function dropRouters({ workflow, plans, references, mayTakeAll }: DropRequest): DroppedRouters {
  const graph = buildGraph(workflow);
  const dropped = new Map<MergePlan, readonly WorkflowNode[]>();
  const notes: Note[] = [];
  for (const plan of plans) {
    const routers = routersOf(plan);
    const [first] = routers;
    if (first === undefined) continue;
    const why = hasOddLinks(routers, workflow) ? ELSEWHERE : otherTask(plan, graph, references);
    const isPartial = routers.some((router) => !takesAll(router, graph));
    const needs = [
      ...(plan.mergesRuns ? [] : ([MERGED] as const)),
      ...(isPartial && !mayTakeAll ? ([UNMATCHED] as const) : []),
    ];
    if (why !== undefined) notes.push({ node: first.name, text: `It stays: ${why}` });
    else if (needs.length > 0) notes.push({ node: first.name, text: needsText(plan, needs), needs });
    else {
      dropped.set(plan, routers);
      if (isPartial) notes.push(partialNote(plan, first));
    }
  }
  return { dropped, notes };
}

/** The nodes that choose the branch, the outermost first. A Model Selector is none: it goes with the models. */
function routersOf({ cluster: { router, inner } }: MergePlan): readonly WorkflowNode[] {
  if (router === undefined || router.kind === 'model-selector') return [];
  return [router, ...inner].map(({ node }) => node);
}

function partialNote(plan: MergePlan, { name }: WorkflowNode): Note {
  const text = `Items that it led nowhere are answered now: those that no branch's rule takes, as by ${lastAgent(plan)}.`;
  return { node: name, text, allowance: UNMATCHED };
}

/** The option first, then what it changes. */
function needsText(plan: MergePlan, needs: readonly Allowance[]): string {
  const changes = needs.map((need) => (need === UNMATCHED ? unmatchedText(plan) : MERGED_TEXT));
  return `Add --allow ${needs.join(',')} to drop it too. Until then it stays. ${changes.join(' ')}`;
}

function unmatchedText(plan: MergePlan): string {
  return `It drops items that match no rule or whose output is not linked; without it, ${lastAgent(plan)} would answer them. To keep them out of that branch, link every output to an agent, and one for all other items.`;
}

const MERGED_TEXT =
  'Nodes behind the agents may tell that they run once a branch; without it, they run once with the items of all branches.';

const lastAgent = ({ cluster }: MergePlan): string => showName(cluster.branches.at(-1)?.agent.name ?? '');

const ELSEWHERE = 'it leads to other nodes too.';

/** Links that no router has: of another kind than for items, or to an input that it does not have. */
function hasOddLinks(routers: readonly WorkflowNode[], { connections }: Workflow): boolean {
  const names = new Set(routers.map(({ name }) => name));
  return Object.entries(connections).some(([from, byType]) =>
    Object.entries(byType).some(([type, outputs]) =>
      outputs
        .flatMap((links) => links ?? [])
        .some((link) => {
          const isInto = names.has(link.node) && (type !== 'main' || link.type !== 'main' || link.index !== 0);
          return isInto || (names.has(from) && (type !== 'main' || link.type !== 'main'));
        }),
    ),
  );
}

/** What a router does beside choosing the branch: the end of a sentence. */
function otherTask(
  plan: MergePlan,
  graph: Graph,
  references: ReadonlyMap<string, readonly FoundReference[]>,
): string | undefined {
  const { cluster, node } = plan;
  const routers = routersOf(plan);
  const names = new Set(routers.map(({ name }) => name));
  const ours = new Set([...names, ...agentNames(cluster)]);
  const fed = cluster.inner.flatMap((inner) => graph.into(inner.node, 'main'));
  const [outermost] = routers;
  const readers = routers.flatMap(({ name }) => (references.get(name) ?? []).map(({ from }) => from));
  const reader = readers.find((from) => !names.has(from));
  const checks: readonly (readonly [boolean, string])[] = [
    [
      fed.some(({ from }) => !names.has(from.name)),
      'several filters stand side by side, each of which gets all items.',
    ],
    [routers.some((one) => graph.outOf(one, 'main').some(({ to }) => !ours.has(to.name))), ELSEWHERE],
    [routers.some(({ executeOnce }) => executeOnce === true), 'it takes the first item only (Execute Once).'],
    [
      outermost !== undefined && graph.into(outermost, 'main').some(({ from }) => ours.has(from.name)),
      'the agents lead back to it.',
    ],
    [reader !== undefined, `${showName(reader ?? '')} reads it in an expression.`],
    [
      /\$prevNode|\$input\.context/.test(JSON.stringify(node.parameters)),
      'the agents read which node their items came from.',
    ],
  ];
  return checks.find(([isTrue]) => isTrue)?.[1];
}

/** True where every item leaves by an output that leads on; nothing else is linked then. */
function takesAll(node: WorkflowNode, graph: Graph): boolean {
  const routing = readRouter(node);
  if (routing.kind !== 'first-match') return false;
  const linked = new Set(graph.outOf(node, 'main').map(({ output }) => output));
  // What stands behind a rule that always holds is never asked.
  const end = routing.outputs.findIndex(({ test }) => test.kind === 'always');
  return end >= 0 && routing.outputs.slice(0, end + 1).every(({ output }) => linked.has(output));
}

/** The links without the routers: what fed the first of them feeds the new node. */
export function bridgeRouters(
  connections: Connections,
  { dropped }: DroppedRouters,
  names: ReadonlySet<string>,
): Connections {
  const heirs = new Map(
    [...dropped].flatMap(([plan, routers]) => routers.map(({ name }) => [name, plan.node.name] as const)),
  );
  if (heirs.size === 0) return connections;
  // A link from a node that is not there led nothing to the router.
  const lead = (links: readonly Link[], from: string): readonly Link[] =>
    links
      .filter(({ node }) => names.has(from) || !heirs.has(node))
      .map((link) => ({ ...link, node: heirs.get(link.node) ?? link.node }));
  return Object.fromEntries(
    Object.entries(connections)
      .filter(([name]) => !heirs.has(name))
      .map(([name, byType]) => [
        name,
        Object.fromEntries(
          Object.entries(byType).map(([type, outputs]) => [type, outputs.map((links) => links && lead(links, name))]),
        ),
      ]),
  );
}
