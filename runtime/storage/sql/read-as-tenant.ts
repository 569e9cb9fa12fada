import type { SqlRequest } from '../../contracts/tools/sql-reader';
import type { Statement } from '../statement';

const LOCK_TIMEOUT_MS = 2000;
const IDLE_TIMEOUT_MS = 30_000;

/** What holds for the one transaction of a query: whose rows, for how long, and how values are written. */
export function beginAsTenantStatement({ tenantId, timeoutMs }: SqlRequest): Statement {
  return {
    text: `
SELECT set_config('app.tenant_id', $1, true),
  set_config('statement_timeout', $2, true),
  set_config('lock_timeout', $3, true),
  set_config('idle_in_transaction_session_timeout', $4, true),
  -- Else the server would read texts in another way than the check of the query did.
  set_config('standard_conforming_strings', 'on', true),
  set_config('row_security', 'on', true),
  set_config('datestyle', 'ISO, YMD', true),
  set_config('bytea_output', 'hex', true)`,
    values: [tenantId, String(Math.max(1, Math.ceil(timeoutMs))), String(LOCK_TIMEOUT_MS), String(IDLE_TIMEOUT_MS)],
  };
}

/** Finds no rows: only the names and types of the columns are wanted. */
export function describeQueryStatement(text: string): Statement {
  return { text: `SELECT * FROM (\n${text}\n) AS query LIMIT $1`, values: [0] };
}

/**
 * The query's rows as text, with long values, further rows, and what is over the bytes cut by the server, so that
 * nothing huge travels. Each row ends with how many rows there are, at most one more than asked for.
 *
 * A parameter makes it an extended query, of which Postgres takes one statement and no more.
 */
export function readQueryStatement({ text, maxRows, maxBytes }: SqlRequest, cellLengths: readonly number[]): Statement {
  const names = cellLengths.map((_length, index) => `c${index}`).join(', ');
  const cells = cellLengths.map(
    (length, index) => `pg_catalog.left(c${index}::pg_catalog.text, ${length + 1}) AS c${index}`,
  );
  return {
    text: `
SELECT ${names}, found FROM (
  SELECT ${names}, count(*) OVER () AS found, bytes, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) AS total
  FROM (
    SELECT ${names}, pg_catalog.octet_length(ROW(${names})::pg_catalog.text) AS bytes
    FROM (SELECT ${cells.join(', ')} FROM (
${text}
    ) AS query (${names}) LIMIT $1) AS cut
  ) AS measured
) AS counted
WHERE total - bytes < $2`,
    values: [maxRows + 1, maxBytes],
  };
}
