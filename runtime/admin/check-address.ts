import { RuntimeError } from '../errors/runtime-error';
import { hostOf, isMetadataAddress } from '../util/egress';
import type { AdminHost } from './contract/host';

/**
 * An operator's addresses may be private. Throws ADDRESS_FORBIDDEN for those of the machine's own metadata, and for what the host's
 * rules forbid. What is no address is left to the caller.
 */
export async function checkAddress(text: string | null | undefined, { egress }: AdminHost): Promise<void> {
  const url = text === null || text === undefined ? null : URL.parse(text);
  if (url === null) return;
  const address = `${url.protocol}//${url.host}`;
  if (isMetadataAddress(hostOf(url))) {
    throw new RuntimeError('ADDRESS_FORBIDDEN', { address, reason: 'it leads to the metadata of the machine' });
  }
  const verdict = await egress?.validateUrl(url.href);
  if (verdict?.ok === false) {
    throw new RuntimeError('ADDRESS_FORBIDDEN', { address, reason: 'the rules of this installation forbid it' });
  }
}
