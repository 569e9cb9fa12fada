import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import type { AgentResult, RuntimeError } from '../../../runtime';
import { summarize, toNodeError } from '../../shared/errors';
import { hasConnectedModel } from '../host/connected-model';
import { toJson } from './result';
import { isSimplified } from './simplify-output';

/**
 * A failed item keeps what was done and spent. n8n sends an item with a top-level `error` to the error output, but
 * afterwards replaces the json of every item that still has one by the bare message. It copies the item in between,
 * so an `error` that is not enumerable does the first and escapes the second.
 */
export function toErrorItem(context: IExecuteFunctions, error: unknown, itemIndex: number): INodeExecutionData {
  if (isSimplified(context, itemIndex)) {
    return { json: { error: summarize(error).message }, pairedItem: { item: itemIndex } };
  }
  const result = (error as Partial<RuntimeError>).result as AgentResult | undefined;
  const item: INodeExecutionData = {
    json: {
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
