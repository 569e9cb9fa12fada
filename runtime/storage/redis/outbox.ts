import type { Redis } from 'ioredis';

import type { LedgerStore, RunProgress } from '../../contracts/ledger/ledger';
import type { Outbox, RefusedEnd } from '../../contracts/ledger/outbox';
import { after, monotonicMs } from '../../util/clock';
import { type SealedJson, sealedJson, type TextSealer } from '../postgres/ledger/sealed-json';
import type { RedisConnection } from './connection';
import { forgetKept, noteKept } from './kept-since';
import { OUTBOX_INSTALLATIONS, outboxKey, refusedKey, SHARED_OUTBOX, SHARED_REFUSED } from './outbox-keys';
import { OUTBOX_OWNER, writeEntry, type Written } from './write-entry';

const RETRY_MS = 5000;
/** What a process left behind that is gone is looked for so often. */
const LOOK_MS = 60_000;
/** Refused entries are tried again ever more seldom. */
const GONE_MS = 30 * 86_400_000;
const REFUSED_RETRY = { firstMs: 60_000, longestMs: 3_600_000 };

interface OutboxOptions {
  readonly ledger: Pick<LedgerStore, 'record' | 'recordUnbilled' | 'knows' | 'identify'>;
  /** Undefined: entries are kept as they are. */
  readonly sealer?: TextSealer;
}

interface RedisOutbox extends Outbox {
  /**
   * Writes what is kept, of whichever process, now and then while it is called, and until it is written once it was found.
   * The first time it learns whose entries it keeps, as long as the ledger can be asked.
   */
  readonly look: () => void;
  readonly close: () => Promise<void>;
}

/**
 * The outbox in Redis, one for each installation. Writes to the ledger count once however often they are repeated, so that
 * several processes may empty it at the same time, and one that dies in the middle of it loses nothing.
 */
export function createRedisOutbox(redis: RedisConnection, { ledger, sealer }: OutboxOptions): RedisOutbox {
  const json = sealedJson(sealer);
  const identify = once(() => ledger.identify());
  const backOff = createBackOff();
  let lookedAt = -Infinity;
  let flushing: Promise<void> | undefined;
  let isClosed = false;
  const write = async (entry: string): Promise<Written> => {
    const written = await writeEntry({ ledger, json }, entry);
    // The next one may have to wait for a lock as long as this one has.
    if (written.kind === 'later' && isClosed) throw new Error('the outbox is closed');
    if (written.kind === 'later') timer.ringIn(RETRY_MS);
    return written;
  };
  const writer = createWriter(redis, write);
  const flush = (): void => {
    lookedAt = monotonicMs();
    flushing ??= writeAll()
      .catch(() => timer.ringIn(RETRY_MS))
      .finally(() => (flushing = undefined));
  };
  // What was kept while a flush was under way may have come too late for it.
  const timer = createTimer(() => (flushing === undefined ? flush() : timer.ringIn(RETRY_MS)));
  const writeAll = async (): Promise<void> => {
    const installation = await identify();
    for (const list of [outboxKey(installation), SHARED_OUTBOX, SHARED_REFUSED])
      await writer.writeList(list, installation);
    const refused = await writer.countRefused(installation);
    if (refused === 0) backOff.reset();
    if (refused === 0) return;
    if (backOff.isDue()) {
      await writer.writeRefused(installation);
      backOff.grow();
    }
    timer.ringIn(backOff.waitMs());
  };
  return {
    keep: async (progress) => {
      const installation = await identify().catch(() => undefined);
      await redis.use((client) => keepEntry(client, installation, { json, progress }));
      timer.ringIn(RETRY_MS);
    },
    look: () => {
      if (monotonicMs() - lookedAt > LOOK_MS) flush();
    },
    close: async () => {
      isClosed = true;
      timer.close();
      await flushing;
    },
  };
}

async function keepEntry(
  client: Redis,
  installation: string | undefined,
  { json, progress }: { readonly json: SealedJson; readonly progress: RunProgress },
): Promise<void> {
  const entry = json.write(progress, OUTBOX_OWNER);
  await noteKept(client, entry, progress);
  if (installation === undefined) {
    await client.rpush(SHARED_OUTBOX, entry);
    return;
  }
  // First, since a set that names too much does no harm.
  await client.sadd(OUTBOX_INSTALLATIONS, installation);
  await client.rpush(outboxKey(installation), entry);
}

