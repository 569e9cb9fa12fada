import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { Agent, type Dispatcher, request } from 'undici';

import type { McpAuth, McpServer } from '../contracts/tools/mcp';
import { errorText } from '../errors/to-runtime-error';
import { after, monotonicMs } from '../util/clock';
import { wasNeverConnected } from '../util/connection-errors';
import { EgressError, hostOf, isPublicAddress, publicLookup } from '../util/egress';
import { markEvents, markIntegers } from './sdk/long-integers';
import { readableAnswer } from './sdk/tidy-results';

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

interface HttpClient {
  /** A `fetch` for one server. Other hosts, which OAuth metadata may name, must be public or in `allowedHosts`. */
  readonly fetchFor: (server: Pick<McpServer, 'url' | 'allowedHosts' | 'auth'>) => Fetch;
  readonly close: () => Promise<void>;
}

/** One answer, or one event of a stream; longer ones are broken off. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** So many values in it: what is short as a text may take many times its length when it is parsed. */
export const MAX_MESSAGE_VALUES = 50_000;

/** Limit per second for the bytes of a stream. */
const MAX_STREAM_BYTES = 2 * MAX_MESSAGE_BYTES;

/** Set on errors of requests that never reached the server, so that they may be made again. */
export const NOT_SENT = Symbol('not sent');

/**
 * HTTP client for MCP on shared keep-alive pools: global fetch costs several times as much per request. `connections` limits
 * the sockets to one host; further requests wait.
 */
export function createHttpClient(connections: number): HttpClient {
  const options = { connections, keepAliveTimeout: 30_000, headersTimeout: 0, bodyTimeout: 0 } as const;
  const trusted = new Agent(options);
  const guarded = new Agent({ ...options, connect: { lookup: publicLookup } });
  return {
    fetchFor: (server) => {
      const home = URL.parse(server.url);
      const own = new Set([...(home === null ? [] : [hostOf(home)]), ...server.allowedHosts]);
      const isBound = hasUnboundSecret(server.auth);
      return async (target, init = {}) => {
        const url = new URL(target);
        const host = hostOf(url);
        if (own.has(host)) return send(trusted, url, init);
        if (isBound) throw new EgressError(host, 'may not be given the credential; name it as auth.issuer');
        // A literal address is not looked up, so it is judged here.
        if (/^[\d.]+$|:/.test(host) && !isPublicAddress(host)) throw new EgressError(host);
        return send(guarded, url, init);
      };
    },
    close: async () => {
      await Promise.all([trusted.destroy(), guarded.destroy()]);
    },
  };
}

/** A secret without an issuer would go to whatever authorization server the MCP server names. */
function hasUnboundSecret(auth: McpAuth): boolean {
  if (auth.kind !== 'oauth' || auth.issuer !== undefined) return false;
  return [auth.clientSecret, auth.privateKey, auth.assertion, auth.idp].some((secret) => secret !== undefined);
}

/** One request. A redirect comes back as it is: the SDK follows it within the same origin only. */
async function send(dispatcher: Dispatcher, url: URL, init: RequestInit): Promise<Response> {
  const reply = await request(url, {
    dispatcher,
    method: init.method ?? 'GET',
    headers: Object.fromEntries(new Headers(init.headers)),
    body: bodyOf(init.body),
    signal: init.signal,
  }).catch((error: unknown) => {
    throw describeFailure(error);
  });
  const { statusCode: status } = reply;
  const headers = responseHeaders(reply.headers);
  if (status === 204 || status === 205 || status === 304) {
    await reply.body.dump();
    return new Response(null, { status, headers });
  }
  const isMarked = status < 300 && mayBeOfCall(init);
  if (headers.get('content-type')?.includes('text/event-stream') === true) {
    const events = eventsOf(reply.body, isMarked);
    return new Response(Readable.toWeb(events) as ReadableStream, { status, headers });
  }
  const chunks: Buffer[] = [];
  for await (const chunk of bounded(reply.body)) chunks.push(chunk);
  const answer = readableAnswer(Buffer.concat(chunks));
  return new Response(isMarked ? markIntegers(answer.toString('utf8')) : answer, { status, headers });
}

function eventsOf(body: Readable, isMarked: boolean): Readable {
  const events = boundedEvents(body);
  return isMarked ? Readable.from(markEvents(events), { objectMode: false }) : events;
}

