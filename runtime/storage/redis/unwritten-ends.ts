import type { Redis } from 'ioredis';

import type { KeptEnd, RefusedEnd, UnwrittenEnds } from '../../contracts/outbox';
import { OUTBOX_INSTALLATIONS, outboxKey, refusedKey, SHARED_OUTBOX, SHARED_REFUSED } from './outbox-keys';
import { describeEntry } from './write-entry';

const SHOWN = 20;
const SHARED = [SHARED_OUTBOX, SHARED_REFUSED];

/** What the ledgers have not taken yet. */
export async function readUnwrittenEnds(client: Redis): Promise<UnwrittenEnds> {
  const installations = await client.smembers(OUTBOX_INSTALLATIONS);
  const lists = [...SHARED, ...installations.map(outboxKey)];
  const lengths = await Promise.all(lists.map((list) => client.llen(list)));
  const hashes = await Promise.all(installations.map((installation) => client.hvals(refusedKey(installation))));
  const entries = hashes.flat().map(shown);
  const oldest = entries.sort((one, other) => one.since.localeCompare(other.since)).slice(0, SHOWN);
  const shared = await Promise.all(SHARED.map((list) => client.lrange(list, 0, SHOWN - 1)));
  return {
    waiting: lengths.reduce((sum, length) => sum + length, 0),
    refused: entries.length,
    entries: oldest,
    unclaimed: shared.flat().map(describeEntry),
  };
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
    if (entry !== undefined && (await client.lrem(list, 0, entry)) > 0) return describeEntry(entry);
  }
  return undefined;
}

function shown(kept: string): RefusedEnd {
  const { entry: _itself, ...end } = JSON.parse(kept) as RefusedEnd & { readonly entry: string };
  return end;
}
