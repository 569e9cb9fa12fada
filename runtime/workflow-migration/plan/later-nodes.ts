import type { JsonValue } from '../../util/json';
import { words } from '../../util/text/words';
import type { Cluster, Workflow, WorkflowNode } from '../contract';
import type { Graph } from '../graph';
import { kindOf, parameterAt } from '../parameters';

/** Nodes that treat every item by itself, whichever others come with it. */
const BY_ITEM: ReadonlySet<string> = new Set(
  words(`
  set if switch filter noOp httpRequest renameKeys dateTime crypto markdown redis telegram slack
  discord whatsApp twilio gmail emailSend stickyNote
`),
);

/** Expressions that see more than the one item. */
const OF_ALL_ITEMS = /\.(?:all|first|last)\(|\$items\(|\$runIndex|\$itemIndex|\$prevNode|\$input\.(?:all|first|last)/;

/** The nodes that a run may come to after these, the nodes themselves left out unless a link leads back to them. */
function nodesAfter(agents: readonly WorkflowNode[], graph: Graph): readonly WorkflowNode[] {
  const found = new Map<string, WorkflowNode>();
  const open = [...agents];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const { to } of graph.outOf(node, 'main')) {
      if (found.has(to.name)) continue;
      found.set(to.name, to);
      open.push(to);
    }
  }
  return [...found.values()];
}

/**
 * True when something can tell whether the nodes after the agents run once with all items, or once a branch: a node
 * that sees several items as one, or whoever gets the items of the last run as the answer.
 */
export function canTellRuns({ branches }: Cluster, workflow: Workflow, graph: Graph): boolean {
  const agents = branches.map(({ agent }) => agent);
  return (
    agents.some(({ executeOnce }) => executeOnce === true) ||
    nodesAfter(agents, graph).some((node) => !isByItem(node)) ||
    workflow.nodes.some(answersWithLastRun)
  );
}

function isByItem(node: WorkflowNode): boolean {
  const kind = kindOf(node);
  const isPlain = BY_ITEM.has(kind) || (kind === 'code' && node.parameters.mode === 'runOnceForEachItem');
  return isPlain && node.executeOnce !== true && !OF_ALL_ITEMS.test(JSON.stringify(node.parameters));
}

function answersWithLastRun(node: WorkflowNode): boolean {
  const kind = kindOf(node);
  if (kind === 'executeWorkflowTrigger') return true;
  return kind === 'webhook' && node.parameters.responseMode === 'lastNode';
}

/** True when an answer of the workflow is streamed piece by piece, which the new node does not do. */
export function streamsAnswers(node: WorkflowNode): boolean {
  if (node.disabled === true) return false;
  return kindOf(node) === 'webhook'
    ? node.parameters.responseMode === 'streaming'
    : kindOf(node) === 'chatTrigger' && chatAnswer(node) === 'streaming';
}

/** How a chat trigger answers. */
function chatAnswer({ parameters }: WorkflowNode): JsonValue {
  return (
    parameterAt(parameters, 'options.responseMode') ?? (parameters.availableInChat === true ? 'streaming' : 'lastNode')
  );
}
