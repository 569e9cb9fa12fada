import type { Redis } from 'ioredis';

import type { KeyReader } from '../contracts/key-reader';
import { errorText } from '../errors/to-runtime-error';
import { decodeClipped } from '../util/clip-text';
import { createRedactor } from '../util/redact';

/** Longer values are cut: what a model is given is far shorter. */
const MAX_VALUE_BYTES = 1024 * 1024;
const CONNECT_TIMEOUT_MS = 5000;
const COMMAND_TIMEOUT_MS = 5000;
const MAX_RETRIES = 3;
const RETRY_DELAY_MS = 200;
const DEFAULT_PORT = 6379;

export interface RedisConfig {
  /** `redis://user:password@host:port/database`, or `rediss:` for TLS. */
  readonly url: string;
  readonly rejectUnauthorized: boolean;
}

export interface RedisReader extends KeyReader {
  readonly close: () => Promise<void>;
}

interface Connection {
  readonly client: Redis;
  /** Why there is no connection: ioredis itself only tells that it has given up. */
  readonly lastFailure: () => Error | undefined;
}

/** Reads keys of a Redis. Connects with the first key, and anew with the next one after it has given up. */
export function createRedisReader(config: RedisConfig): RedisReader {
  const redact = createRedactor(secretsOf(config.url));
  let open: Promise<Connection> | undefined;
  const connect = (): Promise<Connection> => {
    const connecting = openConnection(config, () => {
      if (open === connecting) open = undefined;
    });
    return connecting;
  };
  return {
    get: async (key) => {
      const { client, lastFailure } = await (open ??= connect());
      try {
        return await readText(client, key);
      } catch (error) {
        const isReply = error instanceof Error && error.name === 'ReplyError';
        throw new Error(redact(errorText(isReply ? error : (lastFailure() ?? error))));
      }
    },
    close: async () => {
      const connection = await open?.catch(() => undefined);
      connection?.client.disconnect();
    },
  };
}

async function openConnection({ url, rejectUnauthorized }: RedisConfig, onEnd: () => void): Promise<Connection> {
  // Loaded with the first key: most installations never read one.
  const { Redis: RedisClient } = await import('ioredis');
  const { hostname, port, username, password, pathname } = new URL(url);
  const client = new RedisClient({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || DEFAULT_PORT,
    username: decodeURIComponent(username) || undefined,
    password: decodeURIComponent(password) || undefined,
    db: Number(pathname.slice(1)) || 0,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 1,
    retryStrategy: (times) => (times > MAX_RETRIES ? null : times * RETRY_DELAY_MS),
    ...(url.startsWith('rediss:') ? { tls: { rejectUnauthorized } } : {}),
  });
  let failure: Error | undefined;
  client.on('error', (error: Error) => (failure = error));
  client.on('ready', () => (failure = undefined));
  client.on('end', onEnd);
  return { client, lastFailure: () => failure };
}

/** GETRANGE cannot tell a missing key from an empty text, hence the second question. */
async function readText(client: Redis, key: string): Promise<string | null> {
  const [bytes, exists] = await Promise.all([client.getrangeBuffer(key, 0, MAX_VALUE_BYTES - 1), client.exists(key)]);
  return exists === 0 ? null : decodeClipped(bytes);
}

function secretsOf(url: string): readonly string[] {
  const { password } = new URL(url);
  return [url, password, decodeURIComponent(password)].filter((text) => text !== '');
}
