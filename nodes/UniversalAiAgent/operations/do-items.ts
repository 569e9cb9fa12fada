import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import * as library from '../../../runtime/host';
import { findChat } from '../../shared/callers/chat';
import { summarize, toNodeError } from '../../shared/errors';
import { hintAtChat, hintAtMemory, reportWarnings, type Warning } from '../../shared/hints';
import type { Item, ItemOutcome } from '../../shared/item';
import { asCalled } from '../read/as-called';
import { isToolVariant } from '../read/tool-variant';
import { openChatStream } from './chat-stream';
import { enqueueTask } from './enqueue-task';
import { toErrorItem } from './error-item';
import { forItems, itemsAtOnce } from './for-items';
import { operationOf } from './operations';
import { readShape, shapeOfError, shapeOutput } from './output-shape';
import { hintAtRuns } from './run-summary';
import { runTask } from './run-task';

/** Does the operation of the node with each item. Rejects with an error of n8n where the node does not continue after one. */
export async function doItems(node: IExecuteFunctions): Promise<INodeExecutionData[]> {
  const context = isToolVariant(node) ? asCalled(node, library) : node;
  const chat = findChat(node);
  const ended = await forItems(context, itemsAtOnce(node), (index, seen) =>
    doItem(node, { context: seen, library, index, chat }),
  );
  const outcomes = ended.flatMap(({ outcome }) => outcome ?? []);
  const errors = ended.flatMap(({ error }) => error ?? []);
  hintAtRuns(
    node,
    ended.map(({ ran }) => ran).filter((ran) => ran !== undefined),
    chat,
  );
  hintAtChat(
    node,
    chat,
    ended.some(({ isWhole }) => isWhole),
  );
  hintAtMemory(node, outcomes);
  reportWarnings(node, [...outcomes.flatMap(({ warnings }) => warnings), ...errors]);
  return ended.map(({ item }) => item);
}

interface EndedItem {
  readonly item: INodeExecutionData;
  readonly outcome?: ItemOutcome;
  /** Result of the run that was made now. */
  readonly ran?: IDataObject;
  readonly error?: Warning;
  /** True if the item holds more than the answer. */
  readonly isWhole: boolean;
}

async function doItem(node: IExecuteFunctions, item: Item): Promise<EndedItem> {
  const { index } = item;
  const stream = openChatStream(node, index);
  try {
    const shape = readShape(item);
    const operation = operationOf(node.getNode(), library);
    const outcome = await operation({ ...item, onEvent: stream?.onEvent });
    await stream?.finish(outcome.item.json);
    const ran = operation === runTask ? outcome.item.json : undefined;
    const isWhole = shape.holds === 'all' && operation !== enqueueTask;
    return { item: shapeOutput(outcome.item, shape, node.getInputData()[index]), outcome, ran, isWhole };
  } catch (error) {
    await stream?.fail(node.continueOnFail() ? (error as Error) : undefined);
    if (!node.continueOnFail()) throw toNodeError(node.getNode(), error, index);
    const ran = (error as { readonly result?: IDataObject } | undefined)?.result;
    const failed = { ...item, context: node };
    const isWhole = shapeOfError(failed).holds === 'all';
    return { item: toErrorItem(failed, error), error: summarize(error), ran, isWhole };
  }
}
