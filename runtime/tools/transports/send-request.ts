import { type Dispatcher, request } from 'undici';

import type { ToolSettings, TransportReply } from '../../contracts/tools/tool-transport';
import { readBounded, utf8Text } from './read-bounded';

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
  const body = await readBounded(reply.body, outgoing.maxOutputBytes);
  const retryAfter = reply.headers['retry-after'];
  return {
    status: reply.statusCode,
    text: utf8Text(body),
    isCut: body.isCut,
    retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
  };
}

/** What stands between 200 and 299 is an answer; anything else is a failure that the model is told of. */
export function toTransportReply({ status, text, isCut, retryAfter }: ServerReply): TransportReply {
  const isAnswer = status >= 200 && status < 300;
  return { text, isCut, ...(isAnswer ? {} : { failure: httpFailure(status, retryAfter) }) };
}

const TOO_MANY_REQUESTS = 429;

/** The failure that an HTTP status stands for; `retryAfter` is the header of that name. */
export function httpFailure(status: number, retryAfter?: string): NonNullable<TransportReply['failure']> {
  if (status !== TOO_MANY_REQUESTS) return { code: 'TOOL_HTTP_ERROR', status };
  const seconds = readRetryAfter(retryAfter);
  return { code: 'TOOL_BUSY', status, when: seconds === undefined ? 'later' : `in ${seconds} seconds` };
}

/** Seconds, or a date. */
function readRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}
