import type { IDataObject, INodeExecutionData } from 'n8n-workflow';

import type { OwnMessages } from '../../../runtime/host';
import { isForCustomers } from '../../shared/callers/chat';
import type { Item } from '../../shared/item';

/** Shape of the item of a result. */
export interface OutputShape {
  /**
   * `all`: the result, with its steps, tokens and cost. `answer`: only what n8n's AI Agent returns, also of a failure. `for-customer`:
   * the answer or a sentence in its place, and at the error output the error with its code.
   */
  readonly holds: 'all' | 'answer' | 'for-customer';
  /** The key for the result; undefined: its fields are those of the item. */
  readonly field?: string;
  /** The fields of the incoming item stay, under those of the result. */
  readonly keepsInput: boolean;
  /** Sentences for customers, by error code or status, for tenants that have none. */
  readonly messages: OwnMessages;
}

/** Keys that would change the item itself instead of standing in it. */
const FORBIDDEN = ['__proto__', 'constructor', 'prototype'];

/** Values of Output: Details, which replaced Output: Simplify in version 4. */
const DETAILS: readonly unknown[] = ['auto', 'always', 'never'];

/** Reads the shape before the run, so that an invalid one costs nothing. Throws INPUT_INVALID. */
export function readShape(item: Item): OutputShape {
  const { context, index, library } = item;
  // n8n evaluates what it is asked for: most nodes have none of these options.
  const set = context.getNode().parameters.options as IDataObject | undefined;
  const read = (name: string): unknown =>
    set?.[name] === undefined ? undefined : context.getNodeParameter(`options.${name}`, index, undefined);
  const holds = holdsOf(item, set, read);
  const [keep, field] = [read('includeInputFields'), read('outputField')];
  if (field !== undefined && (typeof field !== 'string' || FORBIDDEN.includes(field))) {
    throw new library.RuntimeError('INPUT_INVALID', { issues: 'Output: Field must be the name of a field' });
  }
  const messages = messagesOf(item, read('customerMessages'));
  return { holds, keepsInput: keep === true, messages, ...(field ? { field } : {}) };
}

function holdsOf(
  { context, library, chat }: Item,
  set: IDataObject | undefined,
  read: (name: string) => unknown,
): OutputShape['holds'] {
  const node = context.getNode();
  if (!isForCustomers(node)) return read('simplifyOutput') === true ? 'answer' : 'all';
  // A task that was pushed has no answer yet, and Get Result needs its ids.
  if (node.parameters.operation === 'enqueue') return 'all';
  // It takes no expression.
  const details = set?.outputDetails ?? 'auto';
  if (!DETAILS.includes(details)) {
    throw new library.RuntimeError('INPUT_INVALID', { issues: 'Output: Details must be auto, always or never' });
  }
  if (details !== 'always' && chat !== undefined) return 'for-customer';
  return details === 'never' ? 'answer' : 'all';
}

function messagesOf({ library }: Item, given: unknown): OwnMessages {
  if (given === undefined || given === '') return {};
  try {
    const messages = (typeof given === 'string' ? JSON.parse(given) : given) as OwnMessages;
    const texts = Object.values(messages);
    if (!Array.isArray(messages) && texts.every((text) => typeof text === 'string' && text !== '')) return messages;
  } catch {
    // Refused below.
  }
  const issues = 'Output: Customer Messages must be a JSON object of texts, by error code or status';
  throw new library.RuntimeError('INPUT_INVALID', { issues });
}

/** The shape for an item that has failed, maybe because the shape cannot be read: then nothing of a run is in it. */
export function shapeOfError(item: Item): OutputShape {
  const node = item.context.getNode();
  const forCustomer = item.chat !== undefined && isForCustomers(node);
  try {
    const shape = readShape(item);
    return forCustomer && node.parameters.operation === 'enqueue' ? { ...shape, holds: 'for-customer' } : shape;
  } catch {
    return { holds: forCustomer ? 'for-customer' : 'all', keepsInput: false, messages: {} };
  }
}

/** The item as the options want it. */
export function shapeOutput(
  item: INodeExecutionData,
  { holds, field, keepsInput }: OutputShape,
  input: INodeExecutionData | undefined,
): INodeExecutionData {
  const result = holds === 'all' ? item.json : { output: item.json.output };
  const json = field === undefined ? result : { [field]: holds === 'all' ? result : result.output };
  return { ...item, json: keepsInput ? { ...input?.json, ...json } : json };
}
