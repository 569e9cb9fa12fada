import { createHash } from 'node:crypto';

import type { McpServer } from '../contracts/tools/mcp';
import { every, monotonicMs } from '../util/clock';
import { canonicalJson } from '../util/json';
import type { McpConnection, McpTarget } from './connection';

export interface McpClientPool {
  /** Lends a connection, which may still be connecting, for as long as `work` lasts. */
  readonly use: <T>(target: McpTarget, work: (connecting: Promise<McpConnection>) => Promise<T>) => Promise<T>;
  /** Forgets and closes a connection that failed, or whatever one there is; the next `use` reconnects. */
  readonly drop: (target: McpTarget, connection?: McpConnection) => void;
  readonly close: () => Promise<void>;
}

interface Entry {
  readonly connecting: Promise<McpConnection>;
  users: number;
  lastUsedAt: number;
}

interface McpClientPoolOptions {
  readonly connect: (target: McpTarget, onClose: () => void) => Promise<McpConnection>;
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
  const stopSweeping = every(Math.max(1000, options.idleMs / 2), sweep);

  const find = (target: McpTarget): Entry => {
    const key = targetKey(target);
    const known = entries.get(key);
    if (known !== undefined) return known;
    const surplus = entries.size < options.maxConnections ? [] : longestIdle(entries).slice(0, 1);
    for (const [other, idle] of surplus) remove(other, idle);
    const connecting = options.connect(target, () => remove(key, entry));
    const entry: Entry = { connecting, users: 0, lastUsedAt: monotonicMs() };
    entries.set(key, entry);
    connecting.catch(() => remove(key, entry));
    return entry;
  };

  return {
    use: async (target, work) => {
      const entry = find(target);
      entry.users++;
      try {
        return await work(entry.connecting);
      } finally {
        entry.users--;
        entry.lastUsedAt = monotonicMs();
      }
    },
    drop: (target, connection) => {
      const key = targetKey(target);
      const entry = entries.get(key);
      void entry?.connecting
        .then((current) => (connection ?? current) === current && remove(key, entry))
        .catch(() => undefined);
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

const fingerprints = new WeakMap<McpServer, string>();

/** Equal for the same tenant, server and credential only: nothing is shared between different answers. */
export function targetKey({ tenantId, server }: McpTarget): string {
  const known = fingerprints.get(server);
  if (known !== undefined) return `${tenantId} ${known}`;
  const { id, url, transport, auth, allowedHosts, answersWithDefaults, resets } = server;
  const fingerprint = createHash('sha256')
    .update(canonicalJson([id, url, transport, auth, allowedHosts, answersWithDefaults, resets]))
    .digest('base64');
  fingerprints.set(server, fingerprint);
  return `${tenantId} ${fingerprint}`;
}
