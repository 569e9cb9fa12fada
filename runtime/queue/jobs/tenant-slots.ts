import { every } from '../../util/clock';
import type { QueueKeys } from '../keys';
import { type RedisClient, redisScript } from '../redis-script';

/** Lets a number of tasks of a tenant run at a time, over all consumers of the list. */
export interface TenantSlots {
  /**
   * A function that gives the slot back; or, when all are taken, how many tasks of the queue wait for a time already.
   */
  readonly tryTake: (tenantId: string, holder: string) => Promise<(() => Promise<void>) | number>;
  readonly close: () => void;
}

/** Takes a slot by the clock of Redis: the machines' own may differ by more than a slot's time. */
const take = redisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local is_held = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not is_held and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  return redis.call('ZCARD', KEYS[2])
end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return -1`);

/** Slots of a process that has died are free again after `ttlMs`. */
export function createTenantSlots(
  client: RedisClient,
  keys: QueueKeys,
  { limit, ttlMs }: { readonly limit: number; readonly ttlMs: number },
): TenantSlots {
  const held = new Map<string, string>();
  const ask = async (key: string, holder: string): Promise<number> =>
    Number(await take(client, [key, keys.job('delayed')], [holder, limit, ttlMs]));
  const stop = every(ttlMs / 3, () => {
    for (const [holder, key] of held) void ask(key, holder).catch(() => undefined);
  });
  return {
    tryTake: async (tenantId, holder) => {
      const key = keys.slots(tenantId);
      const waiting = await ask(key, holder);
      if (waiting >= 0) return waiting;
      held.set(holder, key);
      return async () => {
        held.delete(holder);
        await client.callBuffer('ZREM', [key, holder]);
      };
    },
    close: stop,
  };
}
