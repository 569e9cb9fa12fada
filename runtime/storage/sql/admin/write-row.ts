import type { Statement } from '../../statement';
import { named } from '../named';

/** A table that may be somebody else's: its columns, each with its type there. */
export interface Table {
  readonly name: string;
  readonly columns: Readonly<Record<string, string>>;
}

/** Values by column. One that is undefined is left as it is, or to the column's default. */
export type RowValues = Readonly<Record<string, unknown>>;

/** The first of these tables that is there. */
export function tableStatement(...names: readonly string[]): Statement {
  return {
    text: `
SELECT found.name::text AS name, json_object_agg(attname, atttypid::regtype::text) AS columns
FROM (SELECT to_regclass(name) AS name FROM unnest($1::text[]) WITH ORDINALITY AS given (name, place)
  WHERE to_regclass(name) IS NOT NULL ORDER BY place LIMIT 1) AS found
JOIN pg_attribute ON attrelid = found.name AND attnum > 0 AND NOT attisdropped
GROUP BY found.name`,
    values: [names],
  };
}

/** Held to the end of the transaction: whoever looks for this name, to add it if it is missing, waits. */
export const lockName = named<{ readonly kind: string; readonly name: string }>(
  `SELECT pg_advisory_xact_lock(hashtext('universal-ai-agent ' || :kind), hashtext(:name))`,
);

/** No row comes back where one of this key is there already. */
export function insertRow(table: Table, values: RowValues): Statement {
  const given = givenOf(values);
  const places = given.map(([column], index) => `$${index + 1}::${typeOf(table, column)}`);
  return {
    text: `INSERT INTO ${table.name} (${given.map(([column]) => column).join(', ')}) VALUES (${places.join(', ')})
      ON CONFLICT DO NOTHING RETURNING *`,
    values: given.map(([column, value]) => toColumn(typeOf(table, column), value)),
  };
}

/** The rows that have these keys; none where there is no such row. */
export function updateRow(table: Table, keys: RowValues, values: RowValues): Statement {
  const given = givenOf(values);
  const keyed = givenOf(keys);
  const equal = ([column]: readonly [string, unknown], index: number): string =>
    `${column} = $${index + 1}::${typeOf(table, column)}`;
  const sets = given.map(equal);
  const conditions = keyed.map((entry, index) => equal(entry, given.length + index));
  return {
    text: `UPDATE ${table.name} SET ${sets.join(', ')} WHERE ${conditions.join(' AND ')} RETURNING *`,
    values: [...given, ...keyed].map(([column, value]) => toColumn(typeOf(table, column), value)),
  };
}

/** The column of a value that the table has no place for. */
export function missingColumn({ columns }: Table, values: RowValues): string | undefined {
  return givenOf(values).find(([column]) => columns[column] === undefined)?.[0];
}

function givenOf(values: RowValues): readonly (readonly [string, unknown])[] {
  return Object.entries(values).filter(([, value]) => value !== undefined);
}

function typeOf({ columns }: Table, column: string): string {
  return columns[column] ?? 'text';
}

/** Lists stand in adopted databases as `text[]`, JSON or text with commas. */
function toColumn(type: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (type.endsWith('[]')) return value;
  return Array.isArray(value) && !type.startsWith('json') ? value.join(',') : JSON.stringify(value);
}
