import type { MergePlan, WorkflowNode } from '../contract';
import { agentNames } from '../issue';
import { stableId } from '../plan/new-node';
import { showInMarkdown } from '../show-name';
import { type Box, freePlace, STICKY_NOTE } from './free-place';

const WIDTH = 380;
const MIN_HEIGHT = 260;
const HEADING_HEIGHT = 50;
const LINE_HEIGHT = 22;
const LETTERS_A_LINE = 46;
const GAP = 40;
const MAX_LINES = 40;

interface NoteRequest {
  readonly plan: MergePlan;
  readonly gone: ReadonlySet<string>;
  readonly name: string;
  /** What it must not cover. */
  readonly boxes: readonly Box[];
}

/** Says on the canvas, above the new node, what was done. */
export function stickyNote({ plan, gone, name, boxes }: NoteRequest): {
  readonly note: WorkflowNode;
  readonly box: Box;
} {
  const { node } = plan;
  const [x, y] = node.position;
  const content = contentOf(plan, gone);
  const height = heightOf(content);
  const box = freePlace({ x: x - GAP, y: y - height - GAP, width: WIDTH, height }, boxes);
  const note = {
    parameters: { content, height, width: WIDTH, color: 5 },
    id: stableId(['note', ...agentNames(plan.cluster), node.id ?? '']),
    name,
    type: STICKY_NOTE,
    typeVersion: 1,
    position: [box.x, box.y],
  } as const;
  return { note, box };
}

/** So high that all of it can be read. */
function heightOf(content: string): number {
  const [, ...lines] = content.replaceAll('\\', '').split('\n');
  const shown = lines.reduce((sum, { length }) => sum + Math.ceil(length / LETTERS_A_LINE), 0);
  return Math.max(MIN_HEIGHT, HEADING_HEIGHT + shown * LINE_HEIGHT);
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
        `- ${showInMarkdown(agent)}: tier ${showInMarkdown(code)} (${showInMarkdown(model)})${isNew ? ', a new row' : ''}`,
    ),
    ...report.tools.map(
      ({ node: tool, code }) => `- ${showInMarkdown(tool)}: row ${showInMarkdown(code)} of the database`,
    ),
    ...connected.map(({ from }) => `- ${showInMarkdown(from)}: still connected`),
    ...notes.map((text) => `- ${text}`),
    '',
    'Its items hold `output` alone, as before. For steps, tokens and cost set *Output: Details* to Always in its options.',
  ];
  return lines.length > MAX_LINES
    ? [...lines.slice(0, MAX_LINES), '- and more: see the report'].join('\n')
    : lines.join('\n');
}
