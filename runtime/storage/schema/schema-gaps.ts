import { RuntimeError } from '../../errors/runtime-error';
import type { Query } from '../statement';
import {
  EXPECTED_OBJECTS,
  EXPECTED_SCHEMA,
  type ExpectedColumn,
  type ExpectedObject,
  TENANT_TABLES,
} from './expected-schema';

/** What the migrations make and the database lacks. */
export interface SchemaGaps {
  readonly tables: readonly ExpectedObject[];
  /** The missing columns of tables that are there. */
  readonly columns: readonly MissingColumn[];
  readonly objects: readonly ExpectedObject[];
}

interface MissingColumn extends ExpectedColumn {
  readonly table: string;
}

const COLUMNS_OF = `
SELECT ours.name, (
  SELECT json_agg(attribute.attname) FROM pg_attribute AS attribute
  WHERE attribute.attrelid = to_regclass(ours.name) AND attribute.attnum > 0 AND NOT attribute.attisdropped
) AS columns
FROM unnest($1::text[]) AS ours (name)
WHERE to_regclass(ours.name) IS NOT NULL`;

const OBJECTS = `
SELECT 'index ' || relname AS name FROM pg_class WHERE relkind IN ('i', 'I') AND relname LIKE 'elo%' AND pg_table_is_visible(oid)
UNION SELECT 'function ' || proname FROM pg_proc WHERE proname LIKE 'elo%' AND pg_function_is_visible(oid)
UNION SELECT 'trigger ' || tgname FROM pg_trigger WHERE tgname LIKE 'elo%' AND pg_table_is_visible(tgrelid)`;

/** Looks only at what is there and what it is called: an adopted table may have other types. Changes nothing. */
export async function findGaps(query: Query): Promise<SchemaGaps> {
  const names = [...new Set([...EXPECTED_SCHEMA.map(({ name }) => name), ...TENANT_TABLES])];
  const rows = await query<{ name: string; columns: readonly string[] | null }>({ text: COLUMNS_OF, values: [names] });
  const objects = new Set((await query<{ name: string }>({ text: OBJECTS, values: [] })).map(({ name }) => name));
  const found = new Map(rows.map(({ name, columns }) => [name, new Set(columns ?? [])]));
  const hasTenants = TENANT_TABLES.some((name) => found.has(name));
  const isThere = ({ name }: ExpectedObject): boolean =>
    found.has(name) || (hasTenants && TENANT_TABLES.includes(name));
  return {
    tables: EXPECTED_SCHEMA.filter((table) => !isThere(table)),
    columns: EXPECTED_SCHEMA.flatMap(({ name: table, columns }) => {
      const there = found.get(table);
      if (there === undefined) return [];
      return columns.filter(({ name }) => !there.has(name)).map((column) => ({ ...column, table }));
    }),
    objects: EXPECTED_OBJECTS.filter(({ name }) => !objects.has(name)),
  };
}

/**
 * Adds the columns, with their defaults, to the tables that are there. Throws DB_SCHEMA_DAMAGED where a table has lost
 * what identifies its rows, or has rows that a column has no value for.
 */
export async function addColumns(query: Query, columns: readonly MissingColumn[]): Promise<void> {
  const [key] = columns.filter(({ isKey }) => isKey);
  if (key !== undefined) {
    const lost = columns.filter(({ table, isKey }) => isKey && table === key.table).map(({ name }) => name);
    throw new RuntimeError('DB_SCHEMA_DAMAGED', { reason: `${key.table} has no ${lost.join(', ')}` });
  }
  for (const column of columns) await addColumn(query, column);
}

async function addColumn(query: Query, { table, name, definition }: MissingColumn): Promise<void> {
  const needsValue = / NOT NULL\b/.test(definition) && !/ DEFAULT /.test(definition);
  if (needsValue && (await hasRows(query, table))) {
    throw new RuntimeError('DB_SCHEMA_DAMAGED', {
      reason: `the rows of ${table} have no ${name}, and there is no default`,
    });
  }
  const tenants = (await query<{ name: string }>({ text: TENANTS, values: [] }))[0]?.name ?? 'elo_t_tenants';
  const text = `ALTER TABLE ${table} ADD COLUMN ${name} ${definition.replace(/%(?:1\$)?I/, tenants)}`;
  await query({ text, values: [] });
}

/** The table that tenants are read from. */
export const TENANTS = `SELECT coalesce(to_regclass('elo_t_tenants'), to_regclass('elo_tenants'))::text AS name`;

async function hasRows(query: Query, table: string): Promise<boolean> {
  const [row] = await query<{ has: boolean }>({ text: `SELECT EXISTS (SELECT FROM ${table}) AS has`, values: [] });
  return row?.has === true;
}
