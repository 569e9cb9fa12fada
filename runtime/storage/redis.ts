import type { Redis } from 'ioredis';

import type { KeyReader } from '../contracts/key-reader';
import { errorText } from '../errors/to-runtime-error';
import { decodeClipped } from '../util/clip-text';
import { createRedactor } from '../util/redact';

/** Longer values are cut: what a model is given is far shorter. */
const MAX_VALUE_BYTES = 1024 * 1024;
const CONNECT_TIMEOUT_MS = 5000;
const COMMAND_TIMEOUT_MS = 5000;

export interface RedisConfig {
  /** `redis://user:password@host:port/database`, or `rediss:` for TLS. */
  readonly url: string;
  readonly rejectUnauthorized: boolean;
}

export interface RedisReader extends KeyReader {
  readonly close: () => Promise<void>;
}

/** Reads keys of a Redis. Connects with the first key; a Redis that is down is asked anew with each one. */
export function createRedisReader(config: RedisConfig): RedisReader {
  const redact = createRedactor(secretsOf(config.url));
  let client: Promise<Redis> | undefined;
  return {
    get: async (key) => {
      try {
        client ??= openClient(config);
        return await readText(await client, key);
      } catch (error) {
        throw new Error(redact(errorText(error)));
      }
    },
    close: async () => {
      const open = await client?.catch(() => undefined);
      open?.disconnect();
    },
  };
}

async function openClient({ url, rejectUnauthorized }: RedisConfig): Promise<Redis> {
  // Loaded with the first key: most installations never read one.
  const { Redis: RedisClient } = await import('ioredis');
  const client = new RedisClient(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 1,
    retryStrategy: (times) => Math.min(times * 200, 2000),
    enableReadyCheck: false,
    ...(url.startsWith('rediss:') ? { tls: { rejectUnauthorized } } : {}),
  });
  // Each command reports its own failure; without a listener the process would be told too.
  client.on('error', () => undefined);
  return client;
}

/** GETRANGE cannot tell a missing key from an empty text, hence the second question. */
async function readText(client: Redis, key: string): Promise<string | null> {
  const [bytes, exists] = await Promise.all([client.getrangeBuffer(key, 0, MAX_VALUE_BYTES - 1), client.exists(key)]);
  return exists === 0 ? null : decodeClipped(bytes);
}

function secretsOf(url: string): readonly string[] {
  const { password, username } = new URL(url);
  return [url, password, decodeURIComponent(password), username].filter((text) => text !== '');
}
