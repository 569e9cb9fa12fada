import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import type { Workflow, WorkflowNode } from './contract';

/** A workflow as it is planned with, and which of its nodes stood otherwise in the export. */
interface Read {
  readonly workflow: Workflow;
  readonly given: ReadonlyMap<WorkflowNode, WorkflowNode>;
}

/**
 * Reads what an export may leave out: null, "" and absent mean the same in a node; an id that several nodes have is none; and
 * `=text` without braces is that text.
 */
export function readAbsent(workflow: Workflow): Read {
  const ids = Map.groupBy(workflow.nodes, ({ id }) => id);
  const given = new Map<WorkflowNode, WorkflowNode>();
  const nodes = workflow.nodes.map((node) => {
    const read = readNode(node, (ids.get(node.id)?.length ?? 0) > 1);
    given.set(read, node);
    return read;
  });
  return { workflow: { ...workflow, nodes }, given };
}

/** Puts the nodes that are as they were read back as they were given. */
export function asGiven({ workflow, given }: Read): Workflow {
  return { ...workflow, nodes: workflow.nodes.map((node) => given.get(node) ?? node) };
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

const isThere = (value: unknown): boolean => value !== null && value !== '';

function withoutMark(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.startsWith('=') && !value.includes('{{') ? value.slice(1) : value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(withoutMark);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutMark(inner)]));
}
