import type { JsonValue } from '../util/json';
import { codeTexts } from './code-texts';
import type { PlanContext } from './context';
import type { Cluster, WorkflowNode } from './contract';
import type { Graph } from './graph';
import { chatAnswer } from './later-nodes';
import { kindOf } from './parameters';
import { showName } from './show-name';

/** Nodes that hand items on as they came. */
const PASSES_ON: ReadonlySet<string> = new Set([
  'if',
  'switch',
  'filter',
  'noOp',
  'wait',
  'limit',
  'sort',
  'splitInBatches',
]);
/** Nodes that do something with every field there is. */
const TAKES_ALL: ReadonlySet<string> = new Set([
  'merge',
  'aggregate',
  'convertToFile',
  'spreadsheetFile',
  'executeWorkflow',
]);
const RESPONDS_WITH_ITEMS: ReadonlySet<JsonValue> = new Set(['firstIncomingItem', 'allIncomingItems']);
/** The item itself, not one field of it. */
const ITEM = String.raw`(?:\$json|\bjson)(?!\s*(?:\?\.|[.[\w:]))`;
const READS_ALL = new RegExp(
  String.raw`\.\.\.\s*[\w$.()[\]]*${ITEM}|(?:stringify|keys|entries|values)\(\s*[\w$.()[\]]*?${ITEM}|\$json\s*(?:\}\}|\.toJsonString\()`,
);

/** The agents gave an item with `output` and nothing else; undefined where nothing gets to see the difference. */
export function wholeItemNote({ branches }: Cluster, { graph, workflow }: PlanContext): string | undefined {
  const { nodes, isLast } = following(
    branches.map(({ agent }) => agent),
    graph,
  );
  const seenBy = [
    ...nodes.filter(takesAll).map(({ name }) => showName(name)),
    ...(isLast && workflow.nodes.some(answersWithItem) ? ['whoever called the workflow'] : []),
  ];
  if (seenBy.length === 0) return undefined;
  return `More than output is in its items now, tool calls, tokens and costs among it, and all of it gets to ${seenBy.join(', ')}. Put an Edit Fields node behind it that keeps output alone where that matters.`;
}

interface Following {
  readonly nodes: readonly WorkflowNode[];
  /** Its items, as they are, may be the last of the workflow. */
  readonly isLast: boolean;
}

function following(agents: readonly WorkflowNode[], graph: Graph): Following {
  const found = new Set<WorkflowNode>();
  const open = [...agents];
  let isLast = false;
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const next = graph.outOf(node, 'main').map(({ to }) => to);
    isLast ||= next.length === 0;
    for (const to of next) {
      if (found.has(to)) continue;
      found.add(to);
      if (PASSES_ON.has(kindOf(to))) open.push(to);
    }
  }
  return { nodes: [...found], isLast };
}

function takesAll(node: WorkflowNode): boolean {
  const kind = kindOf(node);
  const { parameters } = node;
  if (TAKES_ALL.has(kind)) return true;
  if (kind === 'set' && parameters.includeOtherFields === true) return true;
  if (kind === 'respondToWebhook' && RESPONDS_WITH_ITEMS.has(parameters.respondWith ?? 'firstIncomingItem'))
    return true;
  return (
    JSON.stringify(parameters).includes('"autoMapInputData"') ||
    [...codeTexts(parameters)].some((text) => READS_ALL.test(text))
  );
}

function answersWithItem(node: WorkflowNode): boolean {
  const kind = kindOf(node);
  if (node.disabled === true) return false;
  if (kind === 'webhook') return node.parameters.responseMode === 'lastNode';
  if (kind === 'chatTrigger') return chatAnswer(node) === 'lastNode';
  return kind === 'executeWorkflowTrigger';
}
