import type { JsonObject } from '../../util/json';
import type { MergePlan, MigrationOptions, Note, Workflow, WorkflowNode } from '../contract';
import { mapCodeTexts } from '../expressions/code-texts';
import { renameReferences } from '../expressions/references';
import { agentNames } from '../issue';
import { collectReferences } from '../plan/reference-issues';
import { showName } from '../show-name';
import { bridgeRouters, type DroppedRouters, dropRouters } from './drop-routers';
import { boxesOf } from './free-place';
import { mergeRules } from './merge-rules';
import { rewriteLinks } from './rewrite-links';
import { stickyNote } from './sticky-note';

export interface Rewritten {
  readonly workflow: Workflow;
  /** The names of the nodes that are no longer there. */
  readonly gone: ReadonlySet<string>;
  readonly notes: readonly Note[];
}

/** Puts the new nodes in the place of the agents, with all their links; everything else stays as it is. */
export function rewriteWorkflow(
  original: Workflow,
  plans: readonly MergePlan[],
  options: Pick<MigrationOptions, 'allow' | 'dropRouter'>,
): Rewritten {
  const drops = planDrops(original, plans, options);
  const kept = plans.filter((plan) => !drops.dropped.has(plan));
  const { workflow, notes } = mergeRules(original, kept);
  const links = rewriteLinks(workflow, plans);
  const names = new Set([...original.nodes, ...plans.map(({ node }) => node)].map(({ name }) => name));
  const connections = bridgeRouters(links.connections, drops, names);
  const gone = new Set([...links.gone, ...[...drops.dropped.values()].flat().map(({ name }) => name)]);
  const renames = new Map(plans.flatMap((plan) => agentNames(plan.cluster).map((agent) => [agent, plan.node.name])));
  for (const [from, to] of renames) if (from === to) renames.delete(from);
  const nodes = replaceNodes(workflow, plans, gone).map((node) => renameIn(node, renames));
  const pins = keepPins(workflow, gone);
  return {
    workflow: {
      ...workflow,
      nodes: [...nodes, ...stickyNotes(nodes, plans, gone)],
      connections,
      ...(pins.pinData === undefined ? {} : { pinData: pins.pinData }),
    },
    gone,
    notes: [...drops.notes, ...notes, ...pins.notes],
  };
}

function planDrops(
  workflow: Workflow,
  plans: readonly MergePlan[],
  { allow, dropRouter }: Pick<MigrationOptions, 'allow' | 'dropRouter'>,
): DroppedRouters {
  if (dropRouter !== true) return { dropped: new Map(), notes: [] };
  const mayTakeAll = allow.includes('unmatched-items');
  return dropRouters({ workflow, plans, references: collectReferences(workflow), mayTakeAll });
}

/** The new node stands where the first of its agents stood. */
function replaceNodes(
  { nodes }: Workflow,
  plans: readonly MergePlan[],
  gone: ReadonlySet<string>,
): readonly WorkflowNode[] {
  const planOf = new Map(plans.flatMap((plan) => agentNames(plan.cluster).map((agent) => [agent, plan] as const)));
  const changed = new Map(plans.flatMap((plan) => plan.changed.map((node) => [node.name, node] as const)));
  const placed = new Set<MergePlan>();
  return nodes.flatMap((node) => {
    const plan = planOf.get(node.name);
    if (plan === undefined) return gone.has(node.name) ? [] : [changed.get(node.name) ?? node];
    if (placed.has(plan)) return [];
    placed.add(plan);
    return [plan.node];
  });
}

function stickyNotes(
  nodes: readonly WorkflowNode[],
  plans: readonly MergePlan[],
  gone: ReadonlySet<string>,
): readonly WorkflowNode[] {
  const taken = new Set(nodes.map(({ name }) => name));
  const boxes = [...boxesOf(nodes)];
  return plans.map((plan) => {
    const plain = `Migration of ${plan.node.name}`;
    let name = plain;
    for (let number = 1; taken.has(name); number++) name = `${plain} ${number}`;
    taken.add(name);
    const { note, box } = stickyNote({ plan, gone, name, boxes });
    boxes.push(box);
    return note;
  });
}

function renameIn(node: WorkflowNode, renames: ReadonlyMap<string, string>): WorkflowNode {
  if (renames.size === 0) return node;
  const parameters = mapCodeTexts(node.parameters, (text) => renameReferences(text, renames)) as JsonObject;
  return parameters === node.parameters ? node : { ...node, parameters };
}

/** A lone agent's pins stay: its node has the same name, and gives `output` as well. */
function keepPins(
  { pinData }: Workflow,
  gone: ReadonlySet<string>,
): { readonly pinData?: JsonObject; readonly notes: readonly Note[] } {
  if (pinData === undefined || pinData === null) return { notes: [] };
  const lost = Object.keys(pinData).filter((name) => gone.has(name));
  if (lost.length === 0) return { pinData, notes: [] };
  return {
    pinData: Object.fromEntries(Object.entries(pinData).filter(([name]) => !gone.has(name))),
    notes: lost.map((node) => ({ node, text: `The pinned data of ${showName(node)} is gone with the node.` })),
  };
}
