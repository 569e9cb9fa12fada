import { RuntimeError } from '../errors/runtime-error';
import { evictionOf, readInfo } from '../util/redis/server-info';
import type { QueueKeys } from './keys';
import type { RedisClient } from './redis-script';

/** BLMOVE came with it. */
const OLDEST = '6.2';

/**
 * Whether a queue is safe in this Redis. Throws QUEUE_REDIS_EVICTS for one that throws keys away to save memory, and
 * QUEUE_REDIS_UNSUITABLE for one that is too old, takes no writes, or keeps this user from what a queue needs.
 */
export async function checkRedis(client: RedisClient): Promise<void> {
  const info = readInfo(String(await permitted(client.callBuffer('INFO', []))));
  const reason = whyUnsuitable(info);
  if (reason !== undefined) throw new RuntimeError('QUEUE_REDIS_UNSUITABLE', { reason });
  await permitted(client.callBuffer('EVAL', ['return 1', '0']));
  const policy = evictionOf(info);
  if (policy !== undefined) throw new RuntimeError('QUEUE_REDIS_EVICTS', { policy });
}

/** Throws QUEUE_KEY_UNUSABLE for a key of a list that holds something else. */
export async function checkLists(
  client: RedisClient,
  { list, failedList, forwardList }: Pick<QueueKeys, 'list' | 'failedList' | 'forwardList'>,
): Promise<void> {
  for (const key of [list, failedList, forwardList].filter((name) => name !== '')) {
    const type = String(await client.callBuffer('TYPE', [key]));
    if (type !== 'list' && type !== 'none') throw new RuntimeError('QUEUE_KEY_UNUSABLE', { key, type });
  }
}

async function permitted<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOPERM')) throw error;
    throw new RuntimeError(
      'QUEUE_REDIS_UNSUITABLE',
      { reason: error.message.slice('NOPERM '.length) },
      { cause: error },
    );
  }
}

function whyUnsuitable(info: ReadonlyMap<string, string>): string | undefined {
  const version = info.get('redis_version') ?? '';
  if (version.localeCompare(OLDEST, 'en', { numeric: true }) < 0) {
    return `it is version ${version}, and ${OLDEST} is the oldest that will do`;
  }
  if (info.get('cluster_enabled') === '1') return 'it is a cluster';
  if (info.get('role') === 'slave') return 'it is a replica, which takes no writes';
  return undefined;
}
