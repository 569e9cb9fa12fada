import { isJsonObject, type JsonValue } from '../util/json';
import { escapeHidden } from '../util/text/escape-hidden';
import { showName } from './show-name';

/**
 * A literal that Postgres and psql read as this text and nothing else, whatever it holds. Postgres has no room for
 * NUL and lone surrogates; they are left out.
 */
export function sqlText(text: string): string {
  const clean = text.replaceAll('\u0000', '').toWellFormed().replaceAll("'", "''");
  // With the old reading of plain literals a backslash would be an escape; this kind means the same to all servers.
  // Nor does the file hold what a terminal would obey.
  const escaped = escapeHidden(clean.replaceAll('\\', '\\\\'));
  return escaped === clean ? `'${clean}'` : `E'${escaped}'`;
}

/** JSON as a literal. */
export function sqlJson(value: JsonValue): string {
  return sqlText(JSON.stringify(withoutNul(value)));
}

export function sqlNumber(value: number | undefined): string {
  return value === undefined ? 'NULL' : String(value);
}

export function sqlTextArray(values: readonly string[]): string {
  return values.length === 0 ? `ARRAY[]::text[]` : `ARRAY[${values.map(sqlText).join(', ')}]`;
}

/** Lines of comment. Nothing in the text can end the comment. */
export function sqlComment(text: string): string {
  return text
    .split('\n')
    .map((line) => `-- ${line.replaceAll(/\S+|\s+/g, (part) => (part.trim() === '' ? ' ' : showName(part)))}`.trimEnd())
    .join('\n');
}

function withoutNul(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.replaceAll('\u0000', '').toWellFormed();
  if (Array.isArray(value)) return value.map((item: JsonValue) => withoutNul(item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.replaceAll('\u0000', '').toWellFormed(), withoutNul(inner)]),
  );
}
