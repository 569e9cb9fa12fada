import { NodeOperationError, type IExecuteFunctions, type INode, type INodeExecutionData } from 'n8n-workflow';

import type { AgentResult, RuntimeError } from '../../runtime';
import { hasConnectedModel } from '../UniversalAiAgent/host/connected-model';
import { toJson } from '../UniversalAiAgent/operations/result';
import { isSimplified } from '../UniversalAiAgent/operations/simplify-output';

/** Code, message and hint as n8n shows them. The cause stays behind: it may hold what must not be stored. */
export function toNodeError(node: INode, error: unknown, itemIndex?: number): NodeOperationError {
  const { code, message, hint } = summarize(error);
  const nodeError = new NodeOperationError(node, message, {
    itemIndex,
    description: `${hint} (${code})`,
    level: 'warning',
  });
  // n8n rewrites messages that name a network error, and then no longer says which service it was.
  nodeError.message = message;
  return nodeError;
}

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

/** Errors of n8n itself, such as a failing expression, have a message only. */
function summarize(error: unknown): { code: string; message: string; hint: string } {
  const { code, message, hint } = error as Partial<RuntimeError>;
  if (hint !== undefined && code !== undefined) return { code, message: message ?? code, hint };
  return {
    code: 'NODE_SETUP',
    message: message ?? String(error),
    hint: 'Check the parameters and credentials of this node.',
  };
}
