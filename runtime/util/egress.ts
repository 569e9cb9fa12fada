import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';

import ipaddr from 'ipaddr.js';

/** True for an address of the public internet; false for private, loopback, link-local, shared and reserved ones, and those of clouds. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  // An IPv4 address within an IPv6 one is judged as what it reaches.
  const parsed = ipaddr.process(address);
  if (parsed.range() !== 'unicast' || isOfCloud(parsed)) return false;
  // Of IPv6 only 2000::/3 is given out; what is left of it holds old forms of IPv4 addresses, such as ::7f00:1.
  return parsed.kind() === 'ipv4' || (parsed.toByteArray()[0] ?? 0) >> 5 === 1;
}

/** Addresses that look public, and lead to what a cloud keeps for its own machines. */
const OF_CLOUDS = [
  // Azure: the host's agent, with certificates and settings of the machine.
  '168.63.129.16/32',
  // IBM Cloud: the private endpoints of its infrastructure and services.
  '161.26.0.0/16',
  '166.8.0.0/14',
].map((range) => ipaddr.IPv4.parseCIDR(range));

function isOfCloud(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address instanceof ipaddr.IPv4 && OF_CLOUDS.some((range) => address.match(range));
}

/** Addresses that lead to the settings and credentials of the machine itself, which no tool has anything to ask for. */
export function isMetadataAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return parsed.range() === 'linkLocal' || isOfCloud(parsed) || parsed.toString() === 'fd00:ec2::254';
}

/** Names that no public address has: those of this machine, and `.internal`, which is kept for networks of one's own. */
export function isPrivateName(host: string): boolean {
  return /(^|\.)(localhost|internal)$/.test(host);
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
