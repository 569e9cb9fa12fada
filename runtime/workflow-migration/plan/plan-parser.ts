import type { Branch, WorkflowNode } from '../contract';
import { isSame } from '../expressions/merge-values';
import type { Graph } from '../graph';
import type { Issue } from '../issue';
import { kindOf } from '../parameters';
import type { AgentSettings } from './read-agent';

export interface ParserPlan {
  readonly connected?: WorkflowNode;
  readonly hasOutputParser: boolean;
  readonly issues: readonly Issue[];
}

/** Output parsers that read the same are one; the first of them stays. */
export function planParser(branches: readonly Branch[], settings: readonly AgentSettings[], graph: Graph): ParserPlan {
  const used = branches.map(({ parser }, index) => (settings[index]?.hasOutputParser === true ? parser : undefined));
  const [first] = used;
  const isShared = used.every((parser) => parser?.name === first?.name || isSameParser(parser, first, graph));
  if (isShared) {
    // One that is wired and not used stays wired and not used.
    const unused = first === undefined ? branches.find(({ parser }) => parser !== undefined)?.parser : undefined;
    const wraps = first !== undefined && wrapsValue(first, graph);
    const issues = first === undefined ? [] : branches.flatMap((one, index) => placeIssue(one, settings[index], wraps));
    return { connected: first ?? unused, hasOutputParser: first !== undefined, issues };
  }
  const text =
    'The branches ask for different output formats. Connect the same output parser to all of them, or to none.';
  return { hasOutputParser: false, issues: [{ reason: 'several-parsers', text }] };
}

/** Whether the parser gives `{ output: value }`. The first version of the structured one and lists give the value alone. */
function wrapsValue(parser: WorkflowNode, graph: Graph): boolean {
  const [inner] = kindOf(parser) === 'outputParserAutofixing' ? graph.into(parser, 'ai_outputParser') : [];
  const { from } = inner ?? { from: parser };
  return kindOf(from) === 'outputParserStructured' && from.typeVersion > 1;
}

/** The new node gives the value in `output`, always. */
function placeIssue({ agent, memory }: Branch, settings: AgentSettings | undefined, wraps: boolean): readonly Issue[] {
  const isNested = settings?.parsedAs === 'output' && wraps;
  // With a memory, it is taken apart.
  const isSpread = settings?.parsedAs === 'item' && !wraps && memory === undefined;
  if (!isNested && !isSpread) return [];
  const place = isNested ? 'output.output' : 'the item itself';
  const text = `With its parser, the answer stands in ${place}; the new node gives it in output. Change the nodes behind that read it.`;
  return [{ node: agent.name, reason: 'output-shape', text, allowance: 'expressions' }];
}

function isSameParser(one: WorkflowNode | undefined, other: WorkflowNode | undefined, graph: Graph): boolean {
  if (one === undefined || other === undefined) return false;
  const hasParts = [one, other].some((node) =>
    ['ai_languageModel', 'ai_outputParser'].some((kind) => graph.into(node, kind).length > 0),
  );
  return (
    !hasParts &&
    one.type === other.type &&
    one.typeVersion === other.typeVersion &&
    isSame(one.parameters, other.parameters) &&
    isSame(one.credentials ?? {}, other.credentials ?? {})
  );
}
