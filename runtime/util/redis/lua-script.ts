import { createHash } from 'node:crypto';

export type CommandArgument = string | Buffer | number;
/** Sends one command and resolves with its reply. */
export type SendCommand = (command: string, args: CommandArgument[]) => Promise<unknown>;

type LuaScript = (send: SendCommand, keys: readonly string[], args?: readonly CommandArgument[]) => Promise<unknown>;

/** A script that a server runs as one step. It is sent once to each server, and again when the server has forgotten it. */
export function luaScript(lua: string): LuaScript {
  const hash = createHash('sha1').update(lua).digest('hex');
  return async (send, keys, args = []) => {
    const rest = [keys.length, ...keys, ...args];
    try {
      return await send('EVALSHA', [hash, ...rest]);
    } catch (error) {
      // By its text: the name of a class does not survive the bundle.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return send('EVAL', [lua, ...rest]);
    }
  };
}
