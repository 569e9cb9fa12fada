import { RuntimeError } from '../errors/runtime-error';
import { isJsonObject, isList, type JsonObject, type JsonValue } from '../util/json';
import type { Link, Workflow, WorkflowNode } from './contract';

/**
 * An exported workflow, checked: also one that lies in `{workflow: …}`, in `{data: …}` as n8n's API answers, or alone
 * in an array. Every field stays as it came; only version, position, parameters and connections that are missing
 * are filled in, as n8n does when it imports, and connections without links go.
 * @throws RuntimeError WORKFLOW_INVALID
 */
export function parseWorkflow(input: unknown): Workflow {
  const found = unwrap(input);
  const nodes = (found.nodes as readonly JsonValue[]).map(checkNode);
  const seen = new Set<string>();
  for (const { name } of nodes) {
    if (seen.has(name)) throw invalid(`two nodes are named "${name}"`);
    seen.add(name);
  }
  return { ...found, nodes, connections: readConnections(found.connections) };
}

const WRAPPERS = ['workflow', 'data'];

function unwrap(input: unknown): JsonObject {
  if (Array.isArray(input)) {
    if (input.length !== 1) throw invalid(`it is a list of ${input.length} values, not one workflow`);
    return unwrap(input[0]);
  }
  if (!isJsonObject(input)) throw invalid('it is not an object');
  if (Array.isArray(input.nodes)) return input;
  const inner = WRAPPERS.map((key) => input[key]).find((value) => isJsonObject(value) && Array.isArray(value.nodes));
  if (!isJsonObject(inner)) throw invalid('it has no list of nodes');
  return inner;
}

function checkNode(node: JsonValue, index: number): WorkflowNode {
  if (!isJsonObject(node)) throw invalid(`node ${index + 1} is not an object`);
  if (!isText(node.name)) throw invalid(`node ${index + 1} has no name`);
  if (!isText(node.type)) throw invalid(`node "${node.name}" has no type`);
  return { ...node, ...filledIn(node) } as unknown as WorkflowNode;
}

function filledIn(node: JsonObject): JsonObject {
  const version = Number(node.typeVersion || 1);
  return {
    ...(typeof node.typeVersion === 'number' ? {} : { typeVersion: Number.isFinite(version) ? version : 1 }),
    ...(Array.isArray(node.position) ? {} : { position: [0, 0] }),
    ...(isJsonObject(node.parameters) ? {} : { parameters: {} }),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** The entries of an object, without those that are null, "" or an empty list, as PHP writes an empty object. */
function entriesOf(value: JsonValue | undefined, what: string): readonly (readonly [string, JsonValue])[] {
  if (isNone(value)) return [];
  if (!isJsonObject(value)) throw invalid(`${what} are not an object`);
  return Object.entries(value).filter((entry): entry is [string, JsonValue] => !isNone(entry[1]) || isList(entry[1]));
}

const isNone = (value: JsonValue | undefined): boolean =>
  value === undefined || value === null || value === '' || (isList(value) && value.length === 0);

function readConnections(connections: JsonValue | undefined): Workflow['connections'] {
  const byNode = entriesOf(connections, 'its connections').map(([name, byType]) => {
    const outputs = entriesOf(byType, `the connections of "${name}"`).map(([type, given]) => {
      if (!isList(given)) throw invalid(`the ${type} connections of "${name}" are not a list`);
      return [type, given.map((links) => readLinks(links, type, name))] as const;
    });
    return [name, Object.fromEntries(outputs)] as const;
  });
  return Object.fromEntries(byNode);
}

function readLinks(links: JsonValue, kind: string, owner: string): readonly Link[] | null {
  if (isNone(links)) return isList(links) ? [] : null;
  if (!isList(links)) throw invalid(`an output of "${owner}" is not a list of links`);
  return links.filter((link) => !isNone(link)).map((link) => readLink(link, kind, owner));
}

/** A link leads to the first input of its output's kind where it does not say to which. */
function readLink(link: JsonValue, kind: string, owner: string): Link {
  const { type = kind, index = 0, ...rest } = isJsonObject(link) ? link : {};
  if (!isText(rest.node) || typeof type !== 'string' || typeof index !== 'number') {
    throw invalid(`a link of "${owner}" has no node, type or index`);
  }
  return { ...rest, node: rest.node, type, index };
}

function invalid(problem: string): RuntimeError {
  return new RuntimeError('WORKFLOW_INVALID', { problem });
}
