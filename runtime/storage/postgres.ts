import { createHash } from 'node:crypto';

import { Pool, type PoolClient, type PoolConfig } from 'pg';

import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { createRedactor, type Redact } from '../util/redact';

/** Where the database is. `url`, or the parts of it. */
export interface PostgresConfig {
  readonly url?: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
  readonly user?: string;
  readonly password?: string;
  readonly ssl?: boolean | { readonly rejectUnauthorized: boolean };
  readonly maxConnections: number;
  /** Longest time for one statement; 0 is no limit. */
  readonly queryTimeoutMs?: number;
}

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Runs one statement. Rejects with a DB_ code. NUMERIC and BIGINT come as text. */
export type Query = <Row>(statement: Statement) => Promise<readonly Row[]>;

export interface Postgres {
  readonly query: Query;
  /** One connection, one transaction: commits when `work` resolves, rolls back when it rejects. */
  readonly transaction: <T>(work: (query: Query) => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 30_000;
const IDLE_MS = 30_000;

/** A bounded pool. Connections open with the first statement, and close when idle. */
export function createPostgres(config: PostgresConfig): Postgres {
  const context = describeTarget(config);
  const pool = new Pool(poolConfig(config));
  // Without a listener the loss of an idle connection would end the process. The next query reports it.
  pool.on('error', ignore);

  const runPrepared = preparedRunner(pool);
  const guard = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw toDatabaseError(error, context);
    }
  };
  return {
    query: (statement) => guard(runPrepared(statement)),
    transaction: async (work) => {
      const client = await guard(pool.connect());
      // As for the pool: the statement under way reports the loss of the connection.
      client.on('error', ignore);
      let isSound = false;
      try {
        const result = await inTransaction((statement) => guard(run(client, statement)), work);
        isSound = true;
        return result;
      } finally {
        client.off('error', ignore);
        // What became of a connection that failed is unknown, so nobody else gets it.
        client.release(!isSound);
      }
    },
    close: () => pool.end(),
  };
}

async function run<Row>(
  target: Pool | PoolClient,
  { text, values }: Statement,
  name?: string,
): Promise<readonly Row[]> {
  const { rows } = await target.query({ text, values: [...values], name });
  return rows as Row[];
}

/** A prepared statement that is not there, or there already: a pooler gave us another server connection. */
const POOLER_CODES: readonly unknown[] = ['26000', '42P05'];

/**
 * Runs statements prepared, since planning ours costs more than running them. Behind a pooler that changes the
 * connection with every transaction that cannot work: refused before it ran, the statement runs unprepared, and so do all later ones.
 */
function preparedRunner(pool: Pool): Query {
  let isPrepared = true;
  return async (statement) => {
    if (!isPrepared || statement.values.length === 0) return run(pool, statement);
    try {
      return await run(pool, statement, statementName(statement.text));
    } catch (error) {
      if (!POOLER_CODES.includes((error as { code?: unknown }).code)) throw error;
      isPrepared = false;
      return run(pool, statement);
    }
  };
}

const names = new Map<string, string>();

/** The same text has the same name in every process. */
function statementName(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `universal_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
  names.set(text, name);
  return name;
}

function ignore(): void {
  // Reported elsewhere.
}

async function inTransaction<T>(query: Query, work: (query: Query) => Promise<T>): Promise<T> {
  await query({ text: 'BEGIN', values: [] });
  try {
    const result = await work(query);
    await query({ text: 'COMMIT', values: [] });
    return result;
  } catch (error) {
    await query({ text: 'ROLLBACK', values: [] }).catch(ignore);
    throw error;
  }
}

/** The driver's own settings. */
export function poolConfig(config: PostgresConfig): PoolConfig {
  const { url, maxConnections, queryTimeoutMs = QUERY_TIMEOUT_MS, ...parts } = config;
  return {
    ...(url === undefined ? parts : { connectionString: url }),
    max: maxConnections,
    idleTimeoutMillis: IDLE_MS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: queryTimeoutMs,
    allowExitOnIdle: true,
    application_name: 'universal-ai-agent',
  };
}

interface Target {
  readonly user: string;
  readonly redact: Redact;
}

/** What errors of this database may say. */
export function describeTarget(config: PostgresConfig): Target {
  const url = config.url === undefined ? null : URL.parse(config.url);
  const password = url === null ? config.password : decodeURIComponent(url.password);
  return { user: url?.username ?? config.user ?? '', redact: createRedactor([password]) };
}

type DatabaseCode = 'DB_UNREACHABLE' | 'DB_AUTH_FAILED' | 'DB_SCHEMA_MISSING' | 'DB_PERMISSION_DENIED';

/** SQLSTATE codes, https://www.postgresql.org/docs/current/errcodes-appendix.html */
const CODES: Readonly<Record<string, DatabaseCode>> = {
  '28P01': 'DB_AUTH_FAILED',
  '28000': 'DB_AUTH_FAILED',
  '3D000': 'DB_AUTH_FAILED',
  '42P01': 'DB_SCHEMA_MISSING',
  '42703': 'DB_SCHEMA_MISSING',
  '3F000': 'DB_SCHEMA_MISSING',
  '42501': 'DB_PERMISSION_DENIED',
  '53300': 'DB_UNREACHABLE',
  '57P01': 'DB_UNREACHABLE',
  '57P02': 'DB_UNREACHABLE',
  '57P03': 'DB_UNREACHABLE',
};

/** What the driver threw, as a DB_ code. */
export function toDatabaseError(error: unknown, { user, redact }: Target): RuntimeError {
  const sqlState = (error as { code?: unknown }).code;
  const reason = redact(errorText(error));
  const known = typeof sqlState === 'string' ? CODES[sqlState] : undefined;
  // Errors without an SQLSTATE come from the connection, not from the server.
  const isConnection = typeof sqlState !== 'string' || !/^[0-9A-Z]{5}$/.test(sqlState);
  const code = known ?? (isConnection ? 'DB_UNREACHABLE' : 'DB_QUERY_FAILED');
  return new RuntimeError(code, { user, reason }, { cause: error });
}
