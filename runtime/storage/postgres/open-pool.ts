import type { Socket } from 'node:net';

import { Client, type ClientBase, type ClientConfig, Pool, type PoolConfig, types } from 'pg';

import { type PostgresAddress, type PostgresLogin, readPostgresAddress } from '../../util/addresses/postgres-address';
import { parseExactly } from '../../util/exact-integer';
import { sqlStateOf } from './database-errors';

/** Where the database is. `url`, or the parts of it. */
export interface PostgresConfig extends PostgresLogin {
  readonly url?: string;
  readonly ssl?: boolean | { readonly rejectUnauthorized: boolean };
  readonly maxConnections: number;
  /** Longest time for one statement; 0 is no limit. */
  readonly queryTimeoutMs?: number;
}

/** Longest time to get a connection. */
export const CONNECT_TIMEOUT_MS = 10_000;
export const QUERY_TIMEOUT_MS = 30_000;
const IDLE_MS = 30_000;
const CLIENT_GRACE_MS = 3000;
/** The part of a statement's time that it may spend waiting for a lock. */
const LOCK_SHARE = 1 / 3;

/**
 * The driver's pool, in which no server ends the process. Losing a connection is an error of the statement that is under way,
 * or of the next one.
 */
export function openPool(config: PostgresConfig): Pool {
  return new Pool({ ...poolConfig(config), Client: SafeClient }).on('error', () => undefined);
}

/** Words of servers that ended a connection without a statement under way. */
const lastWords = new WeakMap<ClientBase, Error>();

/** Throws what the server said, where the driver knows only that the connection is gone. */
export function withLastWords(client: ClientBase): (error: unknown) => never {
  return (error) => {
    throw sqlStateOf(error) === undefined ? (lastWords.get(client) ?? error) : error;
  };
}

/** Leaves out what the driver's types do. */
interface Connection {
  attachListeners: (stream: Socket) => void;
}

const JSON_TYPES: readonly number[] = [types.builtins.JSON, types.builtins.JSONB];

/** Reads columns as the driver does, but for long integers in JSON. */
const EXACT_TYPES: NonNullable<PoolConfig['types']> = {
  getTypeParser: ((...asked: Parameters<typeof types.getTypeParser>) =>
    JSON_TYPES.includes(asked[0])
      ? parseExactly
      : (types.getTypeParser(...asked) as unknown)) as typeof types.getTypeParser,
};

class SafeClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    // From the first moment: a server may end a connection in the very bytes that say that it is ready.
    this.on('error', (error) => {
      if (!lastWords.has(this)) lastWords.set(this, error);
    });
    const { connection } = this as unknown as { readonly connection: Connection };
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => {
      breakOnThrow(stream);
      attach(stream);
    };
  }
}

/** The driver's parser throws at what it does not know, such as a way to log in, where nobody could catch it. */
function breakOnThrow(stream: Socket): void {
  const emit = stream.emit.bind(stream) as (event: string | symbol, ...given: unknown[]) => boolean;
  stream.emit = (event: string | symbol, ...given: unknown[]): boolean => {
    try {
      return emit(event, ...given);
    } catch (error) {
      if (event !== 'data') throw error;
      stream.destroy(error as Error);
      return true;
    }
  };
}

/** The driver's own settings. */
function poolConfig(config: PostgresConfig): PoolConfig {
  const { url, maxConnections, queryTimeoutMs = QUERY_TIMEOUT_MS, ...parts } = config;
  const read: Partial<PostgresAddress> = url === undefined ? parts : readPostgresAddress(url);
  const { maxConnections: most = maxConnections, ...address } = read;
  return {
    idleTimeoutMillis: IDLE_MS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...limitsOf(queryTimeoutMs),
    allowExitOnIdle: true,
    application_name: 'universal-ai-agent',
    types: EXACT_TYPES,
    ...address,
    max: Math.min(maxConnections, most),
  };
}

/** The server ends what is over its time; the client gives up only where it does not, and has not when it was asked to. */
function limitsOf(queryTimeoutMs: number): PoolConfig {
  if (queryTimeoutMs === 0) return {};
  return {
    statement_timeout: queryTimeoutMs,
    lock_timeout: Math.ceil(queryTimeoutMs * LOCK_SHARE),
    query_timeout: queryTimeoutMs + CLIENT_GRACE_MS,
  };
}
