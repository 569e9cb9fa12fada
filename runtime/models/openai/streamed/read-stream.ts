import type { Readable } from 'node:stream';

import { createParser } from 'eventsource-parser';

import { errorText } from '../../../errors/to-runtime-error';
import { within } from '../../../util/abort';
import { monotonicMs } from '../../../util/clock';
import { holdsMoreThan, isJsonObject, type JsonObject, MAX_JSON_VALUES, tryParseJson } from '../../../util/json';
import { isFinishReason } from '../finish-reason';
import { MAX_REPLY_BYTES, type ReplyBytes, type ReplyText, ReplyTooLong } from '../reply-text';
import { isSilence, SILENCE } from '../silence';
import { isLost, noteCut, type OwnCall } from '../wasted-reply';
import { writtenText } from '../written-text';
import { hasTooMany, mergeChunk, type MergedReply, openReply, toBody } from './merge-chunk';

/** Each token of a stream comes with some two hundred bytes around it. */
const MAX_STREAM_BYTES = 64 * MAX_REPLY_BYTES;

/** Time limit for draining a stream after its end. */
const DRAIN_MS = 1000;

/** Time after a finish reason in which a stream must end: with usage known, and unknown. */
const END_WAIT_MS = { known: 1000, unknown: 5000 };
const LAST_LOOK_MS = 50;

interface StreamedReply {
  readonly status: number;
  readonly body: Readable;
  readonly bytes: ReplyBytes;
}

/**
 * Assembles the chunks of a stream into the text of an unstreamed reply. Rejects if the stream breaks off before anything was
 * shown. Afterwards it returns a reply with an error, so that the client does not repeat the request.
 */
export async function readStream({ status, body, bytes }: StreamedReply, call: OwnCall): Promise<ReplyText> {
  const reply = openReply();
  try {
    const isDone = await readPieces(bytes, reply, call);
    if (isDone) void drain(body, bytes.rest);
    if (!isWhole(reply) && !(isDone && reply.hasChoice)) throw new Error(`the stream broke off${wordsOf(reply)}`);
    return wholeReply(reply, status);
  } catch (error) {
    // Frees the connection. An abort is an error of the body, which ends the process if nothing listens.
    body.on('error', () => undefined).destroy();
    // At most its usage is missing.
    if (isWhole(reply)) return wholeReply(reply, status);
    const isFailure = status >= 400;
    if (isFailure || mustNotBeAskedAgain(call)) {
      const isCut = isFailure ? wordsOf(reply).includes('"usage"') : isLost(toBody(reply));
      return { text: failedReply(reply, error), isCut };
    }
    noteCut(toBody(reply), call);
    throw error;
  }
}

function mustNotBeAskedAgain({ attempts, signal }: OwnCall): boolean {
  return attempts.isShown === true && signal?.aborted !== true;
}

function failedReply(reply: MergedReply, error: unknown): string {
  const type = isSilence(error) ? SILENCE : undefined;
  return JSON.stringify({ ...inShort(reply), error: { code: 502, type, message: errorText(error) } });
}

/** Keeps usage and words of a reply that is no answer. */
function inShort(reply: MergedReply): JsonObject {
  const content = writtenText(toBody(reply)) ?? '';
  return { ...reply.fields, choices: content === '' ? [] : [{ message: { content } }] };
}

function wholeReply(reply: MergedReply, status: number): ReplyText {
  const text = JSON.stringify(toBody(reply));
  if (!hasTooMany(reply) && !holdsMoreThan(text, MAX_JSON_VALUES))
    return { text, isCut: status < 400 && isCutByError(reply) && isLost(toBody(reply)) };
  // The reply was paid for, and another request would be paid for too.
  return { text: JSON.stringify(inShort(reply)), problem: 'it has too many calls or parts' };
}

/** Reports a reply with a finish reason or an error. Not all providers end their streams with `[DONE]`. */
function isWhole(reply: MergedReply): boolean {
  return hasReason(reply) || reply.fields.error !== undefined;
}

function hasReason({ finishReason }: MergedReply): boolean {
  return isFinishReason(finishReason);
}

/** Reports a provider that failed in the middle of a reply without reporting the usage so far. */
function isCutByError({ fields, size, parts }: MergedReply): boolean {
  return fields.error !== undefined && fields.usage === undefined && size + parts > 0;
}

/** Quotes text that arrived in place of a chunk, such as a proxy's error. */
function wordsOf({ words }: MergedReply): string {
  return words === undefined ? '' : `: ${words}`;
}

/** Reads to `[DONE]`, or for a while after the finish reason, and returns true; at the end of the body it returns false. */
async function readPieces({ begun, rest }: ReplyBytes, reply: MergedReply, call: OwnCall): Promise<boolean> {
  const feed = chunkFeed(reply, call);
  // Characters may be cut between two pieces.
  const decoder = new TextDecoder();
  let size = 0;
  const isDoneWith = (piece: Buffer): boolean => {
    size += piece.length;
    if (size > MAX_STREAM_BYTES || reply.size > MAX_REPLY_BYTES) throw new ReplyTooLong();
    return feed(decoder.decode(piece, { stream: true }));
  };
  if (begun.some(isDoneWith)) return true;
  const wait = waitForEnd(reply);
  for (;;) {
    const next = await wait(rest.next());
    if (next === undefined || (next.done !== true && isDoneWith(next.value))) return true;
    // The last event may lack its blank line.
    if (next.done === true) return feed('\n\n');
  }
}

/** Returns a wait for the next piece that resolves with undefined when the time after the finish reason is over. */
function waitForEnd(reply: MergedReply): <T>(piece: Promise<T>) => Promise<T | undefined> {
  let finishedAt: number | undefined;
  return async (piece) => {
    if (!hasReason(reply)) return piece;
    finishedAt ??= monotonicMs();
    const limit = reply.fields.usage === undefined ? END_WAIT_MS.unknown : END_WAIT_MS.known;
    const left = Math.max(0, finishedAt + limit - monotonicMs());
    // Twice: in a process that was held up, the timer fires before what has arrived is read.
    return (await within(left, piece)) ?? (await within(LAST_LOOK_MS, piece));
  };
}

/** Reads the rest, so that the connection can be reused, or closes it when the rest does not arrive. */
async function drain(body: Readable, rest: AsyncIterator<Buffer>): Promise<void> {
  const timer = setTimeout(() => body.destroy(), DRAIN_MS).unref();
  try {
    while ((await rest.next()).done !== true);
  } catch {
    // Nobody needs it.
  } finally {
    clearTimeout(timer);
  }
}

const MAX_WORDS = 200;

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
    onEvent: ({ data, event }) => {
      if (isDone) return;
      isDone = data.trim() === '[DONE]';
      const parsed = tryParseJson(data);
      if (!parsed.ok || !isJsonObject(parsed.value)) {
        if (!isDone) reply.words ??= data.slice(0, MAX_WORDS);
        return;
      }
      const { text, reasoning } = mergeChunk(reply, parsed.value, event === 'error');
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