interface Writer {
  /**
   * Takes what is written off the list; what is refused is put with the refused of the installation, unless it is
   * another's.
   */
  readonly writeList: (list: string, installation: string) => Promise<void>;
  readonly countRefused: (installation: string) => Promise<number>;
  /** Those that are refused again stay, but for those whose tenant is gone for thirty days. */
  readonly writeRefused: (installation: string) => Promise<void>;
}

function createWriter(redis: RedisConnection, write: (entry: string) => Promise<Written>): Writer {
  return {
    writeList: async (list, installation) => {
      for (let index = 0; ;) {
        const entry = await redis.use((client) => client.lindex(list, index));
        if (entry === null) return;
        const written = await write(entry);
        if (staysOn(list, installation, written)) {
          index += 1;
        } else {
          await redis.use((client) => takeOff(client, { list, installation, entry, written }));
        }
      }
    },
    countRefused: (installation) => redis.use((client) => client.hlen(refusedKey(installation))),
    writeRefused: async (installation) => {
      const key = refusedKey(installation);
      for (const id of await redis.use((client) => client.hkeys(key))) {
        const kept = await redis.use((client) => client.hget(key, id));
        if (kept === null) continue;
        const { entry, since } = JSON.parse(kept) as { readonly entry: string; readonly since: string };
        const written = await write(entry);
        if (written.kind === 'written' || isOver(written, since)) await redis.use((client) => client.hdel(key, id));
      }
    },
  };
}

/**
 * Returns true for an entry that may be dropped: its tenant has been missing for so long that it was deleted with its bill. A
 * database that was restored from an older copy is repaired within that time.
 */
function isOver(written: Written, since: string): boolean {
  const isGone = written.kind === 'refused' && written.end.code === 'TENANT_NOT_FOUND';
  return isGone && Date.now() - Date.parse(since) > GONE_MS;
}

function staysOn(list: string, installation: string, written: Written): boolean {
  if (written.kind === 'refused') return isAnothers(list, installation, written.end);
  return written.kind !== 'written';
}

const NOT_HERE = ['RUN_UNKNOWN', 'TENANT_NOT_FOUND'];

/**
 * Whether an entry is another installation's: on the lists that all share stands what belongs to others, what is not
 * known here, or cannot be read.
 */
function isAnothers(list: string, installation: string, { code, task_id: taskId }: RefusedEnd): boolean {
  return list !== outboxKey(installation) && (taskId === undefined || NOT_HERE.includes(code));
}

interface Taken {
  readonly list: string;
  readonly installation: string;
  readonly entry: string;
  readonly written: Written;
}

async function takeOff(client: Redis, { list, installation, entry, written }: Taken): Promise<void> {
  const done = client.multi();
  if (written.kind === 'refused') {
    done.sadd(OUTBOX_INSTALLATIONS, installation);
    done.hsetnx(refusedKey(installation), written.end.id, JSON.stringify({ ...written.end, entry }));
  }
  await done.lrem(list, 1, entry).exec();
  await forgetKept(client, entry);
}

interface Timer {
  /** An earlier time that stands already is kept. */
  readonly ringIn: (delayMs: number) => void;
  readonly close: () => void;
}

function createTimer(onRing: () => void): Timer {
  let dueAt = Infinity;
  let stop: (() => void) | undefined;
  let isClosed = false;
  return {
    ringIn: (delayMs) => {
      const at = monotonicMs() + delayMs;
      if (isClosed || at >= dueAt) return;
      stop?.();
      dueAt = at;
      stop = after(delayMs, () => {
        dueAt = Infinity;
        onRing();
      });
    },
    close: () => {
      isClosed = true;
      stop?.();
    },
  };
}

interface BackOff {
  readonly isDue: () => boolean;
  readonly waitMs: () => number;
  readonly grow: () => void;
  readonly reset: () => void;
}

function createBackOff(): BackOff {
  const { firstMs, longestMs } = REFUSED_RETRY;
  let delayMs = firstMs;
  let dueAt = -Infinity;
  return {
    isDue: () => monotonicMs() >= dueAt,
    waitMs: () => Math.max(0, dueAt - monotonicMs()),
    grow: () => {
      dueAt = monotonicMs() + delayMs;
      delayMs = Math.min(longestMs, delayMs * 2);
    },
    reset: () => {
      delayMs = firstMs;
      dueAt = -Infinity;
    },
  };
}

/** Asks until there is an answer, and then no more. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= ask().catch((error: unknown) => {
      asked = undefined;
      throw error;
    });
    return asked;
  };
}
