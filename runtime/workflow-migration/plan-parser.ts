import type { AgentSettings } from './read-agent';
import type { Branch, WorkflowNode } from './contract';
import type { Graph } from './graph';
import type { Issue } from './issue';
import { isSame } from './merge-values';
import { kindOf } from './parameters';

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
    const issues = branches.some(({ memory }, index) => memory === undefined && isUnwrapped(used[index]))
      ? [WRAPPED]
      : [];
    return { connected: first ?? unused, hasOutputParser: first !== undefined, issues };
  }
  const text =
    'The branches ask for different output formats. Connect the same output parser to all of them, or to none.';
  return { hasOutputParser: false, issues: [{ reason: 'several-parsers', text }] };
}

/** Without a memory, an agent spreads what these parsers give over the item; all others put it under `output`. */
function isUnwrapped(parser: WorkflowNode | undefined): boolean {
  if (parser === undefined) return false;
  const kind = kindOf(parser);
  return kind === 'outputParserItemList' || (kind === 'outputParserStructured' && parser.typeVersion === 1);
}

const WRAPPED: Issue = {
  reason: 'output-shape',
  text: 'What its output parser gives stands in the item itself, and stands under output afterwards: nodes behind it have to read it there.',
  allowance: 'expressions',
};

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
