import type { Readable } from 'node:stream';

import { isOfPacking, unpacked } from '../../util/unpack';
import { MAX_REPLY_BYTES, type ReplyBytes, type ReplyText, ReplyTooLong } from './reply-text';
import { readStream } from './streamed/read-stream';
import type { OwnCall } from './wasted-reply';

interface IncomingReply {
  readonly status: number;
  readonly encoding: string | string[] | undefined;
  readonly body: Readable;
}

/**
 * Reads a reply as text; assembles it if it is an event stream. The first bytes decide, not the content type and not the
 * request. Decompresses replies that a proxy compressed unasked.
 */
export async function readReply(reply: IncomingReply, call: OwnCall): Promise<ReplyText> {
  const { status, body, encoding = 'identity' } = reply;
  const encodings = String(encoding).toLowerCase();
  try {
    const rest = unpacked(body, encodings)[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const begun = await firstPieces(rest);
    const bytes = { begun, rest };
    return await (beginsEvents(begun) === true ? readStream({ status, body, bytes }, call) : readText(bytes));
  } catch (error) {
    // Frees the connection. An abort is an error of the body, which ends the process if nothing listens.
    body.on('error', () => undefined).destroy();
    if (encodings === 'identity' || !(isOfPacking(error) || error instanceof ReplyTooLong)) throw error;
    // The reply was paid for: another request would be paid for too.
    return { text: '', problem: `its content encoding "${encodings.slice(0, 50)}" cannot be read` };
  }
}

/** Reads until the kind of reply is known. */
async function firstPieces(pieces: AsyncIterator<Buffer>): Promise<readonly Buffer[]> {
  const begun: Buffer[] = [];
  let size = 0;
  while (beginsEvents(begun) === undefined && size < MAX_HEAD_BYTES) {
    const next = await pieces.next();
    if (next.done === true) break;
    begun.push(next.value);
    size += next.value.length;
  }
  return begun;
}

const FIELDS = ['data:', 'event:', 'retry:', 'id:', ':'];

/** Blank lines before the first field may be this long. */
const MAX_HEAD_BYTES = 1024;

/** Returns undefined if there are too few bytes to decide. */
function beginsEvents(begun: readonly Buffer[]): boolean | undefined {
  const [only = Buffer.alloc(0), ...more] = begun;
  const head = more.length === 0 ? only : Buffer.concat(begun);
  const start = withoutMark(head.subarray(0, MAX_HEAD_BYTES).toString('utf8')).trimStart();
  if (FIELDS.some((field) => start.startsWith(field))) return true;
  return FIELDS.some((field) => field.startsWith(start)) ? undefined : false;
}

async function readText({ begun, rest }: ReplyBytes): Promise<ReplyText> {
  const pieces = [...begun];
  let size = pieces.reduce((sum, { length }) => sum + length, 0);
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
    pieces.push(next.value);
    size += next.value.length;
    if (size > MAX_REPLY_BYTES) throw new ReplyTooLong();
  }
  return { text: withoutMark(Buffer.concat(pieces).toString('utf8')) };
}

/** Removes a byte order mark, which JSON parsers reject. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}
