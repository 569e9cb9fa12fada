import type { Queue } from 'bullmq';

import { describeError, type ErrorSummary } from '../errors/runtime-error';
import { isJsonObject, type JsonObject, tryParseJson } from '../util/json';
import type { QueueKeys } from './keys';
import { countTasks, type QueueCounts } from './queue-counts';
import { type RedisClient, redisScript } from './redis-script';
import { createStalledConsumers } from './stalled-consumers';

export interface QueueStatus extends QueueCounts {
  readonly list: string;
  readonly failed_list: string;
  /** Consumers that are connected; undefined where Redis does not tell. */
  readonly workers?: number;
  /** What is wrong with the queue as it is now. */
  readonly warnings?: readonly ErrorSummary[];
}

export interface RetriedTasks {
  /** Moved back to the list, the oldest first. */
  readonly retried: number;
  /** Left, since only their beginning was kept. */
  readonly skipped: number;
}

export interface QueueAdmin {
  readonly status: () => Promise<QueueStatus>;
  /** No consumer takes another task; those under way go on. */
  readonly pause: () => Promise<void>;
  readonly resume: () => Promise<void>;
  /** All of the dead-letter list, or the entries of one task. */
  readonly retryDead: (options?: { readonly taskId?: string }) => Promise<RetriedTasks>;
}

/** Moves one entry, unless somebody else has. Searched from the oldest end, where it stands as a rule. */
const retry = redisScript(`
if redis.call('LREM', KEYS[1], -1, ARGV[1]) == 0 then return 0 end
redis.call('LPUSH', KEYS[2], ARGV[2])
return 1`);

const PAGE = 100;

export function createQueueAdmin(client: RedisClient, queue: Queue, keys: QueueKeys): QueueAdmin {
  const stalled = createStalledConsumers(() => client, keys);
  return {
    status: async () => {
      const counts = await countTasks(client, keys);
      const workers = await queue.getWorkersCount().catch(() => undefined);
      const isStalled = (await stalled.count()) > 0;
      return {
        ...{ list: keys.list, failed_list: keys.failedList, ...counts, workers },
        ...(isStalled
          ? {
              warnings: [
                describeError('QUEUE_CONSUMER_STALLED', { reason: `${counts.pending + counts.waiting} wait` }),
              ],
            }
          : {}),
      };
    },
    pause: () => queue.pause(),
    resume: () => queue.resume(),
    retryDead: ({ taskId } = {}) => retryDead(client, keys, taskId),
  };
}

/** Goes through what stood on the list at the start, from the oldest on; what dies meanwhile is not seen again. */
async function retryDead(client: RedisClient, keys: QueueKeys, taskId?: string): Promise<RetriedTasks> {
  const done = { retried: 0, skipped: 0 };
  let left = Number(await client.callBuffer('LLEN', [keys.failedList]));
  let passed = 0;
  while (left > 0) {
    const count = Math.min(PAGE, left);
    const range = [keys.failedList, -passed - count, -passed - 1];
    const page = (await client.callBuffer('LRANGE', range)) as Buffer[];
    if (page.length === 0) break;
    for (const entry of page.reverse()) {
      const isMoved = await retryEntry(client, keys, { entry, taskId, done });
      if (!isMoved) passed++;
    }
    left -= count;
  }
  return done;
}

interface RetryStep {
  readonly entry: Buffer;
  readonly taskId?: string;
  readonly done: { retried: number; skipped: number };
}

/** False when the entry stays where it is. */
async function retryEntry(client: RedisClient, keys: QueueKeys, { entry, taskId, done }: RetryStep): Promise<boolean> {
  const parsed = tryParseJson(entry.toString('utf8'), Infinity);
  const dead = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  if (taskId !== undefined && dead.task_id !== taskId) return false;
  const raw = rawOf(dead);
  if (raw === undefined) {
    done.skipped++;
    return false;
  }
  const isMoved = (await retry(client, [keys.failedList, keys.list], [entry, raw])) === 1;
  if (isMoved) done.retried++;
  return true;
}

/** What stood on the list; undefined when it was not kept. */
function rawOf({ raw, raw_base64: bytes, is_cut: isCut }: JsonObject): Buffer | string | undefined {
  if (isCut === true || typeof raw !== 'string') return undefined;
  return typeof bytes === 'string' ? Buffer.from(bytes, 'base64') : raw;
}
