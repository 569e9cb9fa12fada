import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import * as library from '../../../runtime/host';
import { summarize, toNodeError } from '../../shared/errors';
import { hintAtMemory, reportWarnings, type Warning } from '../../shared/hints';
import type { Item, ItemOutcome } from '../../shared/item';
import { asCalled } from '../read/as-called';
import { isToolVariant } from '../read/tool-variant';
import { openChatStream } from './chat-stream';
import { toErrorItem } from './error-item';
import { forItems, itemsAtOnce } from './for-items';
import { operationOf } from './operations';
import { readShape, shapeOutput } from './output-shape';
import { hintAtRuns } from './run-summary';
import { runTask } from './run-task';

/** Does the operation of the node with each item. Rejects with an error of n8n where the node does not continue after one. */
export async function doItems(node: IExecuteFunctions): Promise<INodeExecutionData[]> {
  const context = isToolVariant(node) ? asCalled(node, library) : node;
  const ended = await forItems(context, itemsAtOnce(node), (index, seen) =>
    doItem(node, { context: seen, library, index }),
  );
  const outcomes = ended.flatMap(({ outcome }) => outcome ?? []);
  const errors = ended.flatMap(({ error }) => error ?? []);
  hintAtRuns(
    node,
    ended.map(({ ran }) => ran).filter((ran) => ran !== undefined),
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
}

async function doItem(node: IExecuteFunctions, item: Item): Promise<EndedItem> {
  const { index } = item;
  const chat = openChatStream(node, index);
  try {
    const shape = readShape(node, index, library);
    const operation = operationOf(node.getNode(), library);
    const outcome = await operation({ ...item, onEvent: chat?.onEvent });
    await chat?.finish(outcome.item.json);
    const ran = operation === runTask ? outcome.item.json : undefined;
    return { item: shapeOutput(outcome.item, shape, node.getInputData()[index]), outcome, ran };
  } catch (error) {
    await chat?.fail(node.continueOnFail() ? (error as Error) : undefined);
    if (!node.continueOnFail()) throw toNodeError(node.getNode(), error, index);
    const ran = (error as { readonly result?: IDataObject } | undefined)?.result;
    return { item: toErrorItem({ context: node, library, index }, error), error: summarize(error), ran };
  }
}
