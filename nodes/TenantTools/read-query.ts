import { setImmediate as turn } from 'node:timers/promises';

import type { IDataObject, IExecuteFunctions, INodeExecutionData, ISupplyDataFunctions } from 'n8n-workflow';

import { isTool } from '../shared/callers/engine-request';
import { followsItem, isExpression, isModelWritten, isWrittenByCaller } from '../shared/callers/model-written';
import { identityOf } from '../shared/identity';
import type { Library } from '../shared/item';
import { type Caller, isMcpTrigger, itemsAbove } from './caller';

type Tools = Parameters<Parameters<Library['useRuntime']>[1]>[0]['tools'];
/** Tenant and rules of the tools, whom calls are for, and the line of the bill. */
export type ToolsQuery = Parameters<Tools['offer']>[0] & Pick<Parameters<Tools['call']>[0], 'meta' | 'task'>;

/** Type of the line. */
const TASK_TYPE = 'tenant_tools';
/** Before it the item of a call is its whole body. */
const TELLS_OF_CALLER = 2.1;

/**
 * Reads the parameters for the items of the caller. Rejects with TENANT_UNTRUSTED where a model could have a say in one, with
 * ITEMS_DIFFER where the items do not agree, since n8n takes the tools of the first one for all of them, and with INPUT_INVALID.
 */
export async function readQuery(
  context: ISupplyDataFunctions | IExecuteFunctions,
  caller: Caller,
  library: Library,
): Promise<ToolsQuery> {
  const { tenantId, agent, tier, options } = context.getNode().parameters as IDataObject;
  const { identity, tools } = (options ?? {}) as IDataObject;
  const typed = {
    ...(identity as IDataObject | undefined),
    tenantId: located(tenantId),
    agent: located(agent),
    tier,
    tools,
  };
  if (Object.values(typed).some((one) => isUntrusted(one, caller))) throw new library.RuntimeError('TENANT_UNTRUSTED');
  if (isSharedBelow(context, typed, caller)) throw new library.RuntimeError('ITEMS_DIFFER');
  const read = await ofAllItems(typed, caller, library);
  return {
    tenantId: textOf(read.tenantId) ?? '',
    ...{ agent: ruleOf(read.agent, 'Agent', library), tier: ruleOf(read.tier, 'Tier', library) },
    allowed: listOf(read.tools, !isExpression(tools), library),
    isApproved: caller.review !== undefined,
    meta: identityOf(read),
    task: { type: TASK_TYPE, id: taskId(context.getExecutionId(), caller) },
  };
}

/** The same for all calls that a run of the caller makes; no id where there is no execution. */
function taskId(execution: string | undefined, { node, runIndex, startedAt }: Caller): string | undefined {
  return execution === undefined ? undefined : ['n8n', execution, startedAt, node?.id, runIndex].join(':');
}

/** The picker gives an object, an expression a plain value. */
function located(given: IDataObject[string]): IDataObject[string] {
  return typeof given === 'object' && given !== null ? (given as IDataObject).value : given;
}

function isUntrusted(typed: unknown, { node }: Caller): boolean {
  if (node !== undefined && isMcpTrigger(node)) {
    return node.typeVersion >= TELLS_OF_CALLER ? isWrittenByCaller(typed) : isModelWritten(typed);
  }
  // n8n takes an item by the number of a run there.
  if (node === undefined || isTool(node)) return isModelWritten(typed) || followsItem(typed);
  return typeof typed === 'string' && /\$(?:fromai|tool)\b/i.test(typed);
}

/** Below a tool no expression knows which item of the agent above a call is for. */
function isSharedBelow(context: ISupplyDataFunctions | IExecuteFunctions, typed: IDataObject, caller: Caller): boolean {
  const { node } = caller;
  if (node === undefined || !isTool(node) || !Object.values(typed).some(isExpression)) return false;
  return itemsAbove(context, caller) > 1;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** Reads a value that narrows the tools: an expression that finds nothing would widen them. */
function ruleOf(value: unknown, name: string, library: Library): string | undefined {
  if (value === undefined || value === '') return undefined;
  const text = textOf(value);
  if (text !== undefined) return text;
  throw new library.RuntimeError('INPUT_INVALID', { issues: `${name}: the expression gives no text` });
}

function listOf(value: unknown, isTyped: boolean, library: Library): readonly string[] | undefined {
  if (value === undefined || (isTyped && Array.isArray(value) && value.length === 0)) return undefined;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new library.RuntimeError('INPUT_INVALID', { issues: 'Offer Only: the expression gives no list of names' });
}

/** Values that items were found to agree on: an agent reads its tools once for each of them. */
const agreed = new WeakMap<readonly INodeExecutionData[], Map<string, IDataObject>>();
/** Items that are looked at before others may have their turn. */
const AT_ONCE = 20;

async function ofAllItems(typed: IDataObject, { context, items }: Caller, library: Library): Promise<IDataObject> {
  const read = (index: number): IDataObject => {
    const entries = Object.entries(typed).map(([name, value]) => {
      const found = isExpression(value) ? (context.evaluateExpression(value.slice(1), index) ?? null) : value;
      return [name, found] as const;
    });
    return Object.fromEntries(entries);
  };
  if (items.length < 2 || !Object.values(typed).some(isExpression)) return read(0);
  const key = JSON.stringify(typed);
  const known = agreed.get(items) ?? new Map<string, IDataObject>();
  agreed.set(items, known);
  const before = known.get(key);
  if (before !== undefined) return before;
  const first = read(0);
  const text = JSON.stringify(first);
  for (let index = 1; index < items.length; index++) {
    if (JSON.stringify(read(index)) !== text) throw new library.RuntimeError('ITEMS_DIFFER');
    if (index % AT_ONCE === 0) await turn();
  }
  known.set(key, first);
  return first;
}
