import { isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { luaScript } from '../../util/redis/lua-script';
import type { RedisConnection } from './connection';

/** Runs a Lua script, which Redis does as one step. Rejects with REDIS_UNAVAILABLE. */
type RunScript = (keys: readonly string[], values: readonly (string | number)[]) => Promise<unknown>;

export function redisScript(redis: RedisConnection, lua: string): RunScript {
  const run = luaScript(lua);
  return (keys, values) =>
    available(() => redis.use((client) => run((command, args) => client.call(command, args), keys, values)));
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
