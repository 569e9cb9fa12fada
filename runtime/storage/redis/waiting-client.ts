import type { Redis } from 'ioredis';

import { isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import {
  blockingOptions,
  isOfReplica,
  isRedisReply,
  loadRedisClient,
  redactorOf,
  type RedisConfig,
  watchFailures,
} from './connection';

/** What Redis says to a user that it does not know, or that may not do this. */
const REFUSALS = /^(?:WRONGPASS|NOAUTH|NOPERM|ERR (?:AUTH|invalid password|Client sent AUTH))/;

interface Watch {
  /** Asked once there is a connection. */
  readonly check?: (client: Redis) => Promise<void>;
  readonly onLost?: () => void;
  readonly onBack?: () => void;
}

/**
 * A client whose commands wait for as long as Redis is away. Rejects with REDIS_UNAVAILABLE or REDIS_AUTH_FAILED when there
 * is no connection to begin with, and with what `check` throws; after that `onLost` and `onBack` tell of it. The caller
 * disconnects it.
 */
export async function openWaitingClient(config: RedisConfig, { check, onLost, onBack }: Watch): Promise<Redis> {
  const RedisClient = await loadRedisClient();
  const options = blockingOptions(config);
  let isOpen = false;
  const client = new RedisClient({
    ...options,
    // The first connection is there or not; the ones after it are waited for.
    retryStrategy: (times) => (isOpen ? (options.retryStrategy?.(times) ?? null) : null),
    // And sends the command again.
    reconnectOnError: (error) => (isOfReplica(error) ? 2 : false),
  });
  let failure: unknown;
  watchFailures(client, (error) => (failure = error));
  try {
    // Waits for the connection. Not opened by `lazyConnect`: BullMQ copies the options for the connection that its worker waits
    // on, connects a lazy one itself, and keeps the rejection for ever when Redis goes away meanwhile (6.7.0; see watch-consumer.ts).
    await client.ping();
    await check?.(client);
  } catch (error) {
    client.disconnect();
    throw toRedisError(isRedisReply(error) || isRuntimeError(error) ? error : (failure ?? error), config);
  }
  isOpen = true;
  let isLost = false;
  client.on('close', () => {
    if (!isLost) onLost?.();
    isLost = true;
  });
  client.on('ready', () => {
    if (isLost) onBack?.();
    isLost = false;
  });
  return client;
}

function toRedisError(error: unknown, config: RedisConfig): RuntimeError {
  if (isRuntimeError(error)) return error;
  const reason = redactorOf(config)(errorText(error));
  const isRefusal = isRedisReply(error) && REFUSALS.test(reason);
  return new RuntimeError(isRefusal ? 'REDIS_AUTH_FAILED' : 'REDIS_UNAVAILABLE', { reason }, { cause: error });
}
