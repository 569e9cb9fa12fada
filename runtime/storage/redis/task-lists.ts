import type { TaskLists } from '../../contracts/callback';
import { RuntimeError } from '../../errors/runtime-error';
import type { RedisConnection } from './connection';
import { available } from './script';

/** The lists of tasks and of their answers, in Redis. */
export function createRedisLists(redis: RedisConnection): TaskLists {
  return {
    push: async (list, entry) => {
      await onList(list, () => redis.use((client) => client.lpush(list, entry)));
    },
    read: (list, { from, count }) =>
      onList(list, () => redis.use((client) => client.lrange(list, from, from + count - 1))),
  };
}

function onList<T>(key: string, commands: () => Promise<T>): Promise<T> {
  return available(async () => {
    try {
      return await commands();
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('WRONGTYPE')) throw error;
      throw new RuntimeError('CALLBACK_KEY_UNUSABLE', { key, reason: 'it holds no list' }, { cause: error });
    }
  });
}
