import { isJsonObject, type JsonValue } from '../../util/json';
import type { WorkflowNode } from '../contract';
import type { Edge } from '../graph';
import { decide, type Entry } from './decide';
import type { MergedAgents } from './merge-agents';
import { isLiveAgent, routedEdges, type Search } from './router-search';

/**
 * Filters (or IFs of which only "true" is used) beside one another, each with an agent behind it: all of them get every
 * item. Their agents can be merged when no item passes two of them.
 */
export function mergeParallel(nodes: readonly WorkflowNode[], search: Search): readonly MergedAgents[] {
  const filters = nodes.map((node) => readFilter(node, search)).filter((filter) => filter !== undefined);
  const groups = [...Map.groupBy(filters, ({ source }) => source).values()];
  return groups.flatMap((group) => mergeGroup(group, search));
}

/** Where its items come from, and its way to an agent; undefined for any other node. */
function readFilter(node: WorkflowNode, search: Search): (Entry & { readonly source: string }) | undefined {
  const routing = search.routings.get(node.name);
  if (routing === undefined || !KINDS.has(node.type)) return undefined;
  const [source, ...others] = search.graph.into(node, 'main');
  const [edge, ...further] = routedEdges(node, search).filter(({ to }) => leadsOn(to, search));
  if (source === undefined || others.length > 0 || edge?.output !== 0 || further.length > 0) return undefined;
  if (!isOnlyWay(edge, search) || routing[0] === undefined) return undefined;
  const path = [{ router: node, test: routing[0].test }];
  const from = { node: node.name, output: 0 };
  return { source: `${source.output} ${source.from.name}`, agent: edge.to, from, path };
}

const KINDS = new Set(['n8n-nodes-base.if', 'n8n-nodes-base.filter']);

const leadsOn = (node: WorkflowNode, search: Search): boolean => isLiveAgent(node) || search.routings.has(node.name);

function isOnlyWay({ to }: Edge, search: Search): boolean {
  return isLiveAgent(to) && search.graph.into(to, 'main').length === 1 && !search.alone.has(to.name);
}

function mergeGroup(entries: readonly Entry[], search: Search): readonly MergedAgents[] {
  const routers = entries.flatMap(({ path }) => path.map(({ router }) => router));
  const [router, ...inner] = routers;
  if (router === undefined || inner.length === 0) return [];
  const decision = excludeOneAnother(routers) ? decide(entries) : OVERLAP;
  if (decision.kind === 'decided') return [{ router, inner, choices: decision.choices }];
  for (const { agent } of entries) search.alone.set(agent.name, decision.why);
  return [];
}

const OVERLAP = {
  kind: 'undecided',
  why: {
    reason: 'overlapping-filters',
    text: 'It cannot be told that no item passes several of the filters beside one another, so that an item may have several answers.',
  },
} as const;

/** True when all compare the same with other texts or numbers. */
function excludeOneAnother(routers: readonly WorkflowNode[]): boolean {
  const tests = routers.map(({ typeVersion, parameters }) =>
    typeVersion >= 2 ? readEquals(parameters.conditions) : undefined,
  );
  const values = new Set(tests.map((test) => test?.value));
  return (
    values.size === routers.length && !values.has(undefined) && new Set(tests.map((test) => test?.left)).size === 1
  );
}

function readEquals(filter: JsonValue | undefined): { readonly left: string; readonly value: string } | undefined {
  const conditions = isJsonObject(filter) ? filter.conditions : undefined;
  const list: readonly JsonValue[] = Array.isArray(conditions) ? (conditions as readonly JsonValue[]) : [];
  const [condition, ...others] = list;
  if (!isJsonObject(condition) || others.length > 0 || !isTextEquals(condition.operator)) return undefined;
  const { leftValue, rightValue } = condition;
  if (typeof leftValue !== 'string' || typeof rightValue !== 'string') return undefined;
  return /^(=|$)/.test(rightValue) ? undefined : { left: leftValue, value: rightValue.toLowerCase() };
}

function isTextEquals(operator: JsonValue | undefined): boolean {
  return isJsonObject(operator) && operator.type === 'string' && operator.operation === 'equals';
}
