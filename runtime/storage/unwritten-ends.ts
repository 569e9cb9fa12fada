import type { Redis } from 'ioredis';

import type { RefusedEnd, UnwrittenEnds } from '../contracts/outbox';
import { OUTBOX_INSTALLATIONS, outboxKey, refusedKey, SHARED_OUTBOX, SHARED_REFUSED } from './outbox-keys';

const SHOWN = 20;

/** What the ledgers have not taken yet. */
export async function readUnwrittenEnds(client: Redis): Promise<UnwrittenEnds> {
  const installations = await client.smembers(OUTBOX_INSTALLATIONS);
  const lists = [SHARED_OUTBOX, SHARED_REFUSED, ...installations.map(outboxKey)];
  const lengths = await Promise.all(lists.map((list) => client.llen(list)));
  const hashes = await Promise.all(installations.map((installation) => client.hvals(refusedKey(installation))));
  const entries = hashes.flat().map(shown);
  const oldest = entries.sort((one, other) => one.since.localeCompare(other.since)).slice(0, SHOWN);
  return { waiting: lengths.reduce((sum, length) => sum + length, 0), refused: entries.length, entries: oldest };
}

/** Forgets a refused end, and gives what is known of it; undefined when there is none of this id. */
export async function dropRefusedEnd(client: Redis, id: string): Promise<RefusedEnd | undefined> {
  for (const installation of await client.smembers(OUTBOX_INSTALLATIONS)) {
    const kept = await client.hget(refusedKey(installation), id);
    if (kept !== null && (await client.hdel(refusedKey(installation), id)) === 1) return shown(kept);
  }
  return undefined;
}

function shown(kept: string): RefusedEnd {
  const { entry: _itself, ...end } = JSON.parse(kept) as RefusedEnd & { readonly entry: string };
  return end;
}
