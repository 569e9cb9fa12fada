import { createHash } from 'node:crypto';

import { createRuntime, type Runtime } from './compose';
import type { RuntimeConfig } from './config';
import { every, monotonicMs } from './util/clock';

interface SharedRuntime {
  readonly runtime: Runtime;
  users: number;
  lastUsedAt: number;
}

const IDLE_MS = 300_000;
const SWEEP_MS = 60_000;

// One for each set of credentials in this process. A reloaded copy of this module makes its own;
// what the old copy holds closes when it has been idle, so nothing is left open.
const shared = new Map<string, SharedRuntime>();
let stopSweeping: (() => void) | undefined;

/**
 * Lends a runtime that all callers with the same configuration share, with its pools and warm connections.
 * It closes after five minutes without a caller.
 */
export async function useRuntime<T>(
  config: Omit<RuntimeConfig, 'plugins'>,
  use: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  const key = createHash('sha256').update(JSON.stringify(config)).digest('hex');
  const entry = shared.get(key) ?? { runtime: createRuntime(config), users: 0, lastUsedAt: 0 };
  shared.set(key, entry);
  stopSweeping ??= every(SWEEP_MS, closeIdle);
  entry.users++;
  try {
    return await use(entry.runtime);
  } finally {
    entry.users--;
    entry.lastUsedAt = monotonicMs();
  }
}

function closeIdle(): void {
  const oldest = monotonicMs() - IDLE_MS;
  for (const [key, entry] of shared) {
    if (entry.users > 0 || entry.lastUsedAt > oldest) continue;
    shared.delete(key);
    void entry.runtime.close();
  }
  if (shared.size > 0) return;
  stopSweeping?.();
  stopSweeping = undefined;
}
