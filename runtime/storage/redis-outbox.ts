import type { LedgerStore, RunProgress } from '../contracts/ledger';
import type { Outbox } from '../contracts/outbox';
import { isRuntimeError } from '../errors/runtime-error';
import { after, monotonicMs } from '../util/clock';
import type { RedisConnection } from './redis-connection';
import { sealedJson, type SealedJson, type TextSealer } from './sealed-json';

const KEY = 'elo:agent:outbox';
/** What the ledger refuses although it is there, for a person to look at. */
const REFUSED_KEY = 'elo:agent:outbox:refused';
/** For the sealer: entries belong to no tenant. */
const OWNER = 'outbox';
const RETRY_MS = 5000;
/** What a process left behind that is gone is looked for so often. */
const LOOK_MS = 60_000;

interface OutboxOptions {
  readonly ledger: Pick<LedgerStore, 'record'>;
  /** Undefined: entries are kept as they are. */
  readonly sealer?: TextSealer;
}

/**
 * The outbox in Redis. Writes to the ledger count once however often they are repeated, so that several processes may
 * empty it at the same time, and one that dies in the middle of it loses nothing.
 */
export function createRedisOutbox(
  redis: RedisConnection,
  { ledger, sealer }: OutboxOptions,
): Outbox & {
  /** Writes what is kept, of whichever process, now and then while it is called, and until it is written once it was found. */
  readonly look: () => void;
  readonly close: () => Promise<void>;
} {
  const json = sealedJson(sealer);
  let lookedAt = -Infinity;
  let stopWaiting: (() => void) | undefined;
  let flushing: Promise<void> | undefined;
  let isClosed = false;
  const flush = (): void => {
    lookedAt = monotonicMs();
    flushing ??= writeAll(redis, { ledger, json })
      .catch(retry)
      .finally(() => (flushing = undefined));
  };
  const retry = (): void => {
    stopWaiting?.();
    if (!isClosed) stopWaiting = after(RETRY_MS, flush);
  };
  return {
    keep: async (progress) => {
      await redis.use((client) => client.rpush(KEY, json.write(progress, OWNER)));
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

interface WriteParts {
  readonly ledger: Pick<LedgerStore, 'record'>;
  readonly json: SealedJson;
}

async function writeAll(redis: RedisConnection, parts: WriteParts): Promise<void> {
  for (let index = 0; ;) {
    const entry = await redis.use((client) => client.lindex(KEY, index));
    if (entry === null) return;
    const end = await write(parts, entry);
    if (end === 'left') {
      index += 1;
      continue;
    }
    await redis.use((client) => {
      const done = client.multi().lrem(KEY, 1, entry);
      return (end === 'refused' ? done.rpush(REFUSED_KEY, entry) : done).exec();
    });
  }
}

/** `left` is for a process that has the key. An entry that nothing can be done with must not block those behind it. */
async function write({ ledger, json }: WriteParts, entry: string): Promise<'written' | 'refused' | 'left'> {
  let progress: RunProgress;
  try {
    progress = json.read(entry, OWNER) as RunProgress;
  } catch (error) {
    return isRuntimeError(error) && error.code === 'VAULT_KEY_MISSING' ? 'left' : 'refused';
  }
  try {
    await ledger.record(progress);
    return 'written';
  } catch (error) {
    // A database that is away is waited for.
    if (!isRuntimeError(error) || error.code !== 'DB_QUERY_FAILED') throw error;
    return 'refused';
  }
}
