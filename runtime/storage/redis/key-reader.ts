import type { Redis } from 'ioredis';

import type { KeyReader } from '../../contracts/tools/key-reader';
import { decodeClipped } from '../../util/text/clip-text';
import type { RedisConnection } from './connection';

/** Longer values are cut: what a model is given is far shorter. */
const MAX_VALUE_BYTES = 1024 * 1024;

/** Reads keys of a Redis. */
export function createRedisReader(redis: RedisConnection): KeyReader {
  return { get: (key) => redis.use((client) => readText(client, key)) };
}

/** GETRANGE cannot tell a missing key from an empty text, hence the second question. */
async function readText(client: Redis, key: string): Promise<string | null> {
  const [bytes, exists] = await Promise.all([client.getrangeBuffer(key, 0, MAX_VALUE_BYTES - 1), client.exists(key)]);
  return exists === 0 ? null : decodeClipped(bytes);
}
