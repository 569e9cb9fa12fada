import { connect } from 'node:net';

import type { ClientBase } from 'pg';

const CANCEL_TIMEOUT_MS = 5000;
/** https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-CANCELREQUEST */
const CANCEL_REQUEST = 80_877_102;

/** What the server gave the connection to cancel by; the driver's types leave it out. */
interface BackendKey {
  readonly host: string;
  readonly port: number;
  readonly processID: number | null;
  readonly secretKey: number | null;
}

/**
 * Ends what the server does for this client, since it goes on for one that has left. Best effort: resolves in any case. The request
 * of the protocol works behind a pooler too, where the number of the server's process is not known.
 */
export function cancelStatement(client: ClientBase): Promise<void> {
  const { host, port, processID, secretKey } = client as unknown as BackendKey;
  if (processID === null || secretKey === null) return Promise.resolve();
  const request = Buffer.alloc(16);
  [request.length, CANCEL_REQUEST, processID, secretKey].forEach((part, index) =>
    request.writeInt32BE(part, index * 4),
  );
  return new Promise((resolve) => {
    const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    socket
      .on('error', () => undefined)
      .on('close', () => resolve())
      .setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy())
      .resume()
      // Whoever has done it closes; a pooler forgets the request of one that has left before.
      .write(request);
  });
}
