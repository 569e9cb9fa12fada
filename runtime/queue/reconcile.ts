import type { Queue } from 'bullmq';

import type { Log } from '../contracts/event';
import { toRuntimeError } from '../errors/to-runtime-error';
import { every } from '../util/clock';
import { checkRedis } from './check-redis';
import type { DeadLetters } from './jobs/dead-letters';
import type { QueueKeys } from './keys';
import { type RedisClient, redisScript } from './redis-script';

interface SweepParts {
  readonly client: RedisClient;
  readonly queue: Queue;
  readonly keys: QueueKeys;
  readonly dying: Pick<DeadLetters, 'publishLeft'>;
  readonly log: Log;
}

const SWEEP_MS = 15_000;
/** Clocks that differ by less do no harm. */
const TOLERATED_MS = 10_000;

/**
 * Jobs put off to a later time than they were meant to, by the clock of Redis, and that time. BullMQ goes by the clock of each
 * machine: one that is an hour ahead would put its jobs off for all others by that hour.
 */
const findLate = redisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply = {string.format('%.0f', now)}
local later = string.format('%.0f', (now + ARGV[2]) * 4096)
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], later, '+inf', 'LIMIT', 0, 1000)) do
  local due = redis.call('ZSCORE', KEYS[1], id) / 4096
  local delay = redis.call('HGET', ARGV[1] .. id, 'delay') or 0
  if due > now + delay + ARGV[2] then reply[#reply + 1] = id end
end
return reply`);

/** What any consumer looks after for all of them, now and then; returns the stop function. */
export function startReconciling({ client, queue, keys, dying, log }: SweepParts): () => void {
  const sweep = (): void => {
    if (client.status !== 'ready') return;
    void dying.publishLeft().catch(() => undefined);
    void promoteLate().catch(() => undefined);
    // A server may have been given another policy, or be another one by now.
    void checkRedis(client).catch((error: unknown) => {
      const { code, message } = toRuntimeError(error);
      log('error', message, { code });
    });
  };
  const promoteLate = async (): Promise<void> => {
    const reply = (await findLate(client, [keys.job('delayed')], [keys.job(''), TOLERATED_MS])) as Buffer[];
    const [now = '', ...ids] = reply.map(String);
    const aheadMs = Date.now() - Number(now);
    if (Math.abs(aheadMs) > TOLERATED_MS) {
      log('warn', 'the clock of this machine is not that of Redis: times between tries do not hold', {
        ahead_ms: aheadMs,
      });
    }
    for (const id of ids) await (await queue.getJob(id))?.promote();
  };
  sweep();
  return every(SWEEP_MS, sweep);
}
