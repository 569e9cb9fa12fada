import { createHash } from 'node:crypto';

import { isRuntimeError, RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { isRedisReply, type RedisConnection } from './redis-connection';

/** Runs a Lua script, which Redis does as one step. Rejects with REDIS_UNAVAILABLE. */
export type RunScript = (keys: readonly string[], values: readonly (string | number)[]) => Promise<unknown>;

/** The script is sent once to each server, and named by its digest from then on. */
export function redisScript(redis: RedisConnection, script: string): RunScript {
  const digest = createHash('sha1').update(script).digest('hex');
  return (keys, values) =>
    available(() =>
      redis.use(async (client) => {
        try {
          return await client.evalsha(digest, keys.length, ...keys, ...values);
        } catch (error) {
          if (!isRedisReply(error) || !error.message.startsWith('NOSCRIPT')) throw error;
          return await client.eval(script, keys.length, ...keys, ...values);
        }
      }),
    );
}

/** Whatever Redis fails for is REDIS_UNAVAILABLE, unless it is a RuntimeError already. */
export async function available<T>(commands: () => Promise<T>): Promise<T> {
  try {
    return await commands();
  } catch (error) {
    if (isRuntimeError(error)) throw error;
    throw new RuntimeError('REDIS_UNAVAILABLE', { reason: errorText(error) }, { cause: error });
  }
}
