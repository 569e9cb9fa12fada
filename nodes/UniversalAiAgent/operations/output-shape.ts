import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import type { Library } from '../../shared/item';

/** How the item of a result is to look. */
export interface OutputShape {
  /** Only what n8n's AI Agent gives, and nothing of the bill. */
  readonly isSimplified: boolean;
  /** The key for the result; undefined: its fields are those of the item. */
  readonly field?: string;
  /** The fields of the incoming item stay, under those of the result. */
  readonly keepsInput: boolean;
}

const PLAIN: OutputShape = { isSimplified: false, keepsInput: false };

/** Keys that would change the item itself instead of standing in it. */
const FORBIDDEN = ['__proto__', 'constructor', 'prototype'];

/** Read before the run, so that a shape that cannot be costs nothing. Throws INPUT_INVALID. */
export function readShape(context: IExecuteFunctions, index: number, library: Library): OutputShape {
  // n8n evaluates what it is asked for: most nodes have none of these options.
  const set = context.getNode().parameters.options as IDataObject | undefined;
  const read = (name: string): unknown =>
    set?.[name] === undefined ? undefined : context.getNodeParameter(`options.${name}`, index, undefined);
  const [simplify, keep, field] = [read('simplifyOutput'), read('includeInputFields'), read('outputField')];
  if (simplify === undefined && keep === undefined && field === undefined) return PLAIN;
  if (field !== undefined && (typeof field !== 'string' || FORBIDDEN.includes(field))) {
    throw new library.RuntimeError('INPUT_INVALID', { issues: 'Output: Field must be the name of a field' });
  }
  return { isSimplified: simplify === true, keepsInput: keep === true, ...(field ? { field } : {}) };
}

/** The shape for an item that has failed, maybe because the shape cannot be read. */
export function shapeOfError(context: IExecuteFunctions, index: number, library: Library): OutputShape {
  try {
    return readShape(context, index, library);
  } catch {
    return PLAIN;
  }
}

/** The item as the options want it. */
export function shapeOutput(
  item: INodeExecutionData,
  { isSimplified, field, keepsInput }: OutputShape,
  input: INodeExecutionData | undefined,
): INodeExecutionData {
  const result = isSimplified ? { output: item.json.output } : item.json;
  const json = field === undefined ? result : { [field]: isSimplified ? result.output : result };
  return { ...item, json: keepsInput ? { ...input?.json, ...json } : json };
}
