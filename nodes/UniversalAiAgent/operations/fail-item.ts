import type { IDataObject, INodeExecutionData } from 'n8n-workflow';

import type { AgentResult, RuntimeError } from '../../../runtime/host';
import { isForCustomers } from '../../shared/callers/chat';
import { oneText, summarize, toChatError, toNodeError } from '../../shared/errors';
import type { Warning } from '../../shared/hints';
import type { Item, ItemOutcome } from '../../shared/item';
import { hasConnectedModel } from '../host/connected-model';
import { noteFailure } from '../host/custom-data';
import type { ChatStream } from './chat-stream';
import { sentenceFor } from './customer-sentence';
import { toErrorItem } from './error-item';
import { shapeOfError, shapeOutput } from './output-shape';
import { toJson } from './result';

export interface EndedItem {
  readonly item: INodeExecutionData;
  readonly outcome?: ItemOutcome;
  /** Result of the run that was made now. */
  readonly ran?: IDataObject;
  readonly error?: Warning;
  /** True if the item holds more than the answer. */
  readonly isWhole: boolean;
}

interface Failure {
  readonly summary: Warning;
  readonly result?: AgentResult;
  /** Text for the customer; undefined if no customer reads it. */
  readonly sentence?: string;
  /** `answer`: to a customer a used-up budget is one. */
  readonly ending: 'answer' | 'item' | 'throw';
}

/** The item of a failure, or its answer to the customer. Rejects with an error of n8n where the node does not continue. */
export async function failItem(item: Item, error: unknown, stream?: ChatStream): Promise<EndedItem> {
  const { context: node, index, chat } = item;
  const failure = await readFailure(item, error);
  const { summary, result, sentence, ending } = failure;
  noteFailure(node, result, summary.code);
  if (ending === 'throw') {
    await stream?.fail();
    throw sentence === undefined
      ? toNodeError(node.getNode(), error, index)
      : toChatError(node.getNode(), error, sentence);
  }
  if (ending === 'answer') await stream?.finish({ output: sentence });
  else await stream?.fail(sentence ?? summary.message);
  if (chat !== undefined) node.logger.warn(oneText(summary));
  const failed = ending === 'answer' ? toAnswer(item, failure) : toErrorItem(item, error, sentence);
  const isWhole = shapeOfError(item).holds === 'all';
  return { item: failed, error: summary, ran: result as IDataObject | undefined, isWhole };
}

async function readFailure(item: Item, error: unknown): Promise<Failure> {
  const { context: node, chat } = item;
  const { result, code } = error as Partial<RuntimeError> & { readonly result?: AgentResult };
  const forCustomers = isForCustomers(node.getNode());
  const isAnswer = forCustomers && chat !== undefined && code === 'BUDGET_EXCEEDED';
  const goesOn = node.continueOnFail() ? 'item' : 'throw';
  const ending = isAnswer ? 'answer' : goesOn;
  // n8n sends the description of an error to a chat that streams, also of a tool, and to its own chat.
  const isRead = forCustomers && (ending !== 'throw' || chat !== undefined || node.isStreaming());
  const about = { code, status: result?.status };
  const sentence = isRead ? await sentenceFor(item, about, shapeOfError(item).messages) : undefined;
  return { summary: summarize(error), result, sentence, ending };
}

function toAnswer(item: Item, { result, sentence }: Failure): INodeExecutionData {
  const { context, index } = item;
  const done = result === undefined ? { status: 'budget_exceeded' } : toJson(result, hasConnectedModel(context));
  const answer = { json: { ...done, output: sentence }, pairedItem: { item: index } };
  return shapeOutput(answer, shapeOfError(item), context.getInputData()[index]);
}
