import type { IExecuteFunctions } from 'n8n-workflow';

import { asAgent, findRequest, internals, isTool, type SeesItems } from '../../shared/callers/engine-request';
import { followsItem, isExpression, isModelWritten } from '../../shared/callers/model-written';
import type { Library } from '../../shared/item';

/** Item of an agent that a call is for. */
interface Caller {
  readonly context: SeesItems;
  readonly item: number;
  /** True where n8n does not tell which item it is. */
  readonly isUnknown: boolean;
}

/**
 * Context of the node as a tool of another agent. The item of a call is the agent's with the model's words over it, and n8n takes it
 * for the item with the number of the run; so what no model has a say in is evaluated for the agent's own item. Reading a parameter
 * that depends on an item throws ITEMS_DIFFER where n8n does not tell which one the call is for.
 */
export function asCalled(context: IExecuteFunctions, library: Library): IExecuteFunctions {
  const { parameters } = context.getNode();
  const caller = callerOf(context);
  const read = (typed: unknown, given: unknown): unknown => {
    if (isExpression(typed)) return isModelWritten(typed) ? given : evaluate(typed, caller, library);
    if (typeof typed !== 'object' || typed === null) return given ?? typed;
    const inner = (given ?? {}) as Readonly<Record<string, unknown>>;
    if (Array.isArray(typed)) return typed.map((one, index) => read(one, inner[index]));
    return Object.fromEntries(Object.entries(typed).map(([name, one]) => [name, read(one, inner[name])]));
  };
  const getNodeParameter = (name: string, index: number, ...more: readonly object[]): unknown => {
    const typed = parameters[name];
    const ofHost = (): unknown => context.getNodeParameter(name, index, ...more);
    if (!hasExpression(typed)) return ofHost();
    return read(typed, isModelWritten(typed) ? ofHost() : undefined);
  };
  return Object.create(context, { getNodeParameter: { value: getNodeParameter } }) as IExecuteFunctions;
}

function callerOf(context: IExecuteFunctions): Caller {
  const request = findRequest(context);
  if (request === undefined) {
    const { workflow, parentNode, connectionInputData } = internals(context);
    const isBelow = parentNode !== undefined && isTool(workflow, parentNode);
    return { context, item: 0, isUnknown: isBelow || connectionInputData.length > 1 };
  }
  const { entry, action } = request;
  const { itemIndex } = action.metadata as { readonly itemIndex?: number };
  const isOnly = (entry.data.main?.[0]?.length ?? 0) < 2;
  return { context: asAgent(context, entry), item: itemIndex ?? 0, isUnknown: itemIndex === undefined && !isOnly };
}

function evaluate(typed: string, { context, item, isUnknown }: Caller, library: Library): unknown {
  if (isUnknown && followsItem(typed)) throw new library.RuntimeError('ITEMS_DIFFER');
  return context.evaluateExpression(typed.slice(1), item);
}

function hasExpression(typed: unknown): boolean {
  if (typeof typed === 'object' && typed !== null) return Object.values(typed).some(hasExpression);
  return isExpression(typed);
}
