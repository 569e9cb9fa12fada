import type { Readable } from 'node:stream';

import { type Dispatcher, request } from 'undici';

import type { ToolSettings, TransportReply } from '../../contracts/tools/tool-transport';
import { isOfPacking, unpacked } from '../../util/unpack';
import { contentType, decodeBody, isKnownCharset } from '../web/decode-body';
import { readBounded } from './read-bounded';

/** A request to the server that a row names, with the row's own headers added. */
interface ServerRequest {
  readonly url: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; undefined for no body. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
  readonly maxOutputBytes: number;
}

export interface ServerReply {
  readonly status: number;
  readonly text: string;
  readonly isCut: boolean;
  readonly retryAfter?: string;
  /** Why the body cannot be read; its text is empty then. */
  readonly problem?: string;
}

/** Redirects are not followed, since they would carry the tenant's credentials to a place that no row names. */
export async function sendRequest(
  dispatcher: Dispatcher,
  { headers, authHeader }: Pick<ToolSettings, 'headers' | 'authHeader'>,
  outgoing: ServerRequest,
): Promise<ServerReply> {
  const hasBody = outgoing.body !== undefined;
  const reply = await request(outgoing.url, {
    dispatcher,
    method: outgoing.method,
    headers: {
      ...outgoing.headers,
      ...headers,
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
      accept: 'application/json',
      ...(authHeader === undefined ? {} : { authorization: authHeader }),
    },
    body: hasBody ? JSON.stringify(outgoing.body) : undefined,
    signal: outgoing.signal,
  });
  const retryAfter = reply.headers['retry-after'];
  return {
    status: reply.statusCode,
    ...(await readText(reply, outgoing.maxOutputBytes)),
    retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
  };
}

/** Reads a body as its headers say. The limit is on what it is when it is unpacked. */
async function readText(
  { body, headers }: Dispatcher.ResponseData,
  limitBytes: number,
): Promise<Pick<ServerReply, 'text' | 'isCut' | 'problem'>> {
  const encodings = String(headers['content-encoding'] ?? 'identity');
  const type = contentType({ headers: { 'content-type': String(headers['content-type'] ?? '') } });
  let source: Readable | undefined;
  try {
    source = unpacked(body, encodings);
    const read = await readBounded(source, limitBytes);
    if (type.charset === undefined || isKnownCharset(type.charset)) {
      return { text: decodeBody(read, type), isCut: read.isCut };
    }
    return unreadable('charset', type.charset);
  } catch (error) {
    if (!isOfPacking(error)) throw error;
    // An empty body is nothing that could be unpacked.
    if (isOfNothing(error, source)) return { text: '', isCut: false };
    // Frees the connection. What is destroyed tells of an error, which ends the process if nothing listens.
    body.on('error', () => undefined).destroy();
    return unreadable('content encoding', encodings);
  }
}

function isOfNothing(error: unknown, source: Readable | undefined): boolean {
  const { bytesWritten } = (source ?? {}) as { readonly bytesWritten?: number };
  return (error as { readonly code?: unknown }).code === 'Z_BUF_ERROR' && bytesWritten === 0;
}

const MAX_NAME_LENGTH = 50;

function unreadable(what: string, name: string): Pick<ServerReply, 'text' | 'isCut' | 'problem'> {
  return {
    text: '',
    isCut: false,
    problem: `the ${what} "${name.slice(0, MAX_NAME_LENGTH)}" of the answer cannot be read`,
  };
}

/** What stands between 200 and 299 is an answer; anything else is a failure that the model is told of. */
export function toTransportReply({ status, text, isCut, retryAfter, problem }: ServerReply): TransportReply {
  const isAnswer = status >= 200 && status < 300;
  if (isAnswer && problem !== undefined) return { text: problem, isCut, failure: { code: 'TOOL_FAILED' } };
  return { text, isCut, ...(isAnswer ? {} : { failure: httpFailure(status, retryAfter) }) };
}

const TOO_MANY_REQUESTS = 429;

/** The failure that an HTTP status stands for; `retryAfter` is the header of that name. */
export function httpFailure(status: number, retryAfter?: string): NonNullable<TransportReply['failure']> {
  if (status !== TOO_MANY_REQUESTS) return { code: 'TOOL_HTTP_ERROR', status };
  const seconds = readRetryAfter(retryAfter);
  return { code: 'TOOL_BUSY', status, when: seconds === undefined ? 'later' : `in ${seconds} seconds` };
}

/** The header of this name in seconds; it holds these or a date. */
export function readRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}
