import type { Redis } from 'ioredis';

import type { RunProgress } from '../../contracts/ledger/ledger';
import type { WaitingEnd } from '../../contracts/ledger/outbox';
import { KEPT_SINCE } from './outbox-keys';
import { idOf } from './write-entry';

/** What is known of an entry beside itself, which may be encrypted. */
interface Kept {
  readonly since: string;
  readonly tenant_id: string;
}

export async function noteKept(client: Redis, entry: string, { tenantId }: RunProgress): Promise<void> {
  const kept: Kept = { since: new Date().toISOString(), tenant_id: tenantId };
  await client.hsetnx(KEPT_SINCE, idOf(entry), JSON.stringify(kept));
}

export async function forgetKept(client: Pick<Redis, 'hdel'>, entry: string): Promise<void> {
  await client.hdel(KEPT_SINCE, idOf(entry));
}

/** Those that have waited longest first; of what an older version kept nobody knows since when, so it comes before them. */
export async function readKept(client: Redis, entries: readonly string[]): Promise<readonly WaitingEnd[]> {
  if (entries.length === 0) return [];
  const ids = entries.map(idOf);
  const known = await client.hmget(KEPT_SINCE, ...ids);
  return ids
    .map((id, index) => ({ id, ...aged(known[index]) }))
    .sort((one, other) => (one.since ?? '').localeCompare(other.since ?? ''));
}

function aged(text: string | null | undefined): Omit<WaitingEnd, 'id'> {
  if (text === null || text === undefined) return {};
  const kept = JSON.parse(text) as Kept;
  // The clock of whoever kept it may be ahead of ours.
  return { ...kept, age_seconds: Math.max(0, Math.round((Date.now() - Date.parse(kept.since)) / 1000)) };
}
