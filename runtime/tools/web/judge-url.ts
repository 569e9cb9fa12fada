import { isIP } from 'node:net';

import type { EgressFilter } from '../../contracts/tools/tool';
import { isPrivateName, isPublicAddress } from '../../util/egress';
import { type AllowsHost, plainHost } from './allowed-hosts';

/** Where a tool may go when a model, or a server that it led to, names the address. */
export interface WebPolicy {
  readonly allowsHost: AllowsHost;
  /** Whether the operator's own credentials may go there. Undefined: nowhere. */
  readonly trusts?: (url: URL) => boolean;
  /** Nothing but those hosts, public or not. */
  readonly isRestricted: boolean;
  /** The host's own rules, which must agree. */
  readonly egress?: EgressFilter;
}

/** An address that may not be asked, and why. */
export class RefusedUrl extends Error {
  override readonly name = 'RefusedUrl';
}

/**
 * The URL as it will be asked. Rejects with RefusedUrl. It is judged as parsed, so that no spelling of an address
 * slips through; a name is judged again when it is resolved, see guarded-lookup.ts.
 */
export async function judgeUrl(text: string, policy: WebPolicy, base?: URL): Promise<URL> {
  const url = readUrl(text, base);
  judgeHost(url, policy);
  url.hash = '';
  // One spelling for the server, its certificate and the lookup.
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  const verdict = await policy.egress?.validateUrl(url.href);
  if (verdict?.ok === false) throw new RefusedUrl(`the rules of this installation forbid ${plainHost(url)}`);
  return url;
}

function readUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) throw new RefusedUrl('the URL is not valid');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new RefusedUrl('only http and https URLs are asked');
  if (url.username !== '' || url.password !== '') throw new RefusedUrl('the URL holds a user or password');
  return url;
}

function judgeHost(url: URL, { allowsHost, isRestricted }: WebPolicy): void {
  const host = plainHost(url);
  if (allowsHost(host, url)) return;
  if (allowsHost(host)) throw new RefusedUrl(`${host} is an allowed host with another scheme or port only`);
  if (isRestricted) throw new RefusedUrl(`${host} is not among the allowed hosts`);
  const isPrivate = isIP(host) === 0 ? isPrivateName(host) : !isPublicAddress(host);
  if (isPrivate) throw new RefusedUrl(`${host} has no public address, and is not an allowed host`);
}
