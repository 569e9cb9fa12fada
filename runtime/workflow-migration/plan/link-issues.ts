import type { Branch, Cluster, Link, Workflow, WorkflowNode } from '../contract';
import { agentNames, type Issue } from '../issue';
import { kindOf } from '../parameters';
import { showName } from '../show-name';

/** How many inputs of a kind an agent has; tools share one. */
const INPUTS: Readonly<Record<string, number>> = {
  main: 1,
  ai_languageModel: 2,
  ai_memory: 1,
  ai_outputParser: 1,
  ai_tool: 1,
};

interface FlatLink extends Link {
  readonly from: string;
  /** What it is listed under. */
  readonly kind: string;
}

/** Links that nodes cannot have had from the editor: nobody could say what they mean, so that none may be dropped. */
export function linkIssues(cluster: Cluster, { nodes, connections }: Workflow): readonly Issue[] {
  const names = new Set(nodes.map(({ name }) => name));
  const present = Object.entries(connections).filter(([from]) => names.has(from));
  const links = present.flatMap(([from, byKind]) =>
    Object.entries(byKind).flatMap(([kind, outputs]) =>
      outputs.flatMap((ends) => (ends ?? []).map((link): FlatLink => ({ ...link, from, kind }))),
    ),
  );
  const agents = new Set(agentNames(cluster));
  const parts = cluster.branches.flatMap(partsOf);
  const partNames = new Set(parts.map(({ name }) => name));
  const leaves = new Set(parts.filter(isLeaf).map(({ name }) => name));
  const enabled = new Set(nodes.filter(({ disabled }) => disabled !== true).map(({ name }) => name));
  const withModel = new Set(
    links.filter((link) => isModel(link) && link.index === 0 && enabled.has(link.from)).map(({ node }) => node),
  );
  const ordinary = new Set(nodes.filter(({ type }) => type.startsWith('n8n-nodes-base.')).map(({ name }) => name));
  const inputs = new Set<string>();
  const kinds = new Map<string, string>();
  const isOddInput = (link: FlatLink): boolean =>
    !isOrdinary(link) ||
    isTaken(link, inputs) ||
    isOfTwoKinds(link, kinds) ||
    (isPart(link) && ordinary.has(link.from)) ||
    // A fallback of nothing: whether n8n would take it for the model is not known.
    (isModel(link) && link.index > 0 && !withModel.has(link.node));
  const odd = links.filter(
    (link) =>
      (agents.has(link.from) && link.kind !== 'main') ||
      (agents.has(link.node) && isOddInput(link)) ||
      (partNames.has(link.from) && link.kind === 'main') ||
      leaves.has(link.node),
  );
  return odd.map(({ from, node, type }) => ({
    reason: 'odd-links',
    node: agents.has(node) ? node : from,
    text: `A link from ${showName(from)} to ${showName(node)} (${showName(type)}) is none that such nodes have. Remove it.`,
  }));
}

/** What only a sub-node can be; an ordinary node may be a tool. */
function isPart({ kind }: FlatLink): boolean {
  return kind !== 'main' && kind !== 'ai_tool';
}

function isModel({ kind }: FlatLink): boolean {
  return kind === 'ai_languageModel';
}

function isOrdinary({ kind, type, index }: FlatLink): boolean {
  const inputs = Object.hasOwn(INPUTS, kind) ? (INPUTS[kind] ?? 0) : 0;
  return type === kind && index >= 0 && index < inputs;
}

/** Any number of items and tools may come in, and one of everything else. */
function isTaken({ node, kind, index }: FlatLink, inputs: Set<string>): boolean {
  if (kind === 'main' || kind === 'ai_tool') return false;
  const input = JSON.stringify([node, kind, index]);
  return inputs.has(input) || inputs.add(input).size === 0;
}

function isOfTwoKinds({ from, kind }: FlatLink, kinds: Map<string, string>): boolean {
  const known = kinds.get(from) ?? kind;
  kinds.set(from, known);
  return known !== kind;
}

function partsOf({ models, memory }: Branch): readonly WorkflowNode[] {
  return [...models, ...(memory === undefined ? [] : [memory])];
}

/** n8n's own models and memories, which nothing leads to. Others, such as LangChain Code and selectors, may have parts of their own. */
function isLeaf(node: WorkflowNode): boolean {
  return /^(?:lm|memory)/.test(kindOf(node));
}
