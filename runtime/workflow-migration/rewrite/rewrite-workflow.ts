import type { JsonObject } from '../../util/json';
import type { MergePlan, Note, Workflow, WorkflowNode } from '../contract';
import { mapCodeTexts } from '../expressions/code-texts';
import { renameReferences } from '../expressions/references';
import { agentNames } from '../issue';
import { showName } from '../show-name';
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
export function rewriteWorkflow(original: Workflow, plans: readonly MergePlan[]): Rewritten {
  const { workflow, notes } = mergeRules(original, plans);
  const { connections, gone } = rewriteLinks(workflow, plans);
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
    notes: [...notes, ...pins.notes],
  };
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
  if (pinData === undefined) return { notes: [] };
  const lost = Object.keys(pinData).filter((name) => gone.has(name));
  if (lost.length === 0) return { pinData, notes: [] };
  return {
    pinData: Object.fromEntries(Object.entries(pinData).filter(([name]) => !gone.has(name))),
    notes: lost.map((node) => ({ node, text: `The pinned data of ${showName(node)} is gone with the node.` })),
  };
}
