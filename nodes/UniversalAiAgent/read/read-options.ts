import type { IDataObject, INodeProperties } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../../runtime/host';
import { taskOptions } from '../panel/task-options.generated';

/** Each option with its name in a task. */
const OPTIONS = new Map(
  taskOptions.map((option) => [
    option.name,
    { ...option, key: option.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) },
  ]),
);

/** The node's options as a task has them. Throws INPUT_INVALID for JSON that is none: rules must not fall away. */
export function readOptions(options: IDataObject, library: typeof RuntimeLibrary): IDataObject {
  const named: IDataObject = {};
  for (const [name, value] of Object.entries(options)) {
    const option = OPTIONS.get(name);
    if (option !== undefined && value !== '') named[option.key] = readOption(option, value, library);
  }
  return { ...named, ...readApproval(options.approval as { decide?: IDataObject } | undefined) };
}

/** An expression may give a list as text. */
function readOption(
  { type, typeOptions, displayName }: INodeProperties,
  value: IDataObject[string],
  library: typeof RuntimeLibrary,
): IDataObject[string] {
  if (typeof value !== 'string') return value;
  if (type === 'json') return parseJson(displayName, value, library);
  const isList = type === 'multiOptions' || typeOptions?.multipleValues === true;
  return isList ? value.split(',').map((name) => name.trim()) : value;
}

/** An expression that finds no run leaves the node as it is without an approval. */
function readApproval(approval: { readonly decide?: IDataObject } = {}): IDataObject {
  const { runId, decision } = approval.decide ?? {};
  return typeof runId === 'string' && runId !== '' ? { approval: { run_id: runId, decision } } : {};
}

function parseJson(name: string, text: string, library: typeof RuntimeLibrary): IDataObject {
  try {
    return library.parseExactly(text) as IDataObject;
  } catch (error) {
    const issues = `${name} is not valid JSON: ${(error as Error).message}`;
    throw new library.RuntimeError('INPUT_INVALID', { issues });
  }
}
