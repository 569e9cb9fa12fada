import * as z from 'zod/v4';

import type { CallbackStore, WebhookTurn } from '../../contracts/callback';
import { RuntimeError } from '../../errors/runtime-error';
import type { RedisConnection } from './connection';
import { redisScript } from './script';

const MARKER_PREFIX = 'elo:agent:delivered:';
const MARKER_SECONDS = 7 * 86_400;
/** How long a result is kept, as producers have been promised. */
const RESULT_SECONDS = 300;
/** How long counter and status are kept: the tasks of a group may end far apart. */
const GROUP_SECONDS = 3600;

/**
 * KEYS: marker, result, counter, status; a key that is not asked for is the marker's. ARGV: flags for the last three,
 * payload, total, seconds for marker, result and group, whether it is a failure. Looks at every key before it writes
 * any: a script that fails halfway is not undone. A success after a failure was counted with the failure.
 */
const WRITE = `
local known = redis.call('HGET', KEYS[1], 'counter')
local kind_known = redis.call('HGET', KEYS[1], 'kind') or ''
local is_failure = ARGV[9] == '1'
local is_retried = known and kind_known == 'failure' and not is_failure
if known and not is_retried then return {'known', known, kind_known} end
local function asked(i) return ARGV[i] == '1' and not (i == 2 and is_retried) end
local kinds = {{2, 'list'}, {3, 'string'}, {4, 'string'}}
for i, want in ipairs(kinds) do
  local kind = redis.call('TYPE', KEYS[want[1]])['ok']
  if asked(i) and kind ~= 'none' and kind ~= want[2] then return {'unusable', KEYS[want[1]], 'it holds a ' .. kind} end
end
if asked(2) then
  local count = redis.call('GET', KEYS[3])
  if count and count ~= '0' and not string.match(count, '^[1-9]%d?%d?%d?%d?%d?%d?%d?%d?$') then
    return {'unusable', KEYS[3], 'it holds no count'}
  end
end
local counter = tonumber(known or '1')
if asked(1) then
  redis.call('LPUSH', KEYS[2], ARGV[4])
  redis.call('EXPIRE', KEYS[2], ARGV[7])
end
if asked(2) then
  counter = redis.call('INCR', KEYS[3])
  redis.call('EXPIRE', KEYS[3], ARGV[8])
end
if asked(3) and counter >= tonumber(ARGV[5]) then redis.call('SET', KEYS[4], 'complete', 'EX', ARGV[8]) end
local kind = is_retried and 'retried' or (is_failure and 'failure' or 'success')
redis.call('HSET', KEYS[1], 'counter', counter, 'kind', kind)
redis.call('EXPIRE', KEYS[1], ARGV[6])
return {'written', tostring(counter), kind}
`;

/**
 * KEYS: marker. ARGV: holder, milliseconds, the marker's seconds. The clock is that of Redis, which all processes
 * share.
 */
const TAKE = `
if redis.call('HGET', KEYS[1], 'webhook') then return {'sent', '0'} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local until_ms = tonumber(redis.call('HGET', KEYS[1], 'until') or '0')
if until_ms > now and redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then
  return {'held', tostring(until_ms - now)}
end
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'until', now + ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return {'ours', '0'}
`;

/** KEYS: marker. ARGV: holder, whether it was sent, the marker's seconds. */
const END = `
if ARGV[2] == '1' then
  redis.call('HSET', KEYS[1], 'webhook', 'sent')
  redis.call('EXPIRE', KEYS[1], ARGV[3])
end
if redis.call('HGET', KEYS[1], 'holder') == ARGV[1] then redis.call('HDEL', KEYS[1], 'holder', 'until') end
return 1
`;

const writeReply = z.union([
  z.tuple([z.enum(['written', 'known']), z.coerce.number(), z.string()]),
  z.tuple([z.literal('unusable'), z.string(), z.string()]),
]);
const takeReply = z.tuple([z.enum(['ours', 'sent', 'held']), z.coerce.number()]);

/** The answers of tasks in the Redis that producers read from. */
export function createRedisCallbacks(redis: RedisConnection): CallbackStore {
  const runWrite = redisScript(redis, WRITE);
  const runTake = redisScript(redis, TAKE);
  const runEnd = redisScript(redis, END);
  const keyOf = (marker: string): string => `${MARKER_PREFIX}${marker}`;
  return {
    write: async ({ marker, resultKey, counterKey, statusKey, payload, total, isFailure }) => {
      const asked = [resultKey, counterKey, statusKey];
      const keys = [keyOf(marker), ...asked.map((key) => key ?? keyOf(marker))];
      const flags = asked.map((key) => (key === undefined ? 0 : 1));
      const seconds = [MARKER_SECONDS, RESULT_SECONDS, GROUP_SECONDS];
      const values = [...flags, payload, total, ...seconds, isFailure ? 1 : 0];
      const reply = writeReply.parse(await runWrite(keys, values));
      if (reply[0] === 'unusable') throw new RuntimeError('CALLBACK_KEY_UNUSABLE', { key: reply[1], reason: reply[2] });
      return { isFirst: reply[0] === 'written', counter: reply[1], isRetried: reply[2] === 'retried' };
    },
    takeWebhook: async ({ marker, holder, leaseMs }): Promise<WebhookTurn> => {
      const [kind, waitMs] = takeReply.parse(await runTake([keyOf(marker)], [holder, leaseMs, MARKER_SECONDS]));
      return kind === 'held' ? { kind, waitMs } : { kind };
    },
    endWebhook: async ({ marker, holder, isSent }) => {
      await runEnd([keyOf(marker)], [holder, isSent ? 1 : 0, MARKER_SECONDS]);
    },
  };
}
