import type { Redis } from 'ioredis';

import type { KeptEnd, OutboxBacklog, RefusedEnd, UnwrittenEnds } from '../../contracts/ledger/outbox';
import { forgetKept, readKept } from './kept-since';
import { OUTBOX_INSTALLATIONS, outboxKey, refusedKey, SHARED_OUTBOX, SHARED_REFUSED } from './outbox-keys';
import { describeEntry } from './write-entry';

const SHOWN = 20;
const SHARED = [SHARED_OUTBOX, SHARED_REFUSED];

/** What the ledgers have not taken yet. */
export async function readUnwrittenEnds(client: Redis): Promise<UnwrittenEnds> {
  const installations = await client.smembers(OUTBOX_INSTALLATIONS);
  const own = installations.map(outboxKey);
  const waiting = await countWaiting(client, [...SHARED, ...own]);
  const hashes = await Promise.all(installations.map((installation) => client.hvals(refusedKey(installation))));
  const entries = hashes.flat().map(shown);
  const oldest = entries.sort((one, other) => one.since.localeCompare(other.since)).slice(0, SHOWN);
  const [shared, first] = await Promise.all([firstOf(client, SHARED, SHOWN), firstOf(client, own, SHOWN)]);
  const longest = await readKept(client, [...new Set([...shared, ...first])]);
  return {
    waiting,
    refused: entries.length,
    longest: longest.slice(0, SHOWN),
    entries: oldest,
    unclaimed: shared.map(describeEntry),
  };
}

/** The same in figures. */
export async function readBacklog(client: Redis): Promise<OutboxBacklog> {
  const installations = await client.smembers(OUTBOX_INSTALLATIONS);
  const lists = [...SHARED, ...installations.map(outboxKey)];
  const refused = await Promise.all(installations.map((installation) => client.hlen(refusedKey(installation))));
  const oldest = await readKept(client, await firstOf(client, lists, 1));
  return {
    waiting: await countWaiting(client, lists),
    refused: refused.reduce((sum, count) => sum + count, 0),
    oldestSeconds: Math.max(0, ...oldest.map(({ age_seconds: age = 0 }) => age)),
  };
}

async function countWaiting(client: Redis, lists: readonly string[]): Promise<number> {
  const lengths = await Promise.all(lists.map((list) => client.llen(list)));
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** What stands first on each list has been kept longest. */
async function firstOf(client: Redis, lists: readonly string[], count: number): Promise<readonly string[]> {
  return (await Promise.all(lists.map((list) => client.lrange(list, 0, count - 1)))).flat();
}

/** Forgets an end that is refused or unclaimed, and gives what is known of it; undefined when there is none of this id. */
export async function dropUnwrittenEnd(client: Redis, id: string): Promise<KeptEnd | undefined> {
  for (const installation of await client.smembers(OUTBOX_INSTALLATIONS)) {
    const kept = await client.hget(refusedKey(installation), id);
    if (kept !== null && (await client.hdel(refusedKey(installation), id)) === 1) return shown(kept);
  }
  return dropUnclaimed(client, id);
}

async function dropUnclaimed(client: Redis, id: string): Promise<KeptEnd | undefined> {
  for (const list of SHARED) {
    const entry = (await client.lrange(list, 0, -1)).find((kept) => describeEntry(kept).id === id);
    // With its repetitions, which count once.
    if (entry === undefined || (await client.lrem(list, 0, entry)) === 0) continue;
    await forgetKept(client, entry);
    return describeEntry(entry);
  }
  return undefined;
}

function shown(kept: string): RefusedEnd {
  const { entry: _itself, ...end } = JSON.parse(kept) as RefusedEnd & { readonly entry: string };
  return end;
}
