import type { ConsumerHealth } from '../contracts/consumer';
import type { QueueKeys } from './keys';
import { type RedisClient, redisScript } from './redis-script';

export type QueueCounts = Pick<ConsumerHealth, 'pending' | 'waiting' | 'active' | 'delayed' | 'dead' | 'paused'>;

/** All of one moment, so that a task between two places is never missing from both. */
const count = redisScript(`
return {
  redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2]) + redis.call('HLEN', KEYS[3]),
  redis.call('LLEN', KEYS[4]) + redis.call('ZCARD', KEYS[5]),
  redis.call('LLEN', KEYS[6]),
  redis.call('ZCARD', KEYS[7]),
  redis.call('LLEN', KEYS[8]) + redis.call('HLEN', KEYS[9]),
  redis.call('HEXISTS', KEYS[10], 'paused')
}`);

export async function countTasks(client: RedisClient, keys: QueueKeys): Promise<QueueCounts> {
  const reply = await count(client, [
    ...[keys.list, keys.ingress, keys.taken],
    ...['wait', 'prioritized', 'active', 'delayed'].map(keys.job),
    ...[keys.failedList, keys.dying, keys.job('meta')],
  ]);
  const [pending, waiting, active, delayed, dead, paused] = reply as [number, number, number, number, number, number];
  return { pending, waiting, active, delayed, dead, paused: paused === 1 };
}

const countLeft = redisScript(`
local left = 0
for no, key in ipairs(KEYS) do left = left + redis.call(ARGV[no], key) end
return left`);

/** Reports a queue without work: no task waits, runs, is delayed or on its way to the dead-letter list. */
export async function isEmpty(client: RedisClient, keys: QueueKeys): Promise<boolean> {
  const jobs = ['wait', 'active', 'prioritized', 'delayed'].map(keys.job);
  const commands = ['LLEN', 'LLEN', 'LLEN', 'LLEN', 'ZCARD', 'ZCARD', 'HLEN', 'HLEN'];
  return (await countLeft(client, [keys.list, keys.ingress, ...jobs, keys.taken, keys.dying], commands)) === 0;
}

/** What a consumer could take at once. */
export interface Takeable {
  /** Tasks on the list, or moved off it for a consumer that waited. */
  readonly listed: number;
  /** Jobs in the queue, with those whose time has come. */
  readonly queued: number;
  readonly paused: boolean;
}

const takeable = redisScript(`
return {
  redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2]),
  redis.call('LLEN', KEYS[3]) + redis.call('ZCARD', KEYS[4]) + redis.call('ZCOUNT', KEYS[5], '-inf', ARGV[1]),
  redis.call('HEXISTS', KEYS[6], 'paused')
}`);

/**
 * BullMQ's scores of delayed jobs are their time, by the clock of this machine, with room for 4096 of the same
 * millisecond.
 */
const SCORE_OF_MS = 4096;

export async function countTakeable(client: RedisClient, keys: QueueKeys): Promise<Takeable> {
  const jobs = ['wait', 'prioritized', 'delayed', 'meta'].map(keys.job);
  const reply = await takeable(client, [keys.list, keys.ingress, ...jobs], [Date.now() * SCORE_OF_MS]);
  const [listed, queued, paused] = reply as [number, number, number];
  return { listed, queued, paused: paused === 1 };
}
