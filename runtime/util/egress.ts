import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';

import ipaddr from 'ipaddr.js';

/** True for an address of the public internet; false for private, loopback, link-local, shared and reserved ones. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  // An IPv4 address within an IPv6 one is judged as what it reaches.
  return ipaddr.process(address).range() === 'unicast';
}

/** A connection that was refused because of where it would have gone. */
export class EgressError extends Error {
  override readonly name = 'EgressError';

  constructor(host: string, reason = 'has no public address, and is not an allowed host') {
    super(`${host} ${reason}`);
  }
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/**
 * A `lookup` for sockets that knows public addresses only. The socket connects to the address that was checked,
 * so a name that resolves differently the next time gains nothing.
 */
export function publicLookup(host: string, options: LookupOptions, callback: LookupCallback): void {
  lookup(host, { ...options, all: true }, (error, addresses) => {
    const allowed = error === null ? addresses.filter(({ address }) => isPublicAddress(address)) : [];
    const [first] = allowed;
    if (first === undefined) callback(error ?? new EgressError(host), []);
    else if (options.all === true) callback(null, allowed);
    else callback(null, first.address, first.family);
  });
}

/** The host of a URL without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}
