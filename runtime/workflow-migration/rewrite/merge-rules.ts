import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import type { Connections, Link, MergePlan, Note, Workflow, WorkflowNode } from '../contract';
import { isSame } from '../expressions/merge-values';
import type { FoundReference, NodeReference } from '../expressions/references';
import { agentNames } from '../issue';
import { parameterAt } from '../parameters';
import { stableId } from '../plan/new-node';
import { collectReferences } from '../plan/reference-issues';
import { showName } from '../show-name';

const WITH_CONDITIONS_FROM = 3;

/**
 * Rules of a Switch that lead to the same new node become one, so that the node and what follows it run once with all
 * items. Only rules that stand side by side: one in between could take items from those behind it.
 */
export function mergeRules(
  workflow: Workflow,
  plans: readonly MergePlan[],
): { readonly workflow: Workflow; readonly notes: readonly Note[] } {
  let current = workflow;
  const references = plans.some(({ mergesRuns }) => mergesRuns)
    ? collectReferences(workflow)
    : new Map<string, readonly FoundReference[]>();
  const notes: Note[] = [];
  for (const plan of plans) {
    const router = plan.cluster.router?.node.name ?? '';
    const isReadable = references.get(router)?.some(isReadByOutput) !== true;
    const group = plan.mergesRuns && isReadable ? findGroup(current, plan) : undefined;
    if (group === undefined) continue;
    current = applyGroup(current, group);
    const count = group.outputs.length;
    notes.push({
      node: group.router.name,
      text: `${count} of its rules are one rule now, whose output ${group.first} leads to ${showName(plan.node.name)}; later outputs have other numbers.`,
    });
  }
  return { workflow: current, notes };
}

interface Group {
  readonly router: WorkflowNode;
  readonly rules: readonly JsonObject[];
  readonly first: number;
  /** The numbers of the outputs that become the first of them; they follow one another. */
  readonly outputs: readonly number[];
}

function findGroup({ nodes, connections }: Workflow, { cluster }: MergePlan): Group | undefined {
  if (cluster.router?.kind !== 'switch') return undefined;
  const { name } = cluster.router.node;
  const router = nodes.find((node) => node.name === name);
  const rules = router && plainRules(router);
  if (router === undefined || rules === undefined) return undefined;
  const agents = new Set(agentNames(cluster));
  const outputs = rules.flatMap((_rule, output) =>
    leadsTo(agents, connections[name]?.main?.[output]) ? [output] : [],
  );
  const [first = 0] = outputs;
  const isRow = outputs.length > 1 && outputs.every((output, index) => output === first + index);
  const group = outputs.map((output) => rules[output] as JsonObject);
  return isRow && canBeOne(group) ? { router, rules, first, outputs } : undefined;
}

/** The rules of a Switch of which only one can hold; undefined for any other. */
function plainRules(router: WorkflowNode): readonly JsonObject[] | undefined {
  const rules = parameterAt(router.parameters, 'rules.values');
  if (!hasPlainRules(router) || !Array.isArray(rules)) return undefined;
  const all = (rules as readonly JsonValue[]).filter(isJsonObject);
  return all.length === rules.length ? all : undefined;
}

/** True for links to these, and to nothing else. */
function leadsTo(names: ReadonlySet<string>, links: readonly Link[] | null | undefined): boolean {
  const all = links ?? [];
  return all.length > 0 && all.every(({ node }) => names.has(node));
}

function hasPlainRules({ typeVersion, parameters }: WorkflowNode): boolean {
  const fallback = parameterAt(parameters, 'options.fallbackOutput') ?? 'none';
  return (
    typeVersion >= WITH_CONDITIONS_FROM &&
    (parameters.mode ?? 'rules') === 'rules' &&
    parameterAt(parameters, 'options.allMatchingOutputs') !== true &&
    (fallback === 'none' || fallback === 'extra' || typeof fallback === 'number')
  );
}

/** `$('Switch').all(2)` reads what left by the third output. */
function isReadByOutput({ style, reads }: NodeReference): boolean {
  return style === 'items' || /^\s*\.\s*(?:all|first|last)\(\s*[^)\s]/.test(reads);
}

function conditionsOf(rule: JsonObject): JsonObject {
  return isJsonObject(rule.conditions) ? rule.conditions : {};
}

function listOf(rule: JsonObject): readonly JsonValue[] | undefined {
  const { conditions, combinator = 'and' } = conditionsOf(rule);
  if (!Array.isArray(conditions)) return undefined;
  return conditions.length === 1 || (conditions.length > 1 && combinator === 'or')
    ? (conditions as readonly JsonValue[])
    : undefined;
}

function canBeOne(rules: readonly JsonObject[]): boolean {
  const options = rules.map((rule) => conditionsOf(rule).options);
  return rules.every((rule) => listOf(rule) !== undefined) && options.every((one) => isSame(one, options[0]));
}

function applyGroup(workflow: Workflow, { router, rules, first, outputs }: Group): Workflow {
  const merged = new Set(outputs.slice(1));
  const group = outputs.map((output) => rules[output] as JsonObject);
  const values = rules.flatMap((rule, output) =>
    merged.has(output) ? [] : output === first ? [oneRule(group)] : [rule],
  );
  const parameters = {
    ...router.parameters,
    rules: { ...(router.parameters.rules as JsonObject), values },
    ...renumberFallback(router.parameters, first, merged.size),
  };
  const nodes = workflow.nodes.map((node) => (node === router ? { ...router, parameters } : node));
  return { ...workflow, nodes, connections: joinOutputs(workflow.connections, router.name, { first, merged }) };
}

function oneRule(group: readonly JsonObject[]): JsonObject {
  const [rule = {}] = group;
  const keys = group.flatMap(({ outputKey }) => (typeof outputKey === 'string' && outputKey !== '' ? [outputKey] : []));
  return {
    ...rule,
    conditions: {
      ...conditionsOf(rule),
      conditions: withOwnIds(group.flatMap((one) => listOf(one) ?? [])),
      combinator: 'or',
    },
    ...(rule.renameOutput === true && keys.length > 0 ? { outputKey: keys.join(', ') } : {}),
  };
}

/** Conditions of different rules may have the same id, those of one must not. */
function withOwnIds(conditions: readonly JsonValue[]): readonly JsonValue[] {
  const taken = new Set<JsonValue | undefined>();
  return conditions.map((condition, index) => {
    if (!isJsonObject(condition) || typeof condition.id !== 'string') return condition;
    const id = taken.has(condition.id) ? stableId([condition.id, String(index)]) : condition.id;
    taken.add(id);
    return { ...condition, id };
  });
}

function renumberFallback({ options }: JsonObject, first: number, count: number): JsonObject {
  if (!isJsonObject(options) || typeof options.fallbackOutput !== 'number') return {};
  const { fallbackOutput } = options;
  const last = first + count;
  return {
    options: {
      ...options,
      fallbackOutput: fallbackOutput > last ? fallbackOutput - count : Math.min(fallbackOutput, first),
    },
  };
}

/** The links of all merged outputs leave by the first; the others move up. */
function joinOutputs(
  connections: Connections,
  name: string,
  { first, merged }: { readonly first: number; readonly merged: ReadonlySet<number> },
): Connections {
  const { main = [], ...others } = connections[name] ?? {};
  const joined = main.flatMap((links, output) => (merged.has(output) || output === first ? (links ?? []) : []));
  const outputs = main.flatMap((links, output) => (merged.has(output) ? [] : [output === first ? joined : links]));
  return { ...connections, [name]: { ...others, main: outputs } };
}
