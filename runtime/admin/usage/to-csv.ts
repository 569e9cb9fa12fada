/**
 * RFC 4180, with every text in quotes. A text that a spreadsheet would take for a formula gets an apostrophe before it, also
 * behind a separator within it: whoever opens the file may have another one than the comma, and may not know quotes.
 */
export function toCsv(columns: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = rows.map((row) => columns.map((column) => toCell(row[column])).join(','));
  return [columns.join(','), ...lines, ''].join('\r\n');
}

const NUMBER = /^-?\d+(\.\d+)?$/;
/** What begins a formula, in full width too, at the beginning of a text or of what another separator makes a cell of its own. */
const FORMULA = /(^|[;,\t\r\n|])(["' \u00a0]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = value instanceof Date ? value.toISOString() : (value as string);
  if (NUMBER.test(text)) return text;
  const safe = text.replace(/^[\t\r]/, "'$&").replace(FORMULA, "$1'$2");
  return `"${safe.replaceAll('"', '""')}"`;
}
