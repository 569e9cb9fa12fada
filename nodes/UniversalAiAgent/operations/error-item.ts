import type { INodeExecutionData } from 'n8n-workflow';

import type { AgentResult, RuntimeError } from '../../../runtime/host';
import { summarize, toNodeError } from '../../shared/errors';
import type { Item } from '../../shared/item';
import { hasConnectedModel } from '../host/connected-model';
import { shapeOfError } from './output-shape';
import { toJson } from './result';

/**
 * A failed item keeps what was done and spent. n8n sends an item with a top-level `error` to the error output, but
 * afterwards replaces the json of every item that still has one by the bare message. It copies the item in between,
 * so an `error` that is not enumerable does the first and escapes the second.
 */
export function toErrorItem({ context, library, index: itemIndex }: Item, error: unknown): INodeExecutionData {
  const { isSimplified, keepsInput } = shapeOfError(context, itemIndex, library);
  const input = keepsInput ? context.getInputData()[itemIndex]?.json : {};
  if (isSimplified) {
    return { json: { ...input, error: summarize(error).message }, pairedItem: { item: itemIndex } };
  }
  const result = (error as Partial<RuntimeError>).result as AgentResult | undefined;
  const item: INodeExecutionData = {
    json: {
      ...input,
      ...(result === undefined ? {} : toJson(result, hasConnectedModel(context))),
      error: { ...summarize(error) },
    },
    pairedItem: { item: itemIndex },
  };
  if (context.getNode().onError !== 'continueErrorOutput') return item;
  return Object.defineProperty(item, 'error', {
    value: toNodeError(context.getNode(), error, itemIndex),
    enumerable: false,
  });
}
