import type { Carried, Constant } from '../expressions/carry-expression';
import { literal } from '../expressions/javascript';

/** How the values of a condition are taken, as saved with it. */
export interface FilterOptions {
  readonly isStrict: boolean;
  readonly isCaseSensitive: boolean;
  /** The filter's version: 2 reads booleans from text, for 3 blank text is no number. */
  readonly version: number;
}

/** One side of a condition. */
export type Side = Exclude<Carried, { readonly kind: 'unknown' }>;

const NULLISH = 'v === undefined || v === null';
const TO_STRING = `(v) => (${NULLISH} ? v : typeof v === "object" ? JSON.stringify(v) : String(v))`;
const TO_NUMBER = `(v) => (${NULLISH} ? v : Number(v))`;
const BLANK = '(typeof v === "string" && v.trim() === "") || (Array.isArray(v) && v.length === 0)';
const TO_NUMBER_OR_BLANK = `(v) => (${NULLISH} ? v : ${BLANK} ? null : Number(v))`;
const BLANK_TO_NULL = `(v) => (${BLANK} ? null : v)`;
const TO_TRUTH = `(v) => (${NULLISH} ? v : Boolean(v))`;
const TO_BOOLEAN = `(v) => (${NULLISH} ? v : typeof v === "string" && /^(true|false)$/i.test(v) ? v.toLowerCase() === "true" : typeof v === "string" && v.trim() === "" ? v !== "" : Number(v) === 0 ? false : Boolean(v))`;
const TO_ARRAY = `(v) => { if (${NULLISH} || Array.isArray(v)) return v; try { return JSON.parse(String(v)); } catch (e) { return JSON.parse(String(v).replace(/'/g, '"')); } }`;

/**
 * What n8n compares when it has read a value as this type: JavaScript, right for every value that n8n does not refuse
 * for its type. Undefined for types whose values are read in ways that no short expression has.
 */
export function readAs(side: Side, type: string, options: FilterOptions): string | undefined {
  const reader = readerOf(type, options);
  if (reader === undefined) return undefined;
  if (side.kind === 'constant') return literalAs(side.value, type, options) ?? applied(reader, side.js);
  return applied(reader, side.js);
}

function applied(reader: string, js: string): string {
  return reader === '' ? js : `(${reader})(${js})`;
}

/** The empty text: as it is. */
function readerOf(type: string, { isStrict, version }: FilterOptions): string | undefined {
  if (type === 'any') return '';
  if (isStrict) return type === 'number' && version >= 3 ? BLANK_TO_NULL : STRICT[type];
  if (type === 'number' && version >= 3) return TO_NUMBER_OR_BLANK;
  return type === 'boolean' && version >= 2 ? TO_BOOLEAN : LOOSE[type];
}

const STRICT: Readonly<Record<string, string>> = { string: '', number: '', boolean: '', array: '', object: '' };
const LOOSE: Readonly<Record<string, string>> = {
  string: TO_STRING,
  number: TO_NUMBER,
  boolean: TO_TRUTH,
  array: TO_ARRAY,
};

/** What needs no reading when it is known beforehand. */
function literalAs(value: Constant, type: string, { isStrict }: FilterOptions): string | undefined {
  if (value === undefined) return 'undefined';
  if (value === null || type === typeof value) return literal(value);
  if (isStrict || type !== 'number' || typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : String(number);
}
