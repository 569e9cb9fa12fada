import type { ChunkType, IDataObject, IExecuteFunctions } from 'n8n-workflow';

import type { OnEvent } from '../../../runtime/host';
import { isToolVariant } from '../read/tool-variant';

/** Pieces of a model wait for one another so long, no longer than a reader notices: on a worker each chunk is a message in Redis. */
const CHUNK_MS = 10;
/** Limit of the time to send a chunk; after it the rest of the message is dropped. */
const CHUNK_LIMIT_MS = 10_000;

/** What a chat that streams is told of one item. */
export interface ChatStream {
  /** Undefined where the answer is to come as a whole. */
  readonly onEvent?: OnEvent;
  /** Sends what of the answer was not shown yet. An item without an answer, such as that of a task that was enqueued, sends nothing. */
  readonly finish: (json: IDataObject) => Promise<void>;
  /** A failure that the execution goes on with. n8n itself tells the chat of one that ends it. */
  readonly fail: (message?: string) => Promise<void>;
}

/**
 * Undefined where no chat waits for chunks. As a tool the node answers to the other agent only, which writes to the chat
 * itself.
 */
export function openChatStream(context: IExecuteFunctions, index: number): ChatStream | undefined {
  if (!context.isStreaming() || isToolVariant(context)) return undefined;
  const options = (context.getNode().parameters.options ?? {}) as IDataObject;
  const send = senderOf(context, index);
  const shown = showSteps(send, options.streamToolProgress === true);
  return {
    ...(options.enableStreaming === false ? {} : { onEvent: shown.onEvent }),
    finish: async (json) => {
      const text = chatText(json);
      const last = await shown.end();
      if (text !== undefined && text.trim() !== last.trim()) await whole(send, text);
    },
    fail: async (message) => {
      await shown.end();
      if (message === undefined) return;
      await send('begin');
      // It ends the message too.
      await send('error', message);
    },
  };
}

type Send = (type: ChunkType, content?: string) => Promise<void>;

/** The type of n8n hides that it is asynchronous: chunks have an order, and on a worker they travel through Redis. */
type Sender = Pick<IExecuteFunctions, 'logger'> & {
  readonly sendChunk: (...chunk: Parameters<IExecuteFunctions['sendChunk']>) => void | Promise<void>;
};

/** Chats that take no chunks any more. One is the same for all items. */
const stuck = new WeakSet<Sender>();

/** Never rejects or hangs: a lost chat must not cost an answer that was paid for. */
function senderOf(context: Sender, index: number): Send {
  return async (type, content) => {
    if (stuck.has(context)) return;
    // A plain timer: an abort controller for each word costs half of what sending the word does.
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        stuck.add(context);
        reject(new Error(`a chunk has not left after ${CHUNK_LIMIT_MS / 1000} seconds`));
      }, CHUNK_LIMIT_MS);
    });
    try {
      await Promise.race([context.sendChunk(type, index, content), tooLong]);
    } catch (error) {
      context.logger.warn(
        `The answer could not be streamed: ${String((error as Error | undefined)?.message ?? error)}`,
      );
    } finally {
      clearTimeout(timer);
    }
  };
}

async function whole(send: Send, text: string): Promise<void> {
  await send('begin');
  await send('item', text);
  await send('end');
}

interface ShownSteps {
  readonly onEvent: OnEvent;
  /** The text of the last message, once it has left. */
  readonly end: () => Promise<string>;
}

/** What the model says in a step is a message of its own, as with n8n's AI Agent. */
function showSteps(send: Send, tellsOfTools: boolean): ShownSteps {
  let message: Message | undefined;
  let last = '';
  // Messages leave one after the other.
  let sent: Promise<void> = Promise.resolve();
  const close = (): void => {
    if (message === undefined) return;
    last = message.text();
    sent = message.end();
    message = undefined;
  };
  return {
    onEvent: (event) => {
      if (event.type === 'text-delta') (message ??= openMessage(send, sent)).push(event.text);
      else if (event.type === 'step-end' || event.type === 'tool-call') close();
      if (event.type === 'step-start') last = '';
      if (event.type === 'tool-call' && tellsOfTools) sent = sent.then(() => whole(send, `Calling ${event.tool} …`));
    },
    end: async () => {
      close();
      await sent;
      return last;
    },
  };
}

interface Message {
  readonly push: (text: string) => void;
  readonly text: () => string;
  readonly end: () => Promise<void>;
}

function openMessage(send: Send, before: Promise<void>): Message {
  let [text, waiting] = ['', ''];
  let hasEnded = false;
  let wake = (): void => undefined;
  const pause = async (): Promise<void> => {
    if (hasEnded) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, CHUNK_MS);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  };
  let leaving: Promise<void> | undefined;
  const leave = async (): Promise<void> => {
    while (waiting !== '') {
      const chunk = waiting;
      waiting = '';
      await send('item', chunk);
      await pause();
    }
    leaving = undefined;
  };
  const begun = before.then(() => send('begin'));
  return {
    push: (piece) => {
      text += piece;
      waiting += piece;
      leaving ??= begun.then(leave);
    },
    text: () => text,
    end: async () => {
      hasEnded = true;
      wake();
      await begun;
      await leaving;
      await leave();
      await send('end');
    },
  };
}

/** The chat shows nothing for an empty text, so a run without an answer says what it came to. */
function chatText({ output, status, awaiting }: IDataObject): string | undefined {
  if (output === undefined) return undefined;
  if (output !== '') return typeof output === 'string' ? output : JSON.stringify(output);
  const { reason } = (awaiting ?? {}) as { readonly reason?: string };
  return reason ?? `No answer (${status as string}).`;
}
