import { type CommandArgument, luaScript, type SendCommand } from '../util/redis/lua-script';

/** The little of a Redis client that is needed here. Replies that are text come as bytes. */
export interface RedisClient {
  readonly status: string;
  readonly callBuffer: SendCommand;
}

type RedisScript = (
  client: RedisClient,
  keys: readonly string[],
  args?: readonly CommandArgument[],
) => Promise<unknown>;

export function redisScript(lua: string): RedisScript {
  const run = luaScript(lua);
  return (client, keys, args) => run((command, values) => client.callBuffer(command, values), keys, args);
}
