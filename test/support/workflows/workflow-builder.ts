import type { JsonObject } from '../../../runtime/util/json';
import type { Connections, Link, Workflow } from '../../../runtime/workflow-migration/contract';

/** A node whose place and id are given when the workflow is put together. */
export interface Part extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly type: string;
  readonly typeVersion: number;
  readonly parameters: JsonObject;
}

/** One link, before it is put among the others of its node. */
export interface Wire {
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly output: number;
  readonly input: number;
}

const FOLDERS: Readonly<Record<string, string>> = {
  base: 'n8n-nodes-base',
  ai: '@n8n/n8n-nodes-langchain',
};

/**
 * @param name of the node
 * @param type `base.switch@3.4` or `ai.agent@3.1`
 */
export function node(name: string, type: string, parameters: JsonObject = {}): Part {
  const [, folder = '', rest = '', version = ''] = /^(\w+)\.(\w+)@([\d.]+)$/.exec(type) ?? [];
  if (FOLDERS[folder] === undefined) throw new Error(`no such kind of node: ${type}`);
  return { name, type: `${FOLDERS[folder]}.${rest}`, typeVersion: Number(version), parameters };
}

/** Output by output, the nodes that it leads to. */
export function main(from: string, ...outputs: readonly (readonly string[])[]): Wire[] {
  return outputs.flatMap((targets, output) => targets.map((to) => ({ from, to, type: 'main', output, input: 0 })));
}

/** Main links through all of these, one after the other. */
export function chain(...names: readonly string[]): Wire[] {
  return names.slice(1).flatMap((to, index) => main(names[index] ?? '', [to]));
}

/** A sub-node wired to its agents; `ai_languageModel:1` is the second input of that kind. */
export function attach(from: string, kind: string, to: readonly string[]): Wire[] {
  const [type = '', input = '0'] = kind.split(':');
  return to.map((target) => ({ from, to: target, type, output: 0, input: Number(input) }));
}

/** An exported workflow. The same parts give the same text: ids and positions are made of the order. */
export function workflow(name: string, { parts, wires, ...more }: WorkflowParts): Workflow {
  const depths = depthsOf(parts, wires);
  const nodes = parts.map((part, index) => ({
    id: `00000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`,
    position: placeOf(part, { parts, wires, depths }),
    ...part,
  }));
  return { name, nodes, connections: connectionsOf(wires), pinData: {}, settings: { executionOrder: 'v1' }, ...more };
}

export interface WorkflowParts extends Readonly<Record<string, unknown>> {
  readonly parts: readonly Part[];
  readonly wires: readonly Wire[];
  readonly pinData?: JsonObject;
}

function connectionsOf(wires: readonly Wire[]): Connections {
  const all: Record<string, Record<string, Link[][]>> = {};
  for (const { from, to, type, output, input } of wires) {
    const outputs = ((all[from] ??= {})[type] ??= []);
    while (outputs.length <= output) outputs.push([]);
    outputs[output]?.push({ node: to, type, index: input });
  }
  return all;
}

/** How many main links lie between a node and the first one. Links back are not followed. */
function depthsOf(parts: readonly Part[], wires: readonly Wire[]): ReadonlyMap<string, number> {
  const depths = new Map<string, number>();
  for (const { name } of parts) {
    const before = wires
      .filter(({ to, type }) => to === name && type === 'main')
      .map(({ from }) => depths.get(from) ?? 0);
    depths.set(name, before.length === 0 ? 0 : Math.max(...before) + 1);
  }
  return depths;
}

interface Plan {
  readonly parts: readonly Part[];
  readonly wires: readonly Wire[];
  readonly depths: ReadonlyMap<string, number>;
}

const COLUMN = 420;
const ROW = 380;

/** Nodes of one depth in one column; sub-nodes side by side below the first node that they are wired to. */
function placeOf({ name }: Part, plan: Plan): readonly [number, number] {
  const wire = plan.wires.find(({ from, type }) => from === name && type !== 'main');
  if (wire === undefined) return placeInColumn(name, plan);
  const root = plan.parts.find((part) => part.name === wire.to);
  const [x, y] = root === undefined ? [0, 0] : placeOf(root, plan);
  const beside = plan.parts.filter((part) => isFirstRoot(part.name, wire.to, plan)).map((part) => part.name);
  return [x + beside.indexOf(name) * 140, y + 190];
}

function isFirstRoot(name: string, root: string, { wires }: Plan): boolean {
  return wires.find(({ from, type }) => from === name && type !== 'main')?.to === root;
}

function placeInColumn(name: string, { parts, wires, depths }: Plan): readonly [number, number] {
  const isSubNode = (one: string): boolean => wires.some(({ from, type }) => from === one && type !== 'main');
  const depth = depths.get(name) ?? 0;
  const column = parts.map((part) => part.name).filter((one) => !isSubNode(one) && depths.get(one) === depth);
  return [depth * COLUMN, (column.indexOf(name) - (column.length - 1) / 2) * ROW];
}
