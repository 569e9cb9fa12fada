import { RuntimeError } from '../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import type { Workflow, WorkflowNode } from './contract';

/**
 * An exported workflow, checked: also one that lies in `{workflow: …}`, in `{data: …}` as n8n's API answers, or alone
 * in an array. Every field stays as it came; only version, position, parameters and connections that are missing
 * are filled in, as n8n does when it imports.
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
  const connections = found.connections || {};
  checkConnections(connections);
  return { ...found, nodes, connections } as Workflow;
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

function checkConnections(connections: JsonValue): void {
  if (!isJsonObject(connections)) throw invalid('its connections are not an object');
  for (const [name, byType] of Object.entries(connections)) {
    if (!isJsonObject(byType)) throw invalid(`the connections of "${name}" are not an object`);
    for (const [type, outputs] of Object.entries(byType)) {
      if (!Array.isArray(outputs)) throw invalid(`the ${type} connections of "${name}" are not a list`);
      for (const links of outputs as readonly JsonValue[]) checkLinks(links, `"${name}"`);
    }
  }
}

function checkLinks(links: JsonValue, owner: string): void {
  if (links === null) return;
  if (!Array.isArray(links)) throw invalid(`an output of ${owner} is not a list of links`);
  for (const link of links as readonly JsonValue[]) {
    const isLink = isJsonObject(link) && typeof link.node === 'string' && typeof link.type === 'string';
    if (!isLink || typeof link.index !== 'number') throw invalid(`a link of ${owner} has no node, type or index`);
  }
}

function invalid(problem: string): RuntimeError {
  return new RuntimeError('WORKFLOW_INVALID', { problem });
}
