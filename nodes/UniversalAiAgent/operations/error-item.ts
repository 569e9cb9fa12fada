import type { IDataObject, INode, INodeExecutionData } from 'n8n-workflow';

import type { AgentResult, RuntimeError } from '../../../runtime/host';
import { summarize, toNodeError } from '../../shared/errors';
import type { Item } from '../../shared/item';
import { hasConnectedModel } from '../host/connected-model';
import { shapeOfError } from './output-shape';
import { toJson } from './result';

/**
 * A failed item keeps what was done and spent, unless its shape is the answer alone. n8n sends an item with a top-level `error` to
 * the error output, but afterwards replaces the json of every item that still has one by the bare message. It copies the item in
 * between, so an `error` that is not enumerable does the first and escapes the second. `sentence`: what the customer reads.
 */
export function toErrorItem(item: Item, error: unknown, sentence?: string): INodeExecutionData {
  const { context, index: itemIndex } = item;
  const node = context.getNode();
  const hasErrorOutput = node.onError === 'continueErrorOutput';
  const shape = shapeOfError(item);
  const input = shape.keepsInput ? context.getInputData()[itemIndex]?.json : {};
  const summary = summarize(error);
  const toItem = (json: IDataObject): INodeExecutionData => ({
    json: { ...input, ...json },
    pairedItem: { item: itemIndex },
  });
  if (shape.holds === 'answer') return toItem({ error: summary.message });
  if (shape.holds === 'for-customer' && !hasErrorOutput) {
    return readByCustomer(toItem({ [shape.field ?? 'output']: sentence }), node, summary.message);
  }
  const done = shape.holds === 'all' ? resultOf(item, error) : {};
  const failed = toItem({ ...done, ...(sentence === undefined ? {} : { output: sentence }), error: { ...summary } });
  return hasErrorOutput ? withHidden(failed, toNodeError(node, error, itemIndex)) : failed;
}

/** Adds the error by which n8n knows that it is to try again; the customer does not get it. */
function readByCustomer(item: INodeExecutionData, { retryOnFail }: INode, message: string): INodeExecutionData {
  return retryOnFail === true ? { ...item, json: withHidden(item.json, message) } : item;
}

/** The result of a run that had begun, as an item has it. */
function resultOf({ context }: Item, error: unknown): IDataObject {
  const result = (error as Partial<RuntimeError>).result as AgentResult | undefined;
  return result === undefined ? {} : toJson(result, hasConnectedModel(context));
}

function withHidden<T extends object>(object: T, error: unknown): T {
  return Object.defineProperty(object, 'error', { value: error, enumerable: false });
}
