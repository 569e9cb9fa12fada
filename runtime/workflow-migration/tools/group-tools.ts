import { canonicalJson } from '../../util/json';
import type { Branch, Note, WorkflowNode } from '../contract';
import { showName } from '../show-name';
import { toolNameOf } from './tool-names';

/** A tool of some of the branches. */
export interface Candidate {
  readonly node: WorkflowNode;
  /** The nodes that it stands for: more than one where each branch has a copy of it. */
  readonly nodes: readonly WorkflowNode[];
  /** Whether the agent of each branch has the tool. */
  readonly ofBranch: readonly boolean[];
}

interface ToolGroup {
  readonly members: readonly Candidate[];
  /** All of them as one tool, where that is the same to every branch. */
  readonly whole?: Candidate;
  readonly notes: readonly Note[];
}

export function readCandidates(branches: readonly Branch[]): readonly Candidate[] {
  const nodes = new Map(branches.flatMap(({ tools }) => tools.map((tool) => [tool.name, tool] as const)));
  return [...nodes.values()].map((node) => ({
    node,
    nodes: [node],
    ofBranch: branches.map(({ tools }) => tools.some(({ name }) => name === node.name)),
  }));
}

/** Copies of one tool, which every branch has under a name of its own, since n8n wants names to differ. */
export function groupTools(candidates: readonly Candidate[], branches: readonly Branch[]): readonly ToolGroup[] {
  const groups = Map.groupBy(candidates, ({ node }) => definitionOf(node));
  return [...groups.values()].map((members) => groupOf(members, branches));
}

function groupOf(members: readonly Candidate[], branches: readonly Branch[]): ToolGroup {
  const ofBranch = branches.map((_branch, index) => members.filter((one) => one.ofBranch[index] === true).length);
  const [first] = members;
  // A branch that has it twice shows the model two tools.
  if (first === undefined || members.length < 2 || ofBranch.some((count) => count > 1)) return { members, notes: [] };
  const nodes = members.map(({ node }) => node);
  const name = commonName(nodes.map((node) => node.name));
  const asked = nodes.find((node) => toolNameOf(node) !== toolNameOf({ name }) && isNamed(node, branches));
  if (asked !== undefined) {
    const text = `It does not become one row with its like of the other branches: a prompt calls it by its name, ${showName(asked.name)}.`;
    return { members, notes: [{ node: asked.name, text }] };
  }
  const node = { ...first.node, name };
  return { members, whole: { node, nodes, ofBranch: ofBranch.map((count) => count > 0) }, notes: [] };
}

/** Everything of a node but its name and its place. */
function definitionOf({ id: _id, name: _name, position: _position, ...definition }: WorkflowNode): string {
  const { notes: _notes, notesInFlow: _inFlow, webhookId: _webhook, ...rest } = definition;
  return canonicalJson(rest);
}

/** The words that all names begin with, else those that all end with: `Find orders` of `Find orders1` and `Find orders 2`. */
function commonName(names: readonly string[]): string {
  const words = names.map((name) => name.replace(/\d+$/, '').split(/([\s_-]+)/));
  const ahead = commonStart(words);
  const behind = commonStart(words.map((parts) => parts.toReversed())).toReversed();
  const [name] = [ahead, behind].map((parts) => parts.join('').replace(/^[\s_-]+|[\s_-]+$/g, '')).filter(Boolean);
  return name ?? (names[0] as string);
}

function commonStart(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists;
  const end = first.findIndex((part, index) => others.some((other) => other[index] !== part));
  return end < 0 ? first : first.slice(0, end);
}

/** Prompts may say which tool to use. */
function isNamed(node: WorkflowNode, branches: readonly Branch[]): boolean {
  // The letter of an escape is no part of the word behind it.
  const text = JSON.stringify(branches.map(({ agent }) => agent.parameters)).replaceAll(/\\[^u]/g, ' ');
  return [node.name, toolNameOf(node)].some((name) => hasWord(text, name));
}

function hasWord(text: string, word: string): boolean {
  const isLetter = (letter: string | undefined): boolean => letter !== undefined && /[\w-]/.test(letter);
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isLetter(text[at - 1]) && !isLetter(text[at + word.length])) return true;
  }
  return false;
}
