import type { FieldDef, Pool, PoolClient } from 'pg';

import type { SqlReader, SqlRequest, SqlRows } from '../../contracts/tools/sql-reader';
import { RuntimeError } from '../../errors/runtime-error';
import { untilAborted } from '../../util/abort';
import inspectSqlRole from '../sql/inspect-sql-role.sql';
import { beginAsTenantStatement, describeQueryStatement, readQueryStatement } from '../sql/read-as-tenant';
import { type Statement, statement } from '../statement';
import { cancelStatement } from './cancel-statement';
import { describeTarget, guarded, sqlStateOf, toDatabaseError } from './database-errors';
import { openPool, type PostgresConfig, withLastWords } from './open-pool';
import { readSqlCell, sqlCellLength } from './sql-values';

const MAX_COLUMNS = 200;

interface Reader {
  readonly target: ReturnType<typeof describeTarget>;
  /** Connections whose role was found to be safe. */
  readonly inspected: WeakSet<PoolClient>;
}

/** A bounded pool of its own, for a role of its own: see docs/sql-query.md. Connects with the first query. */
export function createSqlReader(given: PostgresConfig): SqlReader {
  // Each query brings its own limit of time.
  const pool = openPool({ ...given, queryTimeoutMs: 0 });
  const reader: Reader = { target: describeTarget(given), inspected: new WeakSet() };
  return {
    read: async (request) => {
      request.signal.throwIfAborted();
      return useClient(reader, await connect(reader, pool, request.signal), request);
    },
    close: () => pool.end(),
  };
}

function ignore(): void {
  // Reported elsewhere.
}

async function connect(reader: Reader, pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  const connecting = pool.connect();
  try {
    return await untilAborted(guarded(connecting, reader.target), signal);
  } catch (error) {
    // It may still come, after all that were waiting before it.
    connecting.then((client) => client.release(), ignore);
    throw error;
  }
}

async function useClient(reader: Reader, client: PoolClient, request: SqlRequest): Promise<SqlRows> {
  const session: Session = { reader, client };
  try {
    const reading = readAndRollBack(session, request);
    // When the signal wins, the query ends with its connection, and nobody else wants to know how.
    reading.catch(ignore);
    return await untilAborted(reading, request.signal);
  } finally {
    const release = (): void => {
      client.release(request.signal.aborted || session.isSound !== true);
    };
    // A server goes on with a query whose client has left, and a pooler knows it by the connection as long as that is there.
    if (request.signal.aborted) void cancelStatement(client).then(release);
    else release();
  }
}

interface Session {
  readonly reader: Reader;
  readonly client: PoolClient;
  /** True as soon as the transaction is over: somebody else may have the connection. */
  isSound?: boolean;
}

async function readAndRollBack(session: Session, request: SqlRequest): Promise<SqlRows> {
  await inspect(session);
  await run(session, { text: 'BEGIN TRANSACTION READ ONLY', values: [] });
  try {
    await run(session, beginAsTenantStatement(request));
    return await readRows(session, request);
  } finally {
    await run(session, { text: 'ROLLBACK', values: [] }).then(() => (session.isSound = true), ignore);
  }
}

/** Once for each connection, so that a role that was changed is noticed soon: idle connections close. */
async function inspect(session: Session): Promise<void> {
  const { client, reader } = session;
  if (reader.inspected.has(client)) return;
  const { rows } = await run(session, statement(inspectSqlRole));
  if (rows.length > 0) {
    session.isSound = true;
    const reason = (rows as { readonly reason: string }[]).map((row) => row.reason).join('; ');
    throw new RuntimeError('SQL_ROLE_UNSAFE', { user: reader.target.user, reason });
  }
  reader.inspected.add(client);
}

interface Found {
  readonly fields: readonly FieldDef[];
  readonly rows: readonly unknown[];
}

function run({ client, reader }: Session, { text, values }: Statement): Promise<Found> {
  return guarded(client.query({ text, values: [...values] }).catch(withLastWords(client)), reader.target);
}

async function readRows(session: Session, request: SqlRequest): Promise<SqlRows> {
  const fields = await describe(session, request.text);
  const cells = fields.map(({ dataTypeID }) => sqlCellLength(dataTypeID));
  const { text, values } = readQueryStatement(request, cells);
  const { rows: found } = await runTheirs(
    session,
    session.client.query<(string | null)[]>({ text, values: [...values], rowMode: 'array' }),
  );
  const rows = found
    .slice(0, request.maxRows)
    .map((row) => fields.map(({ dataTypeID }, index) => readSqlCell(row[index] ?? null, dataTypeID)));
  return {
    columns: fields.map(({ name }) => name),
    rows: rows.map((row) => row.map(({ value }) => value)),
    isCut: Number(found[0]?.at(-1) ?? 0) > rows.length || rows.some((row) => row.some(({ isCut }) => isCut)),
  };
}

async function describe(session: Session, query: string): Promise<readonly FieldDef[]> {
  const { text, values } = describeQueryStatement(query);
  const { fields } = await runTheirs(session, session.client.query({ text, values: [...values] }));
  if (fields.length > 0 && fields.length <= MAX_COLUMNS) return fields;
  throw new RuntimeError('SQL_FAILED', { reason: `it has ${fields.length} columns; 1 to ${MAX_COLUMNS} are read` });
}

/** What the server has to say on the model's own text is for the model, unless the server is gone. */
async function runTheirs<T>({ reader }: Session, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const known = toDatabaseError(error, reader.target);
    // A parameter in the text is a violation of the protocol, 08P01, as far as the server is concerned.
    if (known.code === 'DB_UNREACHABLE' && sqlStateOf(error) !== '08P01') throw known;
    const { hint } = error as { readonly hint?: string };
    const advice = hint === undefined ? '' : ` (${hint})`;
    throw new RuntimeError('SQL_FAILED', { reason: `${String(known.details.reason)}${advice}` }, { cause: error });
  }
}
