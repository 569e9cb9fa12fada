import { isModelWritten } from '../../shared/callers/model-written';
import { type Item, type ItemOutcome, withOptions } from '../../shared/item';
import { readQueueConfig } from '../read/queue-config';
import { isToolVariant } from '../read/tool-variant';
import { toReportItem } from './result';

/** Waits for the result of a task that was pushed to the list, and leaves it there. Rejects with RESULT_NOT_READY. */
export async function getResult(item: Item): Promise<ItemOutcome> {
  const { context, library, index } = item;
  refuseUntrustedKey(item);
  const read = (name: string): unknown => context.getNodeParameter(name, index, '');
  const resultKey = textOf(read('resultKey'));
  const taskId = textOf(read('taskId'));
  const waitSeconds = Number(read('waitSeconds'));
  const config = await readQueueConfig(withOptions(item));
  const query = {
    resultKey,
    waitSeconds,
    signal: context.getExecutionCancelSignal(),
    ...(taskId === '' ? {} : { taskId }),
  };
  const report = await library.useTaskQueue(config, (queue) => queue.getResult(query));
  return toReportItem(report, index);
}

/** A model that names the key could read the results of other tenants. */
function refuseUntrustedKey({ context, library }: Item): void {
  if (!isToolVariant(context)) return;
  if (isModelWritten(context.getNode().parameters.resultKey)) throw new library.RuntimeError('RESULT_UNTRUSTED');
}

/** An expression that finds nothing gives none. */
function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
}
