import type { MergePlan, WorkflowNode } from './contract';
import { agentNames } from './issue';
import { stableId } from './new-node';
import { showInMarkdown } from './show-name';

const WIDTH = 380;
const HEIGHT = 260;
const GAP = 40;
const MAX_LINES = 40;

/** Says on the canvas, above the new node, what was done. */
export function stickyNote(plan: MergePlan, gone: ReadonlySet<string>, name: string): WorkflowNode {
  const { node } = plan;
  const [x, y] = node.position;
  return {
    parameters: { content: contentOf(plan, gone), height: HEIGHT, width: WIDTH, color: 5 },
    id: stableId(['note', ...agentNames(plan.cluster), node.id ?? '']),
    name,
    type: 'n8n-nodes-base.stickyNote',
    typeVersion: 1,
    position: [x - GAP, y - HEIGHT - GAP],
  };
}

function contentOf({ node, cluster, connected, report }: MergePlan, gone: ReadonlySet<string>): string {
  const agents = agentNames(cluster);
  const notes = [...new Set(cluster.branches.map(({ agent }) => agent))].flatMap(({ name, notes: text }) =>
    gone.has(name) && typeof text === 'string' && text.trim() !== ''
      ? [`Note of ${showInMarkdown(name)}: ${showInMarkdown(text)}`]
      : [],
  );
  const lines = [
    `## ${showInMarkdown(node.name)}`,
    `stands for ${agents.map(showInMarkdown).join(', ')}.`,
    '',
    ...report.tiers.map(
      ({ code, model, agent, isNew }) =>
        `- ${showInMarkdown(agent)}: tier ${showInMarkdown(code)} (${showInMarkdown(model)})${isNew ? ', added by the SQL file' : ''}`,
    ),
    ...report.tools.map(
      ({ node: tool, code }) =>
        `- ${showInMarkdown(tool)}: row ${showInMarkdown(code)} of the database, added by the SQL file`,
    ),
    ...connected.map(({ from }) => `- ${showInMarkdown(from)}: still connected`),
    ...notes.map((text) => `- ${text}`),
  ];
  return lines.length > MAX_LINES
    ? [...lines.slice(0, MAX_LINES), '- and more: see the report'].join('\n')
    : lines.join('\n');
}
