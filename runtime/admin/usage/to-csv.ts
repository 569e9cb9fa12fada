/**
 * RFC 4180, with every text in quotes. What a spreadsheet would take for the beginning of a formula gets an apostrophe before
 * it, at the beginning of a text and behind whatever could be taken for a separator: whoever opens the file may have another
 * one than the comma, and may not know quotes.
 */
export function toCsv(columns: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = rows.map((row) => columns.map((column) => toCell(row[column])).join(','));
  return [columns.join(','), ...lines, ''].join('\r\n');
}

const NUMBER = /^-?\d+(\.\d+)?$/;
/** Signs that begin a formula, in full width too, where no letter, digit or other such sign stands before them. */
const FORMULA = /(?<![\p{L}\p{N}=+\-@\uff1d\uff0b\uff0d\uff20])(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/gu;

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = value instanceof Date ? value.toISOString() : (value as string);
  if (NUMBER.test(text)) return text;
  const safe = text.replace(/^[\t\r]/, "'$&").replace(FORMULA, "'");
  return `"${safe.replaceAll('"', '""')}"`;
}
