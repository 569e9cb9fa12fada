import type { INodeExecutionData } from 'n8n-workflow';

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
  const { holds, keepsInput } = shapeOfError(item);
  const input = keepsInput ? context.getInputData()[itemIndex]?.json : {};
  const { message } = summarize(error);
  if (holds === 'answer') return { json: { ...input, error: message }, pairedItem: { item: itemIndex } };
  if (holds === 'for-customer' && !hasErrorOutput) {
    // By an error in the json n8n knows that Retry On Fail is to try again; the customer does not get it.
    const json = Object.defineProperty({ ...input, output: sentence }, 'error', { value: message, enumerable: false });
    return { json, pairedItem: { item: itemIndex } };
  }
  const result = holds === 'all' ? ((error as Partial<RuntimeError>).result as AgentResult | undefined) : undefined;
  const failed: INodeExecutionData = {
    json: {
      ...input,
      ...(result === undefined ? {} : toJson(result, hasConnectedModel(context))),
      ...(sentence === undefined ? {} : { output: sentence }),
      error: { ...summarize(error) },
    },
    pairedItem: { item: itemIndex },
  };
  if (!hasErrorOutput) return failed;
  return Object.defineProperty(failed, 'error', { value: toNodeError(node, error, itemIndex), enumerable: false });
}
