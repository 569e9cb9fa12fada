import { lookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';

import { isPublicAddress } from '../../util/egress';
import { RefusedUrl, type WebPolicy } from './judge-url';

/**
 * A `lookup` for the sockets of one call. The host's own filter resolves the name, ours strikes out what is not public,
 * and the socket connects to an address that both left over: a name that resolves differently next time gains nothing.
 */
export function guardedLookup({ allowsHost, egress }: WebPolicy): LookupFunction {
  const resolve: LookupFunction = egress?.createSecureLookup() ?? lookup;
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, found, family) => {
      if (error !== null) {
        callback(isOfDns(error) ? error : new RefusedUrl(`the rules of this installation forbid ${host}`), []);
        return;
      }
      const addresses = typeof found === 'string' ? [{ address: found, family: family ?? 4 }] : found;
      const allowed = allowsHost(host) ? addresses : addresses.filter(({ address }) => isPublicAddress(address));
      const [first] = allowed;
      if (first === undefined)
        callback(new RefusedUrl(`${host} has no public address, and is not an allowed host`), []);
      else if (options.all === true) callback(null, [...allowed] satisfies LookupAddress[]);
      else callback(null, first.address, first.family);
    });
  };
}

/** A name that does not resolve is no matter of rules. */
function isOfDns({ code }: NodeJS.ErrnoException): boolean {
  return code !== undefined && /^E(AI_|NOTFOUND|NODATA|SERVFAIL|TIMEOUT|REFUSED|CANCELLED)/.test(code);
}
