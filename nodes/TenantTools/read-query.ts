import type { IDataObject, IExecuteFunctions, INodeExecutionData, ISupplyDataFunctions } from 'n8n-workflow';

import { identityOf } from '../shared/identity';
import type { Library } from '../shared/item';
import { isModelWritten } from '../shared/model-written';
import { type Caller, isTool } from './caller';

type Tools = Parameters<Parameters<Library['useRuntime']>[1]>[0]['tools'];
/** Whose tools, under which rules, for whom and on which line of the bill. */
export type Query = Parameters<Tools['offer']>[0] & Pick<Parameters<Tools['call']>[0], 'meta' | 'task'>;

/** Type of the line. */
const TASK_TYPE = 'tenant_tools';
export const MCP_TRIGGER = '@n8n/n8n-nodes-langchain.mcpTrigger';

/**
 * Reads the parameters for the items of the caller. Throws TENANT_UNTRUSTED where a model could have a say in one, and ITEMS_DIFFER
 * where the items do not agree: n8n takes the tools of the first one for all of them.
 */
export function readQuery(
  context: Pick<ISupplyDataFunctions | IExecuteFunctions, 'getNode' | 'getExecutionId'>,
  caller: Caller,
  library: Library,
): Query {
  const { tenantId, agent, tier, options } = context.getNode().parameters;
  const { identity, tools } = (options ?? {}) as IDataObject;
  const typed = { ...(identity as IDataObject | undefined), tenantId: located(tenantId), agent: located(agent), tier };
  if (Object.values(typed).some((one) => isUntrusted(one, caller))) throw new library.RuntimeError('TENANT_UNTRUSTED');
  const read = ofAllItems(typed, caller, library);
  const execution = context.getExecutionId() as string | undefined;
  const id = execution === undefined ? undefined : ['n8n', execution, caller.node?.id, caller.runIndex].join(':');
  return {
    tenantId: read.tenantId ?? '',
    ...{ agent: read.agent, tier: read.tier, isApproved: caller.review !== undefined },
    allowed: Array.isArray(tools) && tools.length > 0 ? (tools as string[]) : undefined,
    meta: identityOf(read),
    task: { type: TASK_TYPE, id },
  };
}

/** The picker gives an object, an expression a plain value. */
function located(given: unknown): unknown {
  return typeof given === 'object' && given !== null ? (given as { readonly value?: unknown }).value : given;
}

function isUntrusted(typed: unknown, { node }: Caller): boolean {
  // Whoever calls an MCP server writes its requests, and a node that is a tool has items that a model wrote.
  const isCalled = node === undefined || node.type === MCP_TRIGGER;
  if (isCalled || isTool(node)) return isModelWritten(typed, isCalled);
  return typeof typed === 'string' && /\$fromai/i.test(typed);
}

type Values = Readonly<Record<string, string>>;

/** What items were found to agree on: an agent reads its tools once for each of them. */
const agreed = new WeakMap<readonly INodeExecutionData[], Map<string, Values>>();

function ofAllItems(typed: Readonly<Record<string, unknown>>, caller: Caller, library: Library): Values {
  const { context, items } = caller;
  const read = (index: number): Values => {
    const entries = Object.entries(typed).map(([name, value]) => {
      const isExpression = typeof value === 'string' && value.startsWith('=');
      const found = isExpression ? context.evaluateExpression(value.slice(1), index) : value;
      return [name, typeof found === 'string' || typeof found === 'number' ? String(found) : ''] as const;
    });
    return Object.fromEntries(entries.filter(([, value]) => value !== ''));
  };
  if (items.length < 2) return read(0);
  const key = JSON.stringify(typed);
  const known = agreed.get(items) ?? new Map<string, Values>();
  agreed.set(items, known);
  const before = known.get(key);
  if (before !== undefined) return before;
  const first = read(0);
  const text = JSON.stringify(first);
  if (items.some((_item, index) => JSON.stringify(read(index)) !== text))
    throw new library.RuntimeError('ITEMS_DIFFER');
  known.set(key, first);
  return first;
}
