import { createHash } from 'node:crypto';

/** The little of a Redis client that is needed here. Replies that are text come as bytes. */
export interface RedisClient {
  readonly status: string;
  readonly callBuffer: (command: string, args: (string | Buffer | number)[]) => Promise<unknown>;
}

export type RedisScript = (
  client: RedisClient,
  keys: readonly string[],
  args?: readonly (string | Buffer | number)[],
) => Promise<unknown>;

/** A Lua script that runs as one step. It is sent once to each server, and again when the server has forgotten it. */
export function redisScript(lua: string): RedisScript {
  const hash = createHash('sha1').update(lua).digest('hex');
  return async (client, keys, args = []) => {
    const rest = [keys.length, ...keys, ...args];
    try {
      return await client.callBuffer('EVALSHA', [hash, ...rest]);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return client.callBuffer('EVAL', [lua, ...rest]);
    }
  };
}
