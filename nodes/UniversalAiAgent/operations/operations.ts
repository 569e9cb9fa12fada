import type { INode } from 'n8n-workflow';

import type { Library, Operation } from '../../shared/item';
import { enqueueTask } from './enqueue-task';
import { getResult } from './get-result';
import { runTask } from './run-task';

const OPERATIONS: ReadonlyMap<unknown, Operation> = new Map([
  ['run', runTask],
  ['enqueue', enqueueTask],
  ['getResult', getResult],
]);

/** What the node is to do with each item. It takes no expression, so n8n need not be asked. Throws INPUT_INVALID. */
export function operationOf({ parameters }: INode, library: Library): Operation {
  // Workflows from before there were operations have none.
  const operation = OPERATIONS.get(parameters.operation ?? 'run');
  if (operation === undefined) throw new library.RuntimeError('INPUT_INVALID', { issues: 'the operation is unknown' });
  return operation;
}
