import type { QueueKeys } from '../keys';
import { type RedisClient, redisScript } from '../redis-script';

/** A task off the list. Until it is settled, it goes to the next consumer when its time is over. */
export interface TakenEntry {
  /** Unique also after Redis has lost its data. */
  readonly id: string;
  /** All of it, or the first KEPT_BYTES when it is too large. */
  readonly raw: Buffer;
  /** Bytes of all of it. */
  readonly size: number;
}

export type Take = { readonly state: 'open' | 'paused' | 'full'; readonly entries: readonly TakenEntry[] };

interface TakeOptions {
  /** Ids that are dealt with: the same round trip settles them. */
  readonly settled: readonly string[];
  readonly count: number;
  /** How long no other consumer takes them. */
  readonly holdMs: number;
  readonly maxTaskBytes: number;
}

/** How much of a task that is too large is kept. */
const KEPT_BYTES = 1024;
/** Tasks beyond stay on the list, where they are seen: this many in the queue are enough for priorities to hold. */
const MAX_WAITING = 5000;
/** A take ends with the entry that goes beyond. */
const MAX_TAKE_BYTES = 8 * 1024 * 1024;

const take = redisScript(`
local list, ingress, taken, untils, counter = unpack(KEYS, 1, 5)
local count, hold, max_bytes, kept, max_waiting, max_take = unpack(ARGV, 1, 6)
for i = 7, #ARGV do
  redis.call('HDEL', taken, ARGV[i])
  redis.call('ZREM', untils, ARGV[i])
end
if redis.call('HEXISTS', KEYS[6], 'paused') == 1 then return {'paused'} end
local room = max_waiting - redis.call('LLEN', KEYS[7]) - redis.call('ZCARD', KEYS[8])
if room <= 0 then return {'full'} end
count = math.min(count, room)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply, bytes = {'open'}, 0
local function add(id, raw)
  redis.call('ZADD', untils, now + hold, id)
  local shown = raw
  if #raw > tonumber(max_bytes) then shown = raw:sub(1, kept) end
  bytes = bytes + #shown
  reply[#reply + 1] = {id, #raw, shown}
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', untils, '-inf', now, 'LIMIT', 0, count)) do
  local raw = redis.call('HGET', taken, id)
  if raw then add(id, raw) else redis.call('ZREM', untils, id) end
end
while #reply <= count and bytes < tonumber(max_take) do
  local raw = redis.call('RPOP', ingress) or redis.call('RPOP', list)
  if not raw then break end
  local id = string.format('%.0f-%.0f', now, redis.call('INCR', counter))
  redis.call('HSET', taken, id, raw)
  add(id, raw)
end
return reply`);

/** Moves a taken task, or words about it, to a list; once, whoever else tries. */
const settleTo = (source: string, push: string): ReturnType<typeof redisScript> =>
  redisScript(`
local raw = redis.call('HGET', KEYS[1], ARGV[1])
if not raw then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('${push}', KEYS[3], ${source})
return 1`);
const dropTaken = redisScript(`
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])`);
const rejectTaken = settleTo('ARGV[2]', 'LPUSH');
const forwardTaken = settleTo('raw', 'LPUSH');
const putBackTaken = settleTo('raw', 'RPUSH');

const holdTaken = redisScript(`
local time = redis.call('TIME')
return redis.call('ZADD', KEYS[1], 'XX', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[1])`);

/** What happens to tasks between the list and the queue. Every step is atomic, so none is ever in a process only. */
export interface TaskStore {
  /** Settles, then takes what others have let lie too long, then the oldest of the list. */
  readonly take: (options: TakeOptions) => Promise<Take>;
  /** Keeps a taken task from other consumers for so much longer. */
  readonly hold: (id: string, holdMs: number) => Promise<void>;
  /** All the bytes of a taken task; undefined when it was settled. */
  readonly read: (id: string) => Promise<Buffer | undefined>;
  /** Moves a task to the dead-letter list, as the given entry. */
  readonly reject: (id: string, entry: string) => Promise<void>;
  /** Moves a task to the forward list, byte for byte. */
  readonly forward: (id: string) => Promise<void>;
  /** Nowhere: it is dealt with. */
  readonly drop: (id: string) => Promise<void>;
  /** Back to the end of the list that is taken from next. */
  readonly putBack: (id: string) => Promise<void>;
}

export function createTaskStore(client: RedisClient, keys: QueueKeys): TaskStore {
  const settle = async (script: typeof rejectTaken, target: string, args: readonly string[]): Promise<void> => {
    await script(client, [keys.taken, keys.takenUntil, target], args);
  };
  return {
    take: async ({ settled, count, holdMs, maxTaskBytes }) => {
      const reply = await take(
        client,
        [
          ...[keys.list, keys.ingress, keys.taken, keys.takenUntil, keys.counter],
          ...[keys.job('meta'), keys.job('wait'), keys.job('prioritized')],
        ],
        [count, holdMs, maxTaskBytes, KEPT_BYTES, MAX_WAITING, MAX_TAKE_BYTES, ...settled],
      );
      const [state, ...entries] = reply as [Buffer, ...[Buffer, number, Buffer][]];
      return {
        state: state.toString() as Take['state'],
        entries: entries.map(([id, size, raw]) => ({ id: id.toString(), size, raw })),
      };
    },
    hold: async (id, holdMs) => {
      await holdTaken(client, [keys.takenUntil], [id, holdMs]);
    },
    read: async (id) => ((await client.callBuffer('HGET', [keys.taken, id])) as Buffer | null) ?? undefined,
    reject: (id, entry) => settle(rejectTaken, keys.failedList, [id, entry]),
    forward: (id) => settle(forwardTaken, keys.forwardList, [id]),
    drop: async (id) => {
      await dropTaken(client, [keys.taken, keys.takenUntil], [id]);
    },
    putBack: (id) => settle(putBackTaken, keys.list, [id]),
  };
}
