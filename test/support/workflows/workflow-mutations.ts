import type { JsonObject } from '../../../runtime/util/json';

/** A workflow in the making: whatever JSON allows. */
type Loose = Record<string, unknown>;
type LinksByType = Record<string, (Loose[] | null)[]>;
interface LooseWorkflow {
  nodes: Loose[];
  connections: Record<string, LinksByType | undefined>;
}

export interface Mutation {
  readonly kind: string;
  /** Numbers that choose which node, link or field; any will do. */
  readonly choices: readonly [number, number, number];
}

type Mutate = (workflow: LooseWorkflow, choices: Mutation['choices']) => void;

const VERSIONS: readonly unknown[] = [0, 1, 1.5, 2, 2.2, 3, 3.4, 99, '2', null, 'newest'];
const VALUES: readonly unknown[] = [
  null,
  '',
  0,
  -1,
  true,
  [],
  {},
  '={{ $json',
  '={{ }}',
  '={{ $json.x }} and {{ 1 }}',
  'ü',
  [null],
];
const TYPES = [
  'n8n-nodes-unknown.thing',
  'n8n-nodes-base.switch',
  'n8n-nodes-base.if',
  'n8n-nodes-base.noOp',
  '@n8n/n8n-nodes-langchain.agent',
  '@n8n/n8n-nodes-langchain.lmChatOpenRouter',
  '@n8n/n8n-nodes-langchain.memoryBufferWindow',
];

const SUB_TYPES = ['ai_languageModel', 'ai_memory', 'ai_tool', 'ai_outputParser', 'ai_unknown'];

const MUTATIONS: Readonly<Record<string, Mutate>> = {
  deleteNode: ({ nodes }, [a]) => void nodes.splice(a % nodes.length, 1),
  copyNode: ({ nodes }, [a]) => {
    const copy = structuredClone(some(nodes, a));
    nodes.push({ ...copy, name: `${String(copy.name)} copy` });
  },
  twin: ({ nodes }, [a]) => void nodes.push(structuredClone(some(nodes, a))),
  renameNode: ({ nodes }, [a, b]) => {
    some(nodes, a).name = ['Renamed', '', '__proto__', 'constructor', some(nodes, b).name][b % 5];
  },
  renameEverywhere: (workflow, [a, b]) => {
    const from = String(some(workflow.nodes, a).name);
    const to = ["It's", 'say "x"', '`${x}`', '\\', '{{ $json }}', '🚲'][b % 6] ?? '';
    const text = JSON.stringify({ nodes: workflow.nodes, connections: workflow.connections });
    Object.assign(workflow, JSON.parse(text.replaceAll(JSON.stringify(from), JSON.stringify(to))));
  },
  changeType: ({ nodes }, [a, b]) => void (some(nodes, a).type = pick(TYPES, b)),
  changeVersion: ({ nodes }, [a, b]) => void (some(nodes, a).typeVersion = pick(VERSIONS, b)),
  dropField: ({ nodes }, [a, b]) => {
    const node = some(nodes, a);
    Reflect.deleteProperty(node, pick(Object.keys(node), b) ?? '');
  },
  changeField: ({ nodes }, [a, b, c]) => {
    const node = some(nodes, a);
    node[pick(Object.keys(node), b) ?? ''] = pick(VALUES, c);
  },
  dropParameter: (workflow, choices) => {
    const found = parameterOf(workflow, choices);
    if (found !== undefined) Reflect.deleteProperty(found.holder, found.key);
  },
  changeParameter: (workflow, choices) => {
    const found = parameterOf(workflow, choices);
    if (found !== undefined) found.holder[found.key] = structuredClone(pick(VALUES, choices[1] + choices[2]));
  },
  disable: ({ nodes }, [a]) => void (some(nodes, a).disabled = true),
  dropLink: (workflow, [a, b]) => {
    const outputs = outputsOf(workflow, a);
    pick(outputs, b)?.pop();
  },
  emptyOutput: (workflow, [a, b]) => {
    const outputs = outputsOf(workflow, a);
    if (outputs.length > 0) outputs[b % outputs.length] = null;
  },
  addLink: (workflow, [a, b, c]) => {
    const link = { node: some(workflow.nodes, b).name, type: 'main', index: c % 3 === 0 ? 1 : 0 };
    const byType = linksFrom(workflow, some(workflow.nodes, a));
    const main = byType.main ?? [];
    byType.main = main;
    const output = c % Math.max(1, main.length);
    main[output] = [...(main[output] ?? []), link];
  },
  addSubLink: (workflow, [a, b, c]) => {
    const type = pick(SUB_TYPES, c) ?? '';
    const link = { node: some(workflow.nodes, b).name, type, index: c % 2 };
    linksFrom(workflow, some(workflow.nodes, a))[type] = [[link]];
  },
  linkNowhere: (workflow, [a]) => {
    linksFrom(workflow, some(workflow.nodes, a)).main = [[{ node: 'Nowhere', type: 'main', index: 0 }]];
  },
  moveLink: (workflow, [a, b, c]) => {
    const link = pick(pick(outputsOf(workflow, a), b) ?? [], c);
    if (link !== undefined) link.node = some(workflow.nodes, c).name;
  },
  breakLink: (workflow, [a, b, c]) => {
    const link = pick(pick(outputsOf(workflow, a), b) ?? [], 0);
    if (link !== undefined) link[pick(['node', 'type', 'index'], c) ?? ''] = pick(VALUES, c);
  },
  dropConnections: (workflow, [a]) => {
    const names = Object.keys(workflow.connections);
    Reflect.deleteProperty(workflow.connections, pick(names, a) ?? '');
  },
};

export const MUTATION_KINDS = Object.keys(MUTATIONS);

/** A copy with these changes, in their order; one that does not fit what the earlier ones left does nothing. */
export function mutated(workflow: object, mutations: readonly Mutation[]): JsonObject {
  const copy = structuredClone(workflow) as LooseWorkflow;
  for (const { kind, choices } of mutations) {
    if (copy.nodes.length > 0) MUTATIONS[kind]?.(copy, choices);
  }
  return JSON.parse(JSON.stringify(copy)) as JsonObject;
}

function pick<T>(list: readonly T[], choice: number): T | undefined {
  return list[choice % Math.max(1, list.length)];
}

/** A node of a workflow that has some. */
function some(nodes: readonly Loose[], choice: number): Loose {
  return pick(nodes, choice) ?? {};
}

/** The links of a node by type, its own even where it is called `__proto__`: the tests after this one share that object. */
function linksFrom({ connections }: LooseWorkflow, node: Loose): LinksByType {
  const name = String(node.name);
  const links = (Object.hasOwn(connections, name) ? connections[name] : undefined) ?? {};
  Object.defineProperty(connections, name, { value: links, writable: true, enumerable: true, configurable: true });
  return links;
}

function outputsOf({ connections }: LooseWorkflow, choice: number): (Loose[] | null)[] {
  const lists = Object.values(connections).flatMap((byType) => Object.values(byType ?? {}));
  return pick(lists, choice) ?? [];
}

/** An object somewhere in a node's parameters, and one of its keys. */
function parameterOf(
  { nodes }: LooseWorkflow,
  [a, b, c]: Mutation['choices'],
): { holder: Loose; key: string } | undefined {
  const holder = pick(objectsIn(some(nodes, a).parameters), b);
  const key = pick(Object.keys(holder ?? {}), c);
  return holder === undefined || key === undefined ? undefined : { holder, key };
}

function objectsIn(value: unknown): Loose[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value as Loose, ...Object.values(value).flatMap(objectsIn)];
}
