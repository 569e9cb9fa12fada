import * as z from 'zod/v4';

import type { RequestStore, RequestTurn } from '../../contracts/callback';
import type { RedisConnection } from './connection';
import { redisScript } from './script';

const PREFIX = 'elo:agent:request:';
const KEPT_SECONDS = 7 * 86_400;

/** KEYS: the request. ARGV: digest, holder, milliseconds, fresh, seconds. The clock is that of Redis. */
const BEGIN = `
local key = KEYS[1]
if ARGV[4] == '1' then redis.call('DEL', key) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local digest = redis.call('HGET', key, 'digest')
if digest then
  if digest ~= ARGV[1] then return {'conflict', ''} end
  local outcome = redis.call('HGET', key, 'outcome')
  if outcome then return {'ended', outcome} end
  -- Sent again by the client, which lost the connection before it had the answer.
  if redis.call('HGET', key, 'holder') == ARGV[2] then return {'ours', ''} end
  local until_ms = tonumber(redis.call('HGET', key, 'until') or '0')
  if until_ms > now then return {'held', tostring(until_ms - now)} end
  return {'lost', ''}
end
redis.call('HSET', key, 'digest', ARGV[1], 'holder', ARGV[2], 'until', now + ARGV[3])
redis.call('EXPIRE', key, ARGV[5])
return {'ours', ''}
`;

/** KEYS: the request. ARGV: holder, whether there is an outcome, the outcome. */
const END = `
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
if ARGV[2] == '1' then redis.call('HSET', KEYS[1], 'outcome', ARGV[3]) else redis.call('DEL', KEYS[1]) end
return 1
`;

const beginReply = z.tuple([z.enum(['ours', 'held', 'lost', 'ended', 'conflict']), z.string()]);

/** The intents of requests, in Redis. */
export function createRedisRequests(redis: RedisConnection): RequestStore {
  const runBegin = redisScript(redis, BEGIN);
  const runEnd = redisScript(redis, END);
  return {
    begin: async ({ marker, digest, holder, leaseMs, fresh }): Promise<RequestTurn> => {
      const values = [digest, holder, leaseMs, fresh ? 1 : 0, KEPT_SECONDS];
      const [kind, text] = beginReply.parse(await runBegin([`${PREFIX}${marker}`], values));
      if (kind === 'held') return { kind, waitMs: Number(text) };
      return kind === 'ended' ? { kind, outcome: text } : { kind };
    },
    end: async ({ marker, holder, outcome }) => {
      await runEnd([`${PREFIX}${marker}`], [holder, outcome === undefined ? 0 : 1, outcome ?? '']);
    },
  };
}
