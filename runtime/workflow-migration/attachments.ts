import type { Branch, WorkflowNode } from './contract';
import type { Graph } from './graph';

/** The nodes wired to an agent that take part in a run: n8n treats disabled ones as if they were not there. */
export function attachments(agent: WorkflowNode, graph: Graph): Pick<Branch, 'models' | 'memory' | 'parser' | 'tools'> {
  const wired = (kind: string): readonly WorkflowNode[] =>
    graph
      .into(agent, kind)
      .filter((edge) => edge.from.disabled !== true)
      .toSorted((one, other) => one.index - other.index)
      .map((edge) => edge.from);
  const [memory] = wired('ai_memory');
  const [parser] = wired('ai_outputParser');
  return {
    models: wired('ai_languageModel'),
    ...(memory === undefined ? {} : { memory }),
    ...(parser === undefined ? {} : { parser }),
    tools: wired('ai_tool'),
  };
}

/** Disabled nodes wired to an agent: they do nothing, and stay wired, so that a person may enable them again. */
export function disabledParts(
  agent: WorkflowNode,
  graph: Graph,
): readonly { readonly from: string; readonly type: string }[] {
  return ['ai_memory', 'ai_outputParser', 'ai_tool'].flatMap((type) =>
    graph.into(agent, type).flatMap(({ from }) => (from.disabled === true ? [{ from: from.name, type }] : [])),
  );
}