/** Reports a request whose answer may hold the result of a tool call. Streams of SSE servers, and resumed ones, are GET. */
function mayBeOfCall({ method = 'GET', body }: RequestInit): boolean {
  return method === 'GET' || (typeof body === 'string' && body.includes('"tools/call"'));
}

function responseHeaders(raw: Dispatcher.ResponseData['headers']): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(raw)) {
    for (const text of Array.isArray(value) ? value : [value ?? '']) headers.append(name, text);
  }
  return headers;
}

function bodyOf(body: RequestInit['body']): string | undefined {
  if (body === null || body === undefined) return undefined;
  return typeof body === 'string' ? body : String(body as URLSearchParams);
}

async function* bounded(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const look = messageBounds();
  for await (const chunk of source) {
    for (const byte of chunk) look(byte);
    yield chunk;
  }
}

/** Limits each event of an endless stream, and reads at most MAX_STREAM_BYTES a second. */
function boundedEvents(source: AsyncIterable<Buffer>): Readable {
  const pause = pacer();
  const isEnd = eventEnds();
  let look = messageBounds();
  const read = async function* (): AsyncIterable<Buffer> {
    for await (const chunk of source) {
      for (const byte of chunk) {
        look(byte);
        if (isEnd(byte)) look = messageBounds();
      }
      yield chunk;
      await pause(chunk.length);
    }
  };
  return Readable.from(read(), { objectMode: false });
}

/** Waits for the next turn of the loop, or for the next second if this one's bytes are used up. */
function pacer(): (bytes: number) => Promise<void> {
  let since = monotonicMs();
  let read = 0;
  const begin = (): void => {
    since = monotonicMs();
    read = 0;
  };
  return (bytes) => {
    read += bytes;
    const passed = monotonicMs() - since;
    if (passed >= 1000) begin();
    if (read <= MAX_STREAM_BYTES) return nextTurn();
    return new Promise<void>((resolve) => after(1000 - passed, resolve)).then(begin);
  };
}

/** Checks one message byte by byte. Throws if it becomes too long or has too many values. */
function messageBounds(): (byte: number) => void {
  let size = 0;
  const countValues = valueCounter();
  return (byte) => {
    if (++size > MAX_MESSAGE_BYTES) throw new Error(`a message is longer than ${MAX_MESSAGE_BYTES} bytes`);
    if (countValues(byte) > MAX_MESSAGE_VALUES) throw new Error(`a message has more than ${MAX_MESSAGE_VALUES} values`);
  };
}

/** Detects the byte that ends an event: the one that ends a blank line. */
function eventEnds(): (byte: number) => boolean {
  let isLineEmpty = true;
  let last = 0;
  return (byte) => {
    const isSecondHalf = last === CARRIAGE_RETURN && byte === LINE_FEED;
    last = byte;
    if (isSecondHalf) return false;
    const isLineEnd = byte === LINE_FEED || byte === CARRIAGE_RETURN;
    const isEnd = isLineEnd && isLineEmpty;
    isLineEmpty = isLineEnd;
    return isEnd;
  };
}

/**
 * Counts the values of a JSON text: the commas and brackets outside its strings, so far. No string of JSON goes over a
 * line's end, so what else stands in the lines of an event cannot pass values for a string.
 */
function valueCounter(): (byte: number) => number {
  let count = 0;
  let isInString = false;
  let isEscaped = false;
  return (byte) => {
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) isInString = isEscaped = false;
    else if (isEscaped) isEscaped = false;
    else if (byte === QUOTE) isInString = !isInString;
    else if (isInString) isEscaped = byte === BACKSLASH;
    else if (byte === COMMA || byte === BRACE || byte === BRACKET) count++;
    return count;
  };
}

const [LINE_FEED, CARRIAGE_RETURN, QUOTE, COMMA, BRACKET, BACKSLASH, BRACE] = [
  0x0a, 0x0d, 0x22, 0x2c, 0x5b, 0x5c, 0x7b,
];

function describeFailure(error: unknown): Error {
  const failure =
    error instanceof Error && error.name === 'AbortError' ? error : new Error(errorText(error), { cause: error });
  const isNotSent = wasNeverConnected(error) || error instanceof EgressError;
  return isNotSent ? Object.assign(failure, { [NOT_SENT]: true }) : failure;
}
