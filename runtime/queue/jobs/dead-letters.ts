import type { QueueKeys } from '../keys';
import { type RedisClient, redisScript } from '../redis-script';

/** Which push of which job; a later push of the same request is the same job again. */
export interface JobRef {
  readonly entryId: string;
  readonly jobId: string;
}

/**
 * The way of a job to the dead-letter list. A crash in between neither loses the entry nor writes it twice; and the entry appears
 * when the job is gone, so that a task moved back from the dead-letter list is never mistaken for the job that is still there.
 */
export interface DeadLetters {
  /** Keeps the entry until the job has ended. The task counts as taken off the list. */
  readonly deadLetter: (job: JobRef, entry: string) => Promise<void>;
  /** The entry, when an earlier run of the job got as far as this. */
  readonly buried: (job: JobRef) => Promise<string | undefined>;
  /** The job has ended: the entry goes to the dead-letter list. */
  readonly publish: (job: JobRef) => Promise<void>;
  /** The same for jobs whose consumer ended in between. */
  readonly publishLeft: () => Promise<void>;
}

const deadLetter = redisScript(`
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HSETNX', KEYS[3], ARGV[2], ARGV[3])
return 1`);

const publish = redisScript(`
local entry = redis.call('HGET', KEYS[1], ARGV[1])
if not entry then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('LPUSH', KEYS[2], entry)
return 1`);

/**
 * A job that counted as lost and done by another consumer meanwhile is not dead. One of a later push says nothing of the
 * one that was buried.
 */
const publishLeft = redisScript(`
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  local id, job_id = field:match('^(.*):(.*)$')
  local job = ARGV[1] .. job_id
  local data = redis.call('HGET', job, 'data')
  if not data or cjson.decode(data).id ~= id then
    redis.call('LPUSH', KEYS[2], redis.call('HGET', KEYS[1], field))
    redis.call('HDEL', KEYS[1], field)
  elseif redis.call('HEXISTS', job, 'finishedOn') == 1 then
    redis.call('HDEL', KEYS[1], field)
  end
end
return 1`);

export function createDeadLetters(client: RedisClient, keys: QueueKeys): DeadLetters {
  const field = ({ entryId, jobId }: JobRef): string => `${entryId}:${jobId}`;
  return {
    deadLetter: async (job, entry) => {
      await deadLetter(client, [keys.taken, keys.takenUntil, keys.dying], [job.entryId, field(job), entry]);
    },
    buried: async (job) => {
      const entry = (await client.callBuffer('HGET', [keys.dying, field(job)])) as Buffer | null;
      return entry?.toString();
    },
    publish: async (job) => {
      await publish(client, [keys.dying, keys.failedList], [field(job)]);
    },
    publishLeft: async () => {
      await publishLeft(client, [keys.dying, keys.failedList], [keys.job('')]);
    },
  };
}
