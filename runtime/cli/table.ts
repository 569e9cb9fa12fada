import { styleText } from 'node:util';

import stringWidth from 'string-width';

import { parseExactly } from '../util/exact-integer';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { escapeHidden } from '../util/text/escape-hidden';
import { briefRows } from './brief';

interface Rendered {
  readonly text: string;
  /** Whether something did not fit into the width. */
  readonly isCut: boolean;
}

interface Column {
  readonly title: string;
  readonly cells: readonly string[];
  readonly isNumeric: boolean;
  readonly width: number;
}

const GAP = '  ';
/** A column that is narrower tells nothing. */
const LEAST_WIDTH = 8;
const NUMBER = /^-?\d+(\.\d+)?$/;

interface View {
  /** Columns of the terminal. Default: nothing is cut. */
  readonly width?: number;
  /** All columns of a list, and not those alone that people want. */
  readonly isWide?: boolean;
}

/** A value for people: its keys in lines, each list of rows in it as a table. */
export function renderValue(value: unknown, { width, isWide = false }: View = {}): Rendered {
  // What programs would get, so that both see the same: dates are text, and what is undefined is absent.
  const plain = parseExactly(JSON.stringify(value ?? null)) as JsonValue;
  if (isRows(plain)) return renderRows(plain, width);
  if (!isJsonObject(plain)) return { text: `${shown(plain)}\n`, isCut: false };
  const fields = flatten(plain);
  const lists = fields.filter(([, field]) => isRows(field)) as (readonly [string, readonly JsonObject[]])[];
  // Beside a list that has rows, an empty one is not worth a line.
  const isLeftOut = (field: JsonValue): boolean =>
    !isWide && lists.length > 0 && Array.isArray(field) && field.length === 0;
  const others = fields.filter(([, field]) => !isRows(field) && !isLeftOut(field));
  const tables = lists.map(([name, rows]) => {
    const table = renderRows(isWide ? rows : briefRows(name, rows), width);
    return { ...table, text: `${title(name)}\n${table.text}` };
  });
  const parts = others.length === 0 ? tables : [{ text: renderFields(others), isCut: false }, ...tables];
  return { text: parts.map(({ text }) => text).join('\n'), isCut: parts.some(({ isCut }) => isCut) };
}

function isRows(value: JsonValue): value is readonly JsonObject[] & JsonValue {
  return Array.isArray(value) && value.length > 0 && value.every((row) => isJsonObject(row));
}

/** Objects within objects become `tokens.prompt`. */
function flatten(value: JsonObject, prefix = ''): (readonly [string, JsonValue])[] {
  return Object.entries(value).flatMap(([name, field]) =>
    isJsonObject(field) && Object.keys(field).length > 0
      ? flatten(field, `${prefix}${name}.`)
      : [[`${prefix}${name}`, field] as const],
  );
}

function renderFields(fields: readonly (readonly [string, JsonValue])[]): string {
  const width = Math.max(...fields.map(([name]) => stringWidth(escapeHidden(name))));
  // The lines of a long text stand below one another.
  const indent = `\n${' '.repeat(width)}${GAP}`;
  const lines = fields.map(([field, value]) => {
    const name = escapeHidden(field);
    return `${title(name)}${' '.repeat(width - stringWidth(name))}${GAP}${(shown(value) || 'none').replaceAll('\n', indent)}\n`;
  });
  return lines.join('');
}

function renderRows(rows: readonly JsonObject[], width = Infinity): Rendered {
  const columns = fit(columnsOf(rows), width);
  // Too many columns for the width: each row by itself, as psql does it.
  if (columns === undefined) {
    return { text: rows.map((row) => renderFields(Object.entries(row))).join('\n'), isCut: false };
  }
  const header = columns.map((column) => title(align(column, escapeHidden(column.title))));
  const lines = rows.map((_, index) => columns.map((column) => align(column, column.cells[index] ?? '')));
  const text = [header, ...lines].map((cells) => cells.join(GAP).trimEnd()).join('\n');
  return {
    text: `${text}\n`,
    isCut: columns.some(({ cells, width: most }) => cells.some((cell) => stringWidth(cell) > most)),
  };
}

/** A column that no row has a value in is left out. */
function columnsOf(rows: readonly JsonObject[]): readonly Column[] {
  const titles = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return titles.flatMap((name) => {
    const values = rows.map((row) => row[name] ?? null);
    if (values.every((value) => value === null)) return [];
    const cells = values.map((value) => shown(value).replace(/\s+/g, ' '));
    const width = Math.max(...[escapeHidden(name), ...cells].map((text) => stringWidth(text)));
    return [{ title: name, cells, isNumeric: cells.every((cell) => cell === '' || NUMBER.test(cell)), width }];
  });
}

/** The widest columns give way, figures never. Undefined when even that is not enough. */
function fit(columns: readonly Column[], width: number): readonly Column[] | undefined {
  const space = width - GAP.length * (columns.length - 1);
  const least = columns.map((column) => (column.isNumeric ? column.width : Math.min(column.width, LEAST_WIDTH)));
  if (sum(least) > space) return undefined;
  let widths = columns.map((column) => column.width);
  for (let over = sum(widths) - space; over > 0; over--) {
    const slack = widths.map((own, index) => (own > (least[index] ?? 0) ? own : 0));
    const widest = slack.indexOf(Math.max(...slack));
    widths = widths.map((own, index) => (index === widest ? own - 1 : own));
  }
  return columns.map((column, index) => ({ ...column, width: widths[index] ?? column.width }));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function shown(value: JsonValue): string {
  if (value === null) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return escapeHidden(value.join(', '));
  return escapeHidden(typeof value === 'string' ? value : JSON.stringify(value));
}

const title = (text: string): string => styleText('bold', text);

function align({ width, isNumeric }: Column, text: string): string {
  const fitting = cut(text, width);
  const space = ' '.repeat(width - stringWidth(fitting));
  return isNumeric ? space + fitting : fitting + space;
}

function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let taken = '';
  let used = 0;
  for (const { segment } of SEGMENTER.segment(text)) {
    used += stringWidth(segment);
    if (used >= width) break;
    taken += segment;
  }
  return `${taken}…`;
}

const SEGMENTER = new Intl.Segmenter();
