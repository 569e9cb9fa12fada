import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { words } from '../util/text/words';
import type { Workflow, WorkflowNode } from './contract';

/**
 * Reads what an export may leave out: null, "" and absent mean the same in a node; an id that several nodes have is none; and
 * `=text` without braces is that text.
 */
export function readAbsent(workflow: Workflow): Workflow {
  const ids = Map.groupBy(workflow.nodes, ({ id }) => id);
  const name = typeof workflow.name === 'string' ? workflow.name : undefined;
  return {
    ...workflow,
    name,
    nodes: workflow.nodes.map((node) => readNode(node, (ids.get(node.id)?.length ?? 0) > 1)),
  };
}

/** Gives the nodes that stayed the fields back that were read as absent; those that nothing else changed are the given ones. */
export function asGiven(migrated: Workflow, { given, read }: Readonly<Record<'given' | 'read', Workflow>>): Workflow {
  const before = new Map(given.nodes.map((node, index) => [node.name, { node, read: read.nodes[index] }]));
  return {
    ...migrated,
    ...('name' in given ? { name: given.name } : {}),
    nodes: migrated.nodes.map((node) => {
      const one = before.get(node.name);
      if (one?.node.type !== node.type) return node;
      return one.read === node ? one.node : { ...one.node, ...node };
    }),
  };
}

function readNode(node: WorkflowNode, isShared: boolean): WorkflowNode {
  const { parameters, credentials, ...fields } = node;
  const kept = Object.entries(fields).filter(([name, value]) => isThere(value) && !(isShared && name === 'id'));
  const references = Object.entries(isJsonObject(credentials) ? credentials : {}).filter(([, one]) =>
    isJsonObject(one),
  );
  return {
    ...(Object.fromEntries(kept) as unknown as WorkflowNode),
    parameters: PLANNED.test(node.type) ? (withoutMark(parameters) as JsonObject) : parameters,
    ...(references.length === 0 ? {} : { credentials: Object.fromEntries(references) }),
  };
}

/** Nodes of other packages are not read beyond their names. */
const PLANNED = /^@n8n\/n8n-nodes-langchain\./;

/** What would begin with = again without its mark keeps it. */
const PLAIN_TEXT = /^=(?!=)(?![^]*\{\{)/;

/** Options that the editor leaves as "" when somebody empties them: their default holds. */
const NUMBERS: ReadonlySet<string> = new Set(
  words(`maxIterations temperature maxTokens topP frequencyPenalty presencePenalty timeout maxRetries
    maxTokensFromMemory`),
);

const isThere = (value: unknown): boolean => value !== null && value !== '';

function withoutMark(value: JsonValue): JsonValue {
  if (typeof value === 'string') return PLAIN_TEXT.test(value) ? value.slice(1) : value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(withoutMark);
  if (!isJsonObject(value)) return value;
  const given = Object.entries(value).filter(([key, inner]) => inner !== null && !(inner === '' && NUMBERS.has(key)));
  return Object.fromEntries(given.map(([key, inner]) => [key, withoutMark(inner)]));
}
