import { createHash } from 'node:crypto';

import { parseQueueConfig, type QueueConfig, type RuntimeConfig } from '../config/runtime-config';
import { createRedisConnection } from '../storage/redis/connection';
import type { TaskQueue } from '../tasks/enqueue-task';
import { every, monotonicMs } from '../util/clock';
import { createRuntime } from './create-runtime';
import { createTaskParts } from './tasks';

interface Closable {
  readonly close: () => Promise<void>;
}

interface Shared<Value> {
  readonly value: Value;
  users: number;
  lastUsedAt: number;
}

const IDLE_MS = 300_000;
const SWEEP_MS = 60_000;

/**
 * Lends a runtime that all callers with the same configuration share, with its pools and warm connections.
 * It closes after five minutes without a caller.
 */
export const useRuntime = share((config: Omit<RuntimeConfig, 'plugins' | 'logger'>) => createRuntime(config));

/** The same for the producer's side of the queue, which needs Redis only. */
export const useTaskQueue = share((given: QueueConfig): TaskQueue & Closable => {
  const config = parseQueueConfig(given);
  const redis = createRedisConnection(config.redis);
  return { ...createTaskParts({ config, redis }).queue, close: redis.close };
});

// One for each set of credentials in this process. A reloaded copy of this module makes its own;
// what the old copy holds closes when it has been idle, so nothing is left open.
function share<Config, Value extends Closable>(
  create: (config: Config) => Value,
): <T>(config: Config, use: (value: Value) => Promise<T>) => Promise<T> {
  const shared = new Map<string, Shared<Value>>();
  let stopSweeping: (() => void) | undefined;
  const closeIdle = (): void => {
    const oldest = monotonicMs() - IDLE_MS;
    for (const [key, entry] of shared) {
      if (entry.users > 0 || entry.lastUsedAt > oldest) continue;
      shared.delete(key);
      void entry.value.close();
    }
    if (shared.size > 0) return;
    stopSweeping?.();
    stopSweeping = undefined;
  };
  return async (config, use) => {
    const key = createHash('sha256').update(JSON.stringify(config)).digest('hex');
    const entry = shared.get(key) ?? { value: create(config), users: 0, lastUsedAt: 0 };
    shared.set(key, entry);
    stopSweeping ??= every(SWEEP_MS, closeIdle);
    entry.users++;
    try {
      return await use(entry.value);
    } finally {
      entry.users--;
      entry.lastUsedAt = monotonicMs();
    }
  };
}
