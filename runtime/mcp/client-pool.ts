import { createHash } from 'node:crypto';

import { every, monotonicMs } from '../util/clock';
import type { McpConnection } from './connect';

/** Whose connection, to which server, with which credential: nothing is shared between different answers. */
export interface McpServerKey {
  readonly tenantId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface McpClientPool {
  /** Lends a connection, which may still be connecting, for as long as `work` lasts. */
  readonly use: <T>(server: McpServerKey, work: (connecting: Promise<McpConnection>) => Promise<T>) => Promise<T>;
  /** Forgets and closes a connection that failed; the next `use` connects anew. */
  readonly drop: (server: McpServerKey, connection: McpConnection) => void;
  readonly close: () => Promise<void>;
}

interface Entry {
  readonly connecting: Promise<McpConnection>;
  users: number;
  lastUsedAt: number;
}

export interface McpClientPoolOptions {
  readonly connect: (server: McpServerKey, onClose: () => void) => Promise<McpConnection>;
  /** Above this the longest idle connection is closed; those in use stay. */
  readonly maxConnections: number;
  readonly idleMs: number;
}

/** Keeps connections warm: one handshake for each server and credential, however many calls come at once. */
export function createMcpClientPool(options: McpClientPoolOptions): McpClientPool {
  const entries = new Map<string, Entry>();

  const remove = (key: string, entry: Entry): void => {
    // A late close of an old connection must not take down its replacement.
    if (entries.get(key) === entry) entries.delete(key);
    entry.connecting.then((connection) => connection.close()).catch(() => undefined);
  };
  const sweep = (): void => {
    const oldest = monotonicMs() - options.idleMs;
    for (const [key, entry] of longestIdle(entries)) if (entry.lastUsedAt < oldest) remove(key, entry);
  };
  const makeRoom = (): void => {
    if (entries.size < options.maxConnections) return;
    for (const [key, entry] of longestIdle(entries).slice(0, 1)) remove(key, entry);
  };
  const stopSweeping = every(Math.max(1000, options.idleMs / 2), sweep);

  const find = (server: McpServerKey): Entry => {
    const key = poolKey(server);
    const known = entries.get(key);
    if (known !== undefined) return known;
    makeRoom();
    const connecting = options.connect(server, () => remove(key, entry));
    const entry: Entry = { connecting, users: 0, lastUsedAt: monotonicMs() };
    entries.set(key, entry);
    connecting.catch(() => remove(key, entry));
    return entry;
  };

  return {
    use: async (server, work) => {
      const entry = find(server);
      entry.users++;
      try {
        return await work(entry.connecting);
      } finally {
        entry.users--;
        entry.lastUsedAt = monotonicMs();
      }
    },
    drop: (server, connection) => {
      const key = poolKey(server);
      const entry = entries.get(key);
      void entry?.connecting.then((current) => current === connection && remove(key, entry)).catch(() => undefined);
    },
    close: async () => {
      stopSweeping();
      const open = [...entries.values()];
      entries.clear();
      await Promise.allSettled(open.map(async (entry) => (await entry.connecting).close()));
    },
  };
}

/** Connections that nobody uses, the longest unused first. */
function longestIdle(entries: ReadonlyMap<string, Entry>): readonly [string, Entry][] {
  return [...entries].filter(([, entry]) => entry.users === 0).sort((a, b) => a[1].lastUsedAt - b[1].lastUsedAt);
}

function poolKey({ tenantId, url, headers }: McpServerKey): string {
  const fingerprint = createHash('sha256')
    .update(JSON.stringify(Object.entries(headers).sort()))
    .digest('base64');
  return JSON.stringify([tenantId, url, fingerprint]);
}
