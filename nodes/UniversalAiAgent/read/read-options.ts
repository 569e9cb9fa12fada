import type { IDataObject } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../../runtime/host';
import { taskOptions } from '../panel/task-options.generated';

/** The option's name in the editor, and its name in a task. */
const NAMES = new Map(
  taskOptions.map(({ name }) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
);

/** The node's options as a task has them. Throws INPUT_INVALID for rules that are no JSON: they must not fall away. */
export function readOptions(options: IDataObject, library: typeof RuntimeLibrary): IDataObject {
  const named: IDataObject = {};
  for (const [name, value] of Object.entries(options)) {
    const key = NAMES.get(name);
    if (key !== undefined && value !== '') named[key] = value;
  }
  // An expression may give the names as text.
  for (const key of ['tools', 'disabled_tools']) {
    const names = named[key];
    if (typeof names === 'string') named[key] = names.split(',').map((tool) => tool.trim());
  }
  if (typeof named.tool_permissions === 'string') named.tool_permissions = parseRules(named.tool_permissions, library);
  return { ...named, ...readApproval(options.approval as { decide?: IDataObject } | undefined) };
}

/** An expression that finds no run leaves the node as it is without an approval. */
function readApproval(approval: { readonly decide?: IDataObject } = {}): IDataObject {
  const { runId, decision } = approval.decide ?? {};
  return typeof runId === 'string' && runId !== '' ? { approval: { run_id: runId, decision } } : {};
}

function parseRules(text: string, library: typeof RuntimeLibrary): IDataObject {
  try {
    return library.parseExactly(text) as IDataObject;
  } catch (error) {
    const issues = `Tool Permissions is not valid JSON: ${(error as Error).message}`;
    throw new library.RuntimeError('INPUT_INVALID', { issues });
  }
}
