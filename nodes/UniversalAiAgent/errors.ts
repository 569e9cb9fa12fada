import { NodeOperationError, type IExecuteFunctions, type INodeExecutionData } from 'n8n-workflow';

import type { AgentResult, RuntimeError } from '../../runtime';
import { toJson } from './result';

/** Code, message and hint as n8n shows them. The cause stays behind: it may hold what must not be stored. */
export function toNodeError(context: IExecuteFunctions, error: unknown, itemIndex: number): NodeOperationError {
  const { code, message, hint } = summarize(error);
  return new NodeOperationError(context.getNode(), message, {
    itemIndex,
    description: `${hint} (${code})`,
    level: 'warning',
  });
}

/** A failed item keeps what was done and spent. The top-level `error` sends it to the error output with all of it. */
export function toErrorItem(error: unknown, nodeError: NodeOperationError, itemIndex: number): INodeExecutionData {
  const result = (error as Partial<RuntimeError>).result as AgentResult | undefined;
  const { code, message, hint } = summarize(error);
  return {
    json: { ...(result === undefined ? {} : toJson(result)), error: { code, message, hint } },
    error: nodeError,
    pairedItem: { item: itemIndex },
  };
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
