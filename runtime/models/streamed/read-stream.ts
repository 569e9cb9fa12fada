import { createParser } from 'eventsource-parser';

import { errorText } from '../../errors/to-runtime-error';
import { isJsonObject, tryParseJson } from '../../util/json';
import { MAX_REPLY_BYTES, type ReadBody, readBody } from '../read-body';
import type { OwnCall } from '../wasted-reply';
import { hasTooMany, mergeChunk, type MergedReply, openReply, toBody } from './merge-chunk';

/** Each token of a stream comes with some two hundred bytes around it. */
const MAX_STREAM_BYTES = 64 * MAX_REPLY_BYTES;

interface Streamed extends ReadBody {
  /** It broke off, so what it has used may have been in the rest. */
  readonly isCut: boolean;
}

export function isEventStream(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  return String(headers['content-type']).toLowerCase().startsWith('text/event-stream');
}

/**
 * The reply that the chunks of a stream come to, as text, as if it had come at once. Rejects when it breaks off before
 * anything was handed on; afterwards it is a reply with an error, for it must not be asked for again.
 */
export async function readStream(
  body: AsyncIterable<Buffer>,
  encoding: string | string[] | undefined,
  call: OwnCall,
): Promise<Streamed> {
  const reply = openReply();
  try {
    if (encoding === undefined || encoding === 'identity') await readPieces(body, reply, call);
    else feedWhole(await readBody(body, encoding), reply, call);
    if (!isWhole(reply)) throw new Error('the stream broke off');
    if (hasTooMany(reply)) return tooMany(reply);
    return { text: JSON.stringify(toBody(reply)), isCut: false };
  } catch (error) {
    // Only its usage is missing.
    if (reply.finishReason !== undefined) return { text: JSON.stringify(toBody(reply)), isCut: false };
    if (call.attempts.isShown !== true || call.signal?.aborted === true) throw error;
    const whole = { ...toBody(reply), choices: [], error: { code: 502, message: errorText(error) } };
    return { text: JSON.stringify(whole), isCut: reply.fields.usage === undefined };
  }
}

/** It was paid for, so it is not asked for again: no answer, but what it used. */
function tooMany(reply: MergedReply): Streamed {
  const text = JSON.stringify({ ...reply.fields, choices: [] });
  return { text, problem: 'it has too many calls or parts', isCut: false };
}

/** Not all providers end with `[DONE]`, but all say why the reply ends. */
function isWhole({ finishReason, fields }: MergedReply): boolean {
  return finishReason !== undefined || fields.error !== undefined;
}

async function readPieces(body: AsyncIterable<Buffer>, reply: MergedReply, call: OwnCall): Promise<void> {
  const feed = chunkFeed(reply, call);
  // Characters may be cut between two pieces.
  const decoder = new TextDecoder();
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > MAX_STREAM_BYTES || reply.size > MAX_REPLY_BYTES) {
      throw new Error(`the reply is longer than ${MAX_REPLY_BYTES} bytes`);
    }
    feed(decoder.decode(piece, { stream: true }));
  }
}

function feedWhole({ text, problem }: ReadBody, reply: MergedReply, call: OwnCall): void {
  if (problem !== undefined) throw new Error(problem);
  chunkFeed(reply, call)(text);
}

function chunkFeed(reply: MergedReply, { attempts, onDelta }: OwnCall): (text: string) => void {
  const show = (kind: 'text' | 'reasoning', text: string): void => {
    if (text === '' || onDelta === undefined) return;
    attempts.isShown = true;
    onDelta({ kind, text });
  };
  let failure: Error | undefined;
  const parser = createParser({
    maxBufferSize: MAX_REPLY_BYTES,
    onEvent: ({ data }) => {
      const parsed = tryParseJson(data);
      if (!parsed.ok || !isJsonObject(parsed.value)) return;
      const { text, reasoning } = mergeChunk(reply, parsed.value);
      show('reasoning', reasoning);
      show('text', text);
    },
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') failure = error;
    },
  });
  return (text) => {
    parser.feed(text);
    if (failure !== undefined) throw failure;
  };
}
