import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

import { fatalError } from './postgres-wire';

/** A server that may be taken away from its clients while their work is half done. */
export interface TcpProxy {
  /** The same URL by way of the proxy. */
  readonly url: string;
  /** Breaks all connections, and refuses new ones. */
  readonly down: () => void;
  readonly up: () => void;
  /**
   * Answers new connections as a pooler of Postgres does that lets nobody in, where `judge` gives a message on what the client begins
   * with; breaks the present ones.
   */
  readonly refuse: (judge: (startup: string) => string | undefined) => void;
  /** Resolves when a client has been refused since it went down. */
  readonly refused: () => Promise<undefined>;
  /** Goes down when a client sends this; the text does not arrive. */
  readonly breakAt: (text: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let isDown = false;
  let refusal = Promise.withResolvers<undefined>();
  let judge: ((startup: string) => string | undefined) | undefined;
  let trap: { readonly text: string; readonly sprung: () => void } | undefined;
  const breakAll = (): void => open.forEach((socket) => socket.destroy());
  const down = (): void => {
    isDown = true;
    refusal = Promise.withResolvers();
    breakAll();
  };
  const server = createServer((client) => {
    if (isDown) {
      client.on('error', () => undefined).destroy();
      refusal.resolve(undefined);
      return;
    }
    const behind = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      open.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          open.delete(socket);
          other.destroy();
        });
    }
    behind.pipe(client);
    let isNew = true;
    client.on('data', (chunk) => {
      const message = isNew ? judge?.(chunk.toString('latin1')) : undefined;
      isNew = false;
      if (message !== undefined) return void client.end(fatalError('08P01', message));
      if (trap === undefined || !chunk.includes(trap.text)) return void behind.write(chunk);
      const { sprung } = trap;
      trap = undefined;
      down();
      sprung();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    down,
    up: () => {
      isDown = false;
      trap = undefined;
      judge = undefined;
    },
    refuse: (given) => {
      judge = given;
      breakAll();
    },
    refused: () => refusal.promise,
    breakAt: (text) => new Promise((sprung) => (trap = { text, sprung })),
    close: () =>
      new Promise((resolve) => {
        down();
        server.close(() => resolve());
      }),
  };
}
