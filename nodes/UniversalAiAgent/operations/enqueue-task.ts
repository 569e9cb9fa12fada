import type { IDataObject } from 'n8n-workflow';

import { isModelWritten } from '../../shared/callers/model-written';
import { type Item, type ItemOutcome, withOptions } from '../../shared/item';
import { readQueueConfig } from '../read/queue-config';
import { readTask } from '../read/request';
import { isToolVariant } from '../read/tool-variant';

/** Pushes the task of an item to the list. The same item of the same execution is the same task, also when it is tried again. */
export async function enqueueTask(given: Item): Promise<ItemOutcome> {
  refuseUntrustedOptions(given);
  const item = withOptions(given);
  const config = await readQueueConfig(item);
  const task = withQueueFields(readTask(item), item.options);
  const { task_id, trace_id, result_key } = await item.library.useTaskQueue(config, (queue) => queue.enqueue(task));
  return { item: { json: { task_id, trace_id, result_key }, pairedItem: { item: item.index } }, warnings: [] };
}

/** A model that names them could write to the lists and keys of others. */
function refuseUntrustedOptions({ context, library }: Item): void {
  if (!isToolVariant(context)) return;
  const { options } = context.getNode().parameters;
  const { resultKey, taskList } = (typeof options === 'object' ? options : { taskList: options }) as IDataObject;
  if (isModelWritten(resultKey)) throw new library.RuntimeError('RESULT_UNTRUSTED');
  if (!isModelWritten(taskList)) return;
  throw new library.RuntimeError('INPUT_INVALID', { issues: 'Task List must not be what a model can write' });
}

/** Here the option wins over the item: it says where this workflow waits for the answer. */
function withQueueFields(task: IDataObject, { priority, resultKey }: IDataObject): IDataObject {
  const callback = task.callback as IDataObject | undefined;
  return {
    ...task,
    ...(priority === undefined ? {} : { priority }),
    ...(typeof resultKey === 'string' && resultKey !== '' ? { callback: { ...callback, result_key: resultKey } } : {}),
  };
}
