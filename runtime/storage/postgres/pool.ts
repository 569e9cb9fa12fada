import { createHash } from 'node:crypto';

import type { Pool } from 'pg';

import { after, sleep } from '../../util/clock';
import type { Query, Statement } from '../statement';
import { cancelStatement } from './cancel-statement';
import { describeTarget, guarded, sqlStateOf } from './database-errors';
import { CONNECT_TIMEOUT_MS, openPool, type PostgresConfig, QUERY_TIMEOUT_MS, withLastWords } from './open-pool';
import { createTenantShare } from './tenant-share';

export interface Postgres {
  readonly query: Query;
  /** One connection, one transaction: commits when `work` resolves, rolls back when it rejects. */
  readonly transaction: <T>(work: (query: Query) => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

/** After a statement's time: for the server to end it by itself, then to end it because it was asked to. */
const CANCEL_GRACE_MS = 1000;
const MAX_REPEATS = 3;
const REPEAT_AFTER_MS = 20;

/** A bounded pool. Connections open with the first statement, and close when idle. */
export function createPostgres(config: PostgresConfig): Postgres {
  const context = describeTarget(config);
  const pool = openPool(config);
  const use = clientUser(pool, config.queryTimeoutMs ?? QUERY_TIMEOUT_MS);
  const inShare = createTenantShare({ maxConnections: config.maxConnections, maxWaitMs: CONNECT_TIMEOUT_MS });
  const runRepeatedly = createRunner(use, () => withoutLimits(pool));
  const guard = <T>(work: Promise<T>): Promise<T> => guarded(work, context);
  return {
    query: (statement) => guard(inShare(statement.tenantId, () => runRepeatedly(statement))),
    transaction: (work) => guard(use((run) => inTransaction((statement) => guard(run(statement)), work))),
    close: () => pool.end(),
  };
}

/** Runs a statement on a connection, prepared when it has a name. */
type Run = <Row>(statement: Statement, name?: string) => Promise<readonly Row[]>;
type UseClient = <T>(work: (run: Run) => Promise<T>) => Promise<T>;

/** Lends a connection to one who works with it. What became of one that failed is unknown, so nobody else gets it. */
function clientUser(pool: Pool, queryTimeoutMs: number): UseClient {
  return async (work) => {
    const client = await pool.connect();
    let isSound = false;
    let isCancelled = false;
    const cancel = (): void => {
      isCancelled = true;
      void cancelStatement(client);
    };
    try {
      const result = await work(async ({ text, values }, name) => {
        const stopWaiting = queryTimeoutMs === 0 ? ignore : after(queryTimeoutMs + CANCEL_GRACE_MS, cancel);
        try {
          const { rows } = await client.query({ text, values: [...values], name }).catch(withLastWords(client));
          return rows as never;
        } finally {
          stopWaiting();
        }
      });
      isSound = !isCancelled;
      return result;
    } finally {
      client.release(!isSound);
    }
  };
}

/** A prepared statement that is not there, or there already: a pooler gave us another server connection. */
const POOLER_STATES: readonly unknown[] = ['26000', '42P05'];
/** Serialization failures and deadlocks: nothing of the statement was done. */
const REPEATABLE_STATES: readonly unknown[] = ['40001', '40P01'];

/**
 * Runs statements prepared, since planning ours costs more than running them. What was refused before it did anything, for
 * a reason that another try does not meet, is tried again.
 */
function createRunner(use: UseClient, withoutLimits: () => void): Query {
  let isPrepared = true;
  /** Part of the names, so that every connection prepares them again after a schema change. */
  let generation = 0;
  /** Whether the same statement may do better now. */
  const mend = (error: unknown, tried: { readonly name?: string; readonly generation: number }): boolean => {
    if (tried.name !== undefined && POOLER_STATES.includes(sqlStateOf(error))) isPrepared = false;
    else if (isPlanOfBefore(error)) generation = tried.generation + 1;
    else if (refusesLimits(error)) withoutLimits();
    else return REPEATABLE_STATES.includes(sqlStateOf(error));
    return true;
  };
  return async (statement) => {
    for (let repeats = 0; ; repeats++) {
      const isNamed = isPrepared && statement.values.length > 0;
      const tried = { generation, name: isNamed ? statementName(statement.text, generation) : undefined };
      try {
        return await use((run) => run(statement, tried.name));
      } catch (error) {
        if (repeats === MAX_REPEATS || !mend(error, tried)) throw error;
        // Those that met one another here must not do so again.
        await sleep(Math.random() * REPEAT_AFTER_MS * repeats);
      }
    }
  };
}

/** "cached plan must not change result type", in whatever language the server speaks. */
function isPlanOfBefore(error: unknown): boolean {
  return sqlStateOf(error) === '0A000' && (error as { readonly routine?: unknown }).routine === 'RevalidateCachedQuery';
}

/** Poolers know few of the settings that a connection can begin with, and name the one that they do not take. */
function refusesLimits(error: unknown): boolean {
  return error instanceof Error && /\b(?:statement|lock)_timeout\b/.test(error.message);
}

/** Later connections leave the limits of time to the client, which cancels what is over them. */
function withoutLimits({ options }: Pool): void {
  options.statement_timeout = undefined;
  options.lock_timeout = undefined;
}

const names = new Map<string, string>();

/** The same text has the same name in every process. */
function statementName(text: string, generation: number): string {
  const name = names.get(text) ?? `universal_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
  names.set(text, name);
  return generation === 0 ? name : `${name}_${generation}`;
}

function ignore(): void {
  // Reported elsewhere.
}

async function inTransaction<T>(query: Query, work: (query: Query) => Promise<T>): Promise<T> {
  // Whatever the database's default: what waited for a lock has to see what was written meanwhile.
  await query({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED', values: [] });
  try {
    const result = await work(query);
    await query({ text: 'COMMIT', values: [] });
    return result;
  } catch (error) {
    await query({ text: 'ROLLBACK', values: [] }).catch(ignore);
    throw error;
  }
}
