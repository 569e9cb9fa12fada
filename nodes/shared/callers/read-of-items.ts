import { setImmediate as turn } from 'node:timers/promises';

import type { IDataObject, IExecuteFunctions, INodeExecutionData, ISupplyDataFunctions } from 'n8n-workflow';

import type { Library } from '../item';
import { type Caller, isMcpTrigger, itemsAbove } from './caller';
import { internals, isTool } from './engine-request';
import { followsItem, isExpression, isModelWritten, isWrittenByCaller } from './model-written';

/** Before it the item of a call is its whole body. */
const TELLS_OF_CALLER = 2.1;

interface Reader {
  readonly context: ISupplyDataFunctions | IExecuteFunctions;
  readonly caller: Caller;
  readonly library: Library;
}

/**
 * Reads parameters, as they were typed in, for the items of the caller. Rejects with TENANT_UNTRUSTED where a model could have a say in
 * one, and with ITEMS_DIFFER where the items do not agree, since n8n takes what the first one gets for all of them.
 */
export async function readOfItems({ context, caller, library }: Reader, typed: IDataObject): Promise<IDataObject> {
  const { workflow } = internals(context);
  const isBelow = caller.node === undefined || isTool(workflow, caller.node);
  if (Object.values(typed).some((one) => isUntrusted(one, caller, isBelow))) {
    throw new library.RuntimeError('TENANT_UNTRUSTED');
  }
  // Below a tool no expression knows which item of the agent above a call is for.
  const isShared = isBelow && Object.values(typed).some(isExpression) && itemsAbove(context, caller) > 1;
  if (isShared && caller.node !== undefined) throw new library.RuntimeError('ITEMS_DIFFER');
  return ofAllItems(typed, caller, library);
}

/** The picker gives an object, an expression a plain value. */
export function located(given: IDataObject[string]): IDataObject[string] {
  return typeof given === 'object' && given !== null ? (given as IDataObject).value : given;
}

function isUntrusted(typed: unknown, { node }: Caller, isBelow: boolean): boolean {
  if (node !== undefined && isMcpTrigger(node)) {
    return node.typeVersion >= TELLS_OF_CALLER ? isWrittenByCaller(typed) : isModelWritten(typed);
  }
  // n8n takes an item by the number of a run there.
  if (isBelow) return isModelWritten(typed) || followsItem(typed);
  return typeof typed === 'string' && /\$(?:fromai|tool)\b/i.test(typed);
}

/** An id or a name; undefined for what is none. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
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
