import { once } from 'node:events';
import { connect } from 'node:net';

import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { hostOf } from '../../util/egress';
import { checkAddress } from '../check-address';
import type { AdminHost } from '../contract/host';
import type { ListAddress } from '../prices/price-source';

const TIMEOUT_MS = 4000;

/** Opens a connection to the server of an address, and closes it: nothing is sent. Rejects with SERVER_UNREACHABLE, ADDRESS_FORBIDDEN. */
export async function reach(url: URL, host: AdminHost): Promise<void> {
  await checkAddress(url.href, host);
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const socket = connect({ host: hostOf(url), port, timeout: TIMEOUT_MS });
  socket.once('timeout', () => socket.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} seconds`)));
  // Once it is connected nobody else would take its error.
  socket.on('error', () => undefined);
  try {
    await once(socket, 'connect');
  } catch (error) {
    throw new RuntimeError('SERVER_UNREACHABLE', { server: url.host, reason: errorText(error) });
  } finally {
    socket.destroy();
  }
}

/** Asks a provider for its list of models. Rejects with SERVER_UNREACHABLE, ADDRESS_FORBIDDEN. */
export async function askProvider({ url, apiKey }: ListAddress, host: AdminHost): Promise<void> {
  await checkAddress(url, host);
  const response = await fetch(url, {
    headers: apiKey === undefined || apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    redirect: 'manual',
  }).catch((error: unknown) => {
    throw new RuntimeError('SERVER_UNREACHABLE', { server: new URL(url).host, reason: errorText(error) });
  });
  await response.body?.cancel();
  // Providers that have no such list are there all the same.
  if (response.status < 400 || response.status === 404) return;
  throw new RuntimeError('SERVER_UNREACHABLE', {
    server: new URL(url).host,
    reason: `it answers HTTP ${response.status}`,
  });
}
