import type { ChunkType, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import { isToolVariant } from '../read/tool-variant';

/**
 * Whether a chat waits for chunks of an answer. As a tool the node answers to the other agent only, which writes to the
 * chat itself.
 */
export function isStreaming(context: IExecuteFunctions): boolean {
  return context.isStreaming() && !isToolVariant(context);
}

/**
 * Sends the whole answer of an item to a chat that streams, as one message. An item without an answer, such as that of a
 * task that was enqueued, sends nothing.
 */
export async function streamAnswer(
  context: IExecuteFunctions,
  { json }: INodeExecutionData,
  index: number,
): Promise<void> {
  const text = chatText(json);
  if (text === undefined) return;
  await send(context, index, { type: 'begin' });
  await send(context, index, { type: 'item', content: text });
  await send(context, index, { type: 'end' });
}

/** A failure that the execution goes on with. n8n itself tells the chat of one that ends it. */
export async function streamError(context: IExecuteFunctions, { message }: Error, index: number): Promise<void> {
  await send(context, index, { type: 'begin' });
  // It ends the message too.
  await send(context, index, { type: 'error', content: message });
}

interface Chunk {
  readonly type: ChunkType;
  readonly content?: string;
}

/** The type of n8n hides that it is asynchronous: chunks have an order, and on a worker they travel through Redis. */
type Sender = Pick<IExecuteFunctions, 'logger'> & {
  readonly sendChunk: (...chunk: Parameters<IExecuteFunctions['sendChunk']>) => void | Promise<void>;
};

/** Never rejects: a chat that has gone must not take away an answer that was paid for. */
async function send(context: Sender, index: number, { type, content }: Chunk): Promise<void> {
  try {
    await context.sendChunk(type, index, content);
  } catch (error) {
    context.logger.warn(`The answer could not be streamed: ${(error as Error).message}`);
  }
}

/** The chat shows nothing for an empty text, so a run without an answer says what it came to. */
function chatText({ output, status, awaiting }: INodeExecutionData['json']): string | undefined {
  if (output === undefined) return undefined;
  if (output !== '') return typeof output === 'string' ? output : JSON.stringify(output);
  const { reason } = (awaiting ?? {}) as { readonly reason?: string };
  return reason ?? `No answer (${status as string}).`;
}
