import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

import { createParser } from 'eventsource-parser';

import { errorText } from '../../../errors/to-runtime-error';
import { holdsMoreThan, isJsonObject, MAX_JSON_VALUES, tryParseJson } from '../../../util/json';
import { MAX_REPLY_BYTES, type ReadBody } from '../read-body';
import { noteWasted, type OwnCall } from '../wasted-reply';
import { hasTooMany, mergeChunk, type MergedReply, openReply, toBody } from './merge-chunk';

/** Each token of a stream comes with some two hundred bytes around it. */
const MAX_STREAM_BYTES = 64 * MAX_REPLY_BYTES;

/** Time limit for draining a stream after `[DONE]`. */
const DRAIN_MS = 1000;

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
  body: Readable,
  encoding: string | string[] | undefined,
  call: OwnCall,
): Promise<Streamed> {
  const reply = openReply();
  try {
    const isDone = await readPieces(unpacked(body, encoding), reply, call);
    if (!isWhole(reply) && !(isDone && reply.hasChoice)) throw new Error('the stream broke off');
    return wholeReply(reply);
  } catch (error) {
    // Frees the connection. An abort is an error of the body, which ends the process if nothing listens.
    body.on('error', () => undefined).destroy();
    // At most its usage is missing.
    if (isWhole(reply)) return wholeReply(reply);
    if (call.attempts.isShown !== true || call.signal?.aborted === true) {
      noteWasted(toBody(reply), call);
      throw error;
    }
    const whole = { ...toBody(reply), choices: [], error: { code: 502, message: errorText(error) } };
    return { text: JSON.stringify(whole), isCut: true };
  }
}

function wholeReply(reply: MergedReply): Streamed {
  const text = JSON.stringify(toBody(reply));
  if (!hasTooMany(reply) && !holdsMoreThan(text, MAX_JSON_VALUES)) return { text, isCut: isCutByError(reply) };
  // Keeps the usage: the reply was paid for, and another request would be paid for too.
  const usage = JSON.stringify({ ...reply.fields, choices: [] });
  return { text: usage, problem: 'it has too many calls or parts', isCut: false };
}

/** Reports a reply with a finish reason or an error. Not all providers end their streams with `[DONE]`. */
function isWhole({ finishReason, fields }: MergedReply): boolean {
  return (typeof finishReason === 'string' && finishReason !== '') || fields.error !== undefined;
}

/** Reports a provider that failed in the middle of a reply without reporting the usage so far. */
function isCutByError({ fields, size, parts }: MergedReply): boolean {
  return fields.error !== undefined && fields.usage === undefined && size + parts > 0;
}

/** Reads up to `[DONE]` and returns true, or to the end of the body and returns false. */
async function readPieces(body: Readable, reply: MergedReply, call: OwnCall): Promise<boolean> {
  const feed = chunkFeed(reply, call);
  // Characters may be cut between two pieces.
  const decoder = new TextDecoder();
  const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let size = 0;
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    size += next.value.length;
    if (size > MAX_STREAM_BYTES || reply.size > MAX_REPLY_BYTES) {
      throw new Error(`the reply is longer than ${MAX_REPLY_BYTES} bytes`);
    }
    if (feed(decoder.decode(next.value, { stream: true }))) {
      void drain(body, pieces);
      return true;
    }
  }
  return false;
}

/** Reads the rest, so that the connection can be reused, or closes it when the rest does not arrive. */
async function drain(body: Readable, pieces: AsyncIterator<Buffer>): Promise<void> {
  const timer = setTimeout(() => body.destroy(), DRAIN_MS).unref();
  try {
    while ((await pieces.next()).done !== true);
  } catch {
    // Nobody needs it.
  } finally {
    clearTimeout(timer);
  }
}

const UNPACKERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** Decompresses a stream that a proxy compressed unasked. Encodings are listed in the order in which they were applied. */
function unpacked(body: Readable, encodings: string | string[] = 'identity'): Readable {
  const names = String(encodings).toLowerCase().split(',').reverse();
  return names.reduce((packed, name) => {
    if (name.trim() === 'identity') return packed;
    const unpack = UNPACKERS.get(name.trim());
    if (unpack === undefined) throw new Error(`its content encoding "${name.trim().slice(0, 50)}" cannot be read`);
    // An error of any of them destroys the last one, which is read.
    return pipeline(packed, unpack(), () => undefined);
  }, body);
}

/** Returns a parser of the stream's text, which returns true after `[DONE]`. */
function chunkFeed(reply: MergedReply, { attempts, onDelta }: OwnCall): (text: string) => boolean {
  const show = (kind: 'text' | 'reasoning', text: string): void => {
    if (text === '' || onDelta === undefined) return;
    attempts.isShown = true;
    onDelta({ kind, text });
  };
  let failure: Error | undefined;
  let isDone = false;
  const parser = createParser({
    maxBufferSize: MAX_REPLY_BYTES,
    onEvent: ({ data }) => {
      if (isDone) return;
      isDone = data.trim() === '[DONE]';
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
    return isDone;
  };
}
