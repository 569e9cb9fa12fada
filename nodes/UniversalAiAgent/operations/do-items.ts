import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import * as library from '../../../runtime/host';
import { findChat } from '../../shared/callers/chat';
import { hintAtChat, hintAtMemory, reportWarnings } from '../../shared/hints';
import type { Item } from '../../shared/item';
import { asCalled } from '../read/as-called';
import { isToolVariant } from '../read/tool-variant';
import { openChatStream } from './chat-stream';
import { withSentence } from './customer-sentence';
import { enqueueTask } from './enqueue-task';
import { type EndedItem, failItem } from './fail-item';
import { forItems, itemsAtOnce } from './for-items';
import { operationOf } from './operations';
import { readShape, shapeOutput } from './output-shape';
import { hintAtApprovals, hintAtRuns } from './run-summary';
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
  const ran = ended.flatMap((one) => (one.ran === undefined ? [] : [one.ran]));
  hintAtApprovals(node, ran);
  hintAtRuns(node, ran, chat);
  hintAtChat(
    node,
    chat,
    ended.some(({ isWhole }) => isWhole),
  );
  hintAtMemory(node, outcomes);
  reportWarnings(node, [...outcomes.flatMap(({ warnings }) => warnings), ...errors]);
  return ended.map(({ item }) => item);
}

async function doItem(node: IExecuteFunctions, item: Item): Promise<EndedItem> {
  const { index } = item;
  const stream = openChatStream(node, index);
  try {
    const shape = readShape(item);
    const operation = operationOf(node.getNode(), library);
    const outcome = await operation({ ...item, onEvent: stream?.onEvent });
    const json = await withSentence(item, outcome.item.json, shape.messages);
    await stream?.finish(json);
    const isWhole = shape.holds === 'all' && operation !== enqueueTask;
    return {
      item: shapeOutput({ ...outcome.item, json }, shape, node.getInputData()[index]),
      outcome,
      ran: operation === runTask ? outcome.item.json : undefined,
      isWhole,
    };
  } catch (error) {
    return failItem(item, error, stream);
  }
}
