import type { LedgerStore, RunProgress } from '../contracts/ledger';
import type { Outbox } from '../contracts/outbox';
import { isRuntimeError } from '../errors/runtime-error';
import { after, monotonicMs } from '../util/clock';
import type { RedisConnection } from './redis-connection';

const KEY = 'elo:agent:outbox';
/** What the ledger refuses although it is there, for a person to look at. */
const REFUSED_KEY = 'elo:agent:outbox:refused';
const RETRY_MS = 5000;
/** What a process left behind that is gone is looked for so often. */
const LOOK_MS = 60_000;

/**
 * The outbox in Redis. Writes to the ledger count once however often they are repeated, so that several processes may
 * empty it at the same time, and one that dies in the middle of it loses nothing.
 */
export function createRedisOutbox(
  redis: RedisConnection,
  ledger: Pick<LedgerStore, 'record'>,
): Outbox & {
  /** Writes what is kept, of whichever process, now and then while it is called, and until it is written once it was found. */
  readonly look: () => void;
  readonly close: () => Promise<void>;
} {
  let lookedAt = -Infinity;
  let stopWaiting: (() => void) | undefined;
  let flushing: Promise<void> | undefined;
  let isClosed = false;
  const flush = (): void => {
    lookedAt = monotonicMs();
    flushing ??= writeAll(redis, ledger)
      .catch(retry)
      .finally(() => (flushing = undefined));
  };
  const retry = (): void => {
    stopWaiting?.();
    if (!isClosed) stopWaiting = after(RETRY_MS, flush);
  };
  return {
    keep: async (progress) => {
      await redis.use((client) => client.rpush(KEY, JSON.stringify(progress)));
      retry();
    },
    look: () => {
      if (monotonicMs() - lookedAt > LOOK_MS) flush();
    },
    close: async () => {
      isClosed = true;
      stopWaiting?.();
      await flushing;
    },
  };
}

async function writeAll(redis: RedisConnection, ledger: Pick<LedgerStore, 'record'>): Promise<void> {
  for (;;) {
    const entry = await redis.use((client) => client.lindex(KEY, 0));
    if (entry === null) return;
    const isRefused = await isRefusedBy(ledger, entry);
    await redis.use((client) => {
      const done = client.multi().lrem(KEY, 1, entry);
      return (isRefused ? done.rpush(REFUSED_KEY, entry) : done).exec();
    });
  }
}

async function isRefusedBy(ledger: Pick<LedgerStore, 'record'>, entry: string): Promise<boolean> {
  try {
    await ledger.record(JSON.parse(entry) as RunProgress);
    return false;
  } catch (error) {
    // A database that is away is waited for; an entry that it takes exception to must not block those behind it.
    if (!isRuntimeError(error) || error.code !== 'DB_QUERY_FAILED') throw error;
    return true;
  }
}
