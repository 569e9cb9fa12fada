import { type JsonValue, tryParseJson } from '../../util/json';

/** Longer values are cut. */
const MAX_CELL_LENGTH = 4000;
/** Bytes in hex tell a model nothing; this many are enough to compare them. */
const MAX_BYTES_LENGTH = 66;

/** Type OIDs, which Postgres never changes. */
const BOOL = 16;
const BYTEA = 17;
const NUMBERS: readonly number[] = [20, 21, 23, 700, 701];
const JSON_TYPES: readonly number[] = [114, 3802];

/** How many characters of a value of this type are read. */
export function sqlCellLength(typeId: number): number {
  return typeId === BYTEA ? MAX_BYTES_LENGTH : MAX_CELL_LENGTH;
}

interface Cell {
  readonly value: JsonValue;
  readonly isCut: boolean;
}

/** A value as JSON, from Postgres' text of it. What JSON would change stays text: NUMERIC, and numbers of many digits. */
export function readSqlCell(text: string | null, typeId: number): Cell {
  if (text === null) return { value: null, isCut: false };
  const length = sqlCellLength(typeId);
  if (text.length > length) {
    const points = Array.from(text);
    if (points.length > length) return { value: `${points.slice(0, length).join('')}…`, isCut: true };
  }
  return { value: readWhole(text, typeId), isCut: false };
}

const MANY_DIGITS = /\d{16}/;

function readWhole(text: string, typeId: number): JsonValue {
  if (typeId === BOOL) return text === 'true';
  if (NUMBERS.includes(typeId)) return readNumber(text);
  if (!JSON_TYPES.includes(typeId) || MANY_DIGITS.test(text)) return text;
  const parsed = tryParseJson(text);
  return parsed.ok ? parsed.value : text;
}

function readNumber(text: string): number | string {
  const value = Number(text);
  return Number.isFinite(value) && String(value) === text ? value : text;
}
