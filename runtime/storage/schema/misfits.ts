import { sqlStateOf } from '../postgres/database-errors';
import type { Query } from '../statement';
import { EXPECTED_SCHEMA } from './expected-schema';

/** Returns the columns of an adopted bill that are of a type or too small for what a run writes: the server does not name them. */
export async function findMisfits(query: Query): Promise<string | undefined> {
  const columns = await query<{ name: string }>({ text: MISFITS, values: [] });
  return columns.length === 0 ? undefined : columns.map(({ name }) => name).join('; ');
}

const MISFITS = `
SELECT format('elo_t_token_usage.%s is %s, not %s', wanted.name, format_type(atttypid, atttypmod), wanted.type) AS name
FROM (VALUES
  ('tenant_id', 'uuid', NULL), ('task_id', 'varchar(200)', 200), ('trace_id', 'varchar(100)', 100),
  ('model_id', 'varchar(100)', 100), ('task_type', 'varchar(50)', 50), ('agent_tier', 'varchar(20)', 20),
  ('prompt_tokens', 'int', NULL), ('completion_tokens', 'int', NULL), ('total_tokens', 'int', NULL),
  ('cost_usd', 'numeric(12,8)', NULL)
) AS wanted (name, type, length)
JOIN pg_attribute ON attrelid = to_regclass('elo_t_token_usage') AND attname = wanted.name AND NOT attisdropped
WHERE CASE wanted.type
  WHEN 'uuid' THEN atttypid <> 'uuid'::regtype
  WHEN 'int' THEN atttypid = 'int2'::regtype
  WHEN 'numeric(12,8)' THEN atttypid = 'numeric'::regtype AND atttypmod > 0
    AND ((atttypmod - 4) >> 16) - ((atttypmod - 4) & 2047) < 4
  ELSE atttypid IN ('varchar'::regtype, 'bpchar'::regtype) AND atttypmod BETWEEN 0 AND wanted.length + 3
END
UNION ALL
SELECT CASE
  WHEN id.atttypid <> 'uuid'::regtype THEN format('%s.id is %s, not uuid', attrelid::regclass, format_type(atttypid, atttypmod))
  ELSE format('%s.id is no key: it needs PRIMARY KEY or UNIQUE', attrelid::regclass)
END
FROM pg_attribute AS id
WHERE attrelid = coalesce(to_regclass('elo_t_tenants'), to_regclass('elo_tenants')) AND attname = 'id' AND NOT attisdropped
  AND (atttypid <> 'uuid'::regtype OR NOT EXISTS (
    SELECT FROM pg_index AS key WHERE key.indrelid = attrelid AND key.indisunique AND key.indimmediate AND key.indpred IS NULL
      AND key.indnkeyatts = 1 AND key.indkey[0] = id.attnum
  ))`;

/**
 * Returns the columns of adopted tables whose type is of another kind than ours, such as a number where we have a text: many of
 * them work, and where one does not, the server names only the types.
 */
export async function findForeignTypes(query: Query): Promise<readonly string[]> {
  const columns = await query<{ name: string }>({ text: FOREIGN_TYPES, values: [JSON.stringify(EXPECTED_TYPES)] });
  return columns.map(({ name }) => name);
}

const TYPE = /^[A-Z]+(?:\([\d, ]+\))?(?:\[\])?/;
const EXPECTED_TYPES = EXPECTED_SCHEMA.flatMap(({ name: table, columns }) =>
  columns.map(({ name, definition }) => ({
    ...{ table, name },
    type: TYPE.exec(definition)?.[0]
      .replace(/^(BIG)?SERIAL$/, '$1INT')
      .toLowerCase(),
  })),
);

const FOREIGN_TYPES = `
SELECT format('%s.%s is %s, not %s', ours."table", ours.name, format_type(atttypid, atttypmod), ours.type) AS name
FROM jsonb_to_recordset($1) AS ours ("table" text, name text, type text)
JOIN pg_attribute ON attrelid = to_regclass(ours."table") AND attname = ours.name AND NOT attisdropped
JOIN pg_type AS there ON there.oid = atttypid
JOIN pg_type AS wanted ON wanted.oid = to_regtype(ours.type)
WHERE there.typcategory <> wanted.typcategory OR (wanted.typcategory = 'U' AND there.oid <> wanted.oid)
LIMIT 5`;

/** Returns the server's message with its detail, which names columns, but for one that holds a row; with the types that it may be about. */
export function wordsOfServer({ cause, message: otherwise }: Error, foreignTypes: readonly string[] = []): string {
  const { message = otherwise, detail = '' } = (cause ?? {}) as { readonly message?: string; readonly detail?: string };
  const isOfTypes = /^42(?!501)/.test(sqlStateOf(cause) ?? '');
  const words =
    detail === '' || detail.startsWith('Failing row') ? message : `${message}: ${detail.replace(/[.]$/, '')}`;
  return [words, ...(isOfTypes ? foreignTypes : [])].join('; ');
}
