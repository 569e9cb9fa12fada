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

/** An error whose description n8n may send to a chat: that is the customer's sentence, and its message says the rest. */
export function toChatError(node: INode, error: unknown, sentence: string): NodeOperationError {
  const nodeError = toTextError(node, summarize(error));
  nodeError.description = sentence;
  return nodeError;
}

/** An error that says all in its message, where n8n shows no more. */
export function toTextError(node: INode, failure: Parameters<typeof oneText>[0]): NodeOperationError {
  const message = oneText(failure);
  const error = new NodeOperationError(node, message, { level: 'warning' });
  error.message = message;
  return error;
}

/** Errors of n8n itself, such as a failing expression, have a message only; that of a sub-node says why in its description. */
export function summarize(error: unknown): { code: string; message: string; hint: string } {
  const { code, message, hint, description, functionality } = error as Partial<RuntimeError & NodeOperationError>;
  if (hint !== undefined && code !== undefined) return { code, message: message ?? code, hint };
  const setup = {
    code: 'NODE_SETUP',
    message: message ?? String(error),
    hint: 'Check the parameters and credentials of this node.',
  };
  const isOfSubNode = functionality === 'configuration-node' && typeof description === 'string';
  return isOfSubNode ? { ...setup, hint: description } : setup;
}
