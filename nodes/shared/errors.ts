import { type INode, NodeOperationError } from 'n8n-workflow';

import type { RuntimeError } from '../../runtime/host';

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

/** Message, hint and code as one text, where n8n shows no more. */
export function oneText({ message, hint, code }: { message: string; hint?: string; code: string }): string {
  const sentence = /[.!?…]$/.test(message) ? message : `${message}.`;
  return [sentence, hint, `(${code})`].filter(Boolean).join(' ');
}

/** Errors of n8n itself, such as a failing expression, have a message only. */
export function summarize(error: unknown): { code: string; message: string; hint: string } {
  const { code, message, hint } = error as Partial<RuntimeError>;
  if (hint !== undefined && code !== undefined) return { code, message: message ?? code, hint };
  return {
    code: 'NODE_SETUP',
    message: message ?? String(error),
    hint: 'Check the parameters and credentials of this node.',
  };
}
