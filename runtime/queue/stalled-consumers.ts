import { newId } from '../util/clock';
import type { QueueKeys } from './keys';
import { type RedisClient, redisScript } from './redis-script';

/** Consumers that take no tasks although some wait: what they tell of themselves, for `queue status` to show. */
export interface StalledConsumers {
  /** This one is; forgotten when it is not said again. */
  readonly tell: () => Promise<void>;
  readonly count: () => Promise<number>;
}

/** A few looks of the watch. */
const KEPT_MS = 6000;

const tell = redisScript(`
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`);

const count = redisScript(`
local time = redis.call('TIME')
return redis.call('ZCOUNT', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000), '+inf')`);

export function createStalledConsumers(client: () => RedisClient, keys: Pick<QueueKeys, 'stalled'>): StalledConsumers {
  const id = newId();
  return {
    tell: async () => {
      await tell(client(), [keys.stalled], [id, KEPT_MS]);
    },
    count: async () => Number(await count(client(), [keys.stalled])),
  };
}
