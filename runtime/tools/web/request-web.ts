import { Agent, type Dispatcher, request } from 'undici';

import type { OutgoingRequest } from '../../contracts/tools/outgoing';
import { type BoundedBody, readBounded } from '../transports/read-bounded';
import { guardedLookup } from './guarded-lookup';
import { judgeUrl, type WebPolicy } from './judge-url';

/** A request to an address that a model wrote. */
export interface WebRequest extends Pick<OutgoingRequest, 'url' | 'method' | 'headers' | 'body' | 'limitBytes'> {
  /** The operator's own headers, for where the policy trusts. Anywhere else could be somebody who wants to have them. */
  readonly ownHeaders: Readonly<Record<string, string>>;
  readonly policy: WebPolicy;
  readonly signal: AbortSignal;
  /** Default 5; with 0 a redirect is the reply. */
  readonly maxRedirects?: number;
}

export interface WebReply extends BoundedBody {
  /** After redirects. */
  readonly url: URL;
  readonly status: number;
  /** Lower-case names; the first of several values. */
  readonly headers: Readonly<Record<string, string>>;
}

const MAX_REDIRECTS = 5;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
/** What may go along to another origin. */
const HARMLESS_HEADERS: readonly string[] = ['accept', 'accept-language', 'content-type', 'user-agent'];
const OF_BODY: readonly string[] = ['content-type', 'content-language', 'content-location'];

/** One hop: what is sent to where. */
interface Hop extends Pick<WebRequest, 'method' | 'headers' | 'body' | 'ownHeaders'> {
  readonly url: URL;
}

/**
 * Asks an address that a model wrote, and follows redirects. Every hop is checked before it is sent.
 * Rejects with RefusedUrl when the address or a redirect leads where the policy does not allow.
 */
export async function requestWeb(given: WebRequest): Promise<WebReply> {
  const { policy, signal, maxRedirects = MAX_REDIRECTS } = given;
  // Never shared: a warm connection of another call would be used without asking this call's policy.
  const dispatcher = new Agent({
    connect: { lookup: guardedLookup(policy) },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  try {
    let hop: Hop = { ...given, url: await judgeUrl(given.url, policy) };
    for (let redirects = 0; ; redirects++) {
      signal.throwIfAborted();
      const reply = await send(dispatcher, hop, given);
      const { location } = reply.headers;
      if (maxRedirects === 0 || !REDIRECTS.includes(reply.status) || location === undefined) return reply;
      if (redirects === maxRedirects) throw new Error(`more than ${maxRedirects} redirects`);
      hop = nextHop(hop, reply.status, await judgeUrl(location, policy, hop.url));
    }
  } finally {
    await dispatcher.destroy();
  }
}

async function send(dispatcher: Agent, hop: Hop, { policy, signal, limitBytes }: WebRequest): Promise<WebReply> {
  const { url, method, body } = hop;
  const reply = await request(url, {
    dispatcher,
    method,
    headers: sentHeaders(hop, policy),
    body,
    signal,
  });
  const read = await readBounded(reply.body, limitBytes);
  return { ...read, url, status: reply.statusCode, headers: firstValues(reply.headers) };
}

/** The headers of one hop. The operator's own win over those of the model, and go only where the policy trusts. */
export function sentHeaders(
  { url, headers, ownHeaders }: Pick<Hop, 'url' | 'headers' | 'ownHeaders'>,
  { trusts }: Pick<WebPolicy, 'trusts'>,
): Record<string, string> {
  const own = trusts?.(url) === true ? ownHeaders : {};
  return { 'user-agent': 'universal-ai-agent', accept: '*/*', ...headers, ...own, 'accept-encoding': 'identity' };
}

function nextHop(hop: Hop, status: number, url: URL): Hop {
  const isSameOrigin = url.origin === hop.url.origin;
  // As browsers do.
  const becomesGet = status === 303 || (hop.method === 'POST' && (status === 301 || status === 302));
  const kept = Object.entries(hop.headers).filter(
    ([name]) => (isSameOrigin || HARMLESS_HEADERS.includes(name)) && !(becomesGet && OF_BODY.includes(name)),
  );
  return {
    url,
    method: becomesGet ? 'GET' : hop.method,
    headers: Object.fromEntries(kept),
    body: becomesGet ? undefined : hop.body,
    ownHeaders: isSameOrigin ? hop.ownHeaders : {},
  };
}

function firstValues(raw: Dispatcher.ResponseData['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(raw).map(([name, value]) => [name, (Array.isArray(value) ? value[0] : value) ?? '']),
  );
}
