import type { Redis, RedisOptions } from 'ioredis';

import type { ConsumerConfig } from '../../contracts/consumer';
import { errorText } from '../../errors/to-runtime-error';
import { readRedisAddress } from '../../util/addresses/redis-address';
import { createRedactor, type Redact } from '../../util/redaction/redact';

const CONNECT_TIMEOUT_MS = 5000;
const COMMAND_TIMEOUT_MS = 5000;
const SOCKET_TIMEOUT_MS = 15_000;
const MAX_RETRIES = 3;
const RETRY_DELAY_MS = 200;
const MAX_RETRY_DELAY_MS = 5000;

export type RedisConfig = Required<ConsumerConfig['redis']>;

export interface RedisConnection {
  /**
   * Runs commands. Connects with the first ones, and anew with the next ones after it has given up. Rejects with what the
   * commands rejected with when that is Redis' own answer, else with an Error that tells why there is no connection;
   * no message holds the password.
   */
  readonly use: <T>(commands: (client: Redis) => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

/** ioredis' class of what Redis answers, once it is loaded. Its name is gone in the minified bundle. */
let ReplyError: typeof Error | undefined;

/** ioredis' client, loaded when it is needed: most installations never open one. */
export async function loadRedisClient(): Promise<typeof Redis> {
  // By its default export, which has the others as properties: the bundler gives a package in CommonJS no other name.
  const { default: client } = await import('ioredis');
  ({ ReplyError } = client as unknown as { readonly ReplyError: typeof Error });
  return client;
}

/** Whether Redis itself answered so, rather than the way to it failing. */
export function isRedisReply(error: unknown): error is Error {
  return error instanceof RedisReplyError || (ReplyError !== undefined && error instanceof ReplyError);
}

/** The same without what must not be shown. */
class RedisReplyError extends Error {}

/** A connection for short commands, shared by all who use the same object. */
export function createRedisConnection(config: RedisConfig): RedisConnection {
  const redact = redactorOf(config);
  let open: Promise<Opened> | undefined;
  let isClosed = false;
  const connect = (): Promise<Opened> => {
    const connecting = openConnection(config, () => {
      if (open === connecting) open = undefined;
    });
    return connecting;
  };
  return {
    use: async (commands) => {
      // What was left behind when its owner closed must not open another one: it would keep the process from ending.
      if (isClosed) throw new Error('the connection is closed');
      const { client, lastFailure } = await (open ??= connect());
      try {
        return await commands(client);
      } catch (error) {
        if (isRedisReply(error)) throw new RedisReplyError(redact(error.message));
        throw new Error(redact(errorText(lastFailure() ?? error)));
      }
    },
    close: async () => {
      isClosed = true;
      const connection = await open?.catch(() => undefined);
      connection?.client.disconnect();
    },
  };
}

/** What every client of ours is made with; the password is in it. */
function clientOptions({ url, rejectUnauthorized }: RedisConfig): RedisOptions {
  const { tls, ...address } = readRedisAddress(url);
  return {
    ...address,
    // Nothing of the newer one is used, and proxies know this one.
    protocol: 2,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(tls === undefined ? {} : { tls: { rejectUnauthorized, ...tls } }),
  };
}

/**
 * Tells `onFailure` why a client, or a copy of it, has no connection. Where the database that was asked for is refused, ioredis
 * would go on in database 0, which may be somebody else's, so that such a connection is given up before it takes a command.
 */
export function watchFailures(client: Redis, onFailure: (error: Error) => void): void {
  client.on('error', (error: Error & { readonly command?: { readonly name?: string; readonly args?: unknown } }) => {
    const { name, args } = error.command ?? {};
    if (name !== 'select') {
      onFailure(error);
      return;
    }
    const isDatabase = error.message.startsWith('ERR ');
    onFailure(
      isDatabase ? new Error(`it gives no database ${String(args)} (${error.message})`, { cause: error }) : error,
    );
    client.disconnect(true);
  });
  // BullMQ makes the connection that waits for its jobs in this way.
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => {
    const copy = duplicate(override);
    watchFailures(copy, () => undefined);
    return copy;
  };
}

/** After a failover the old address may lead to a replica; of a script's error the word stands further on. */
export function isOfReplica({ message }: Error): boolean {
  return /\bREADONLY\b/.test(message);
}

/** The options of a client that waits for work: commands may block, and wait as long as Redis is away. */
export function blockingOptions(config: RedisConfig): RedisOptions {
  return {
    ...clientOptions(config),
    // A server may vanish without a word. Longer than any command blocks.
    socketTimeout: SOCKET_TIMEOUT_MS,
    maxRetriesPerRequest: null,
    retryStrategy: (times) => Math.min(times * RETRY_DELAY_MS, MAX_RETRY_DELAY_MS),
  };
}

interface Opened {
  readonly client: Redis;
  /** Why there is no connection: ioredis itself only tells that it has given up. */
  readonly lastFailure: () => Error | undefined;
}

async function openConnection(config: RedisConfig, onEnd: () => void): Promise<Opened> {
  const RedisClient = await loadRedisClient();
  const client = new RedisClient({
    ...clientOptions(config),
    lazyConnect: true,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 1,
    // The next commands find the server that takes them; this one's caller decides for itself.
    reconnectOnError: isOfReplica,
    retryStrategy: (times) => (times > MAX_RETRIES ? null : times * RETRY_DELAY_MS),
  });
  let failure: Error | undefined;
  watchFailures(client, (error) => (failure = error));
  client.on('ready', () => (failure = undefined));
  client.on('end', onEnd);
  return { client, lastFailure: () => failure };
}

/** Blanks the password, and the address with it. */
export function redactorOf({ url }: RedisConfig): Redact {
  return createRedactor(secretsOf(url));
}

function secretsOf(url: string): readonly string[] {
  const { password = '' } = readRedisAddress(url);
  return [url, password, encodeURIComponent(password)].filter((text) => text !== '');
}
