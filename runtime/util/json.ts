import { ExactInteger, parseExactly } from './exact-integer.ts'; // Started as it stands by the tests of schema-process.ts.

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Returns true for a plain JSON object: not null, not an array, not an ExactInteger. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactInteger);
}

/** The object, or an empty one for any other value. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function isList(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** True for a list of texts, none of them empty. */
export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '');
}

/** The objects of a list; none for any other value. */
export function objectsIn(list: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? (list as JsonValue[]).filter(isJsonObject) : [];
}

export function textsIn(list: JsonValue | undefined): readonly string[] {
  return Array.isArray(list) ? (list as JsonValue[]).filter((item) => typeof item === 'string') : [];
}

/** Deeper values overflow the stack of whatever serialises them again; nothing honest is near this. */
export const MAX_JSON_DEPTH = 200;

/** The most values of a text or value: going through more holds up the event loop. */
export const MAX_JSON_VALUES = 20_000;
/** All texts in a value together, keys too. No model reads more. */
export const MAX_JSON_CHARS = 4 * 1024 * 1024;

/**
 * Returns the parsed value, with integers beyond 2^53 as ExactInteger, or the reason why it cannot be parsed: that of the
 * parser, too deep, or too many values.
 */
export function tryParseJson(
  text: string,
  maxValues = MAX_JSON_VALUES,
): { ok: true; value: JsonValue } | { ok: false; reason: string } {
  if (holdsMoreThan(text, maxValues)) return { ok: false, reason: `it has more than ${maxValues} values` };
  try {
    const value = parseExactly(text) as JsonValue;
    if (isDeeperThan(value, MAX_JSON_DEPTH))
      return { ok: false, reason: `nested deeper than ${MAX_JSON_DEPTH} levels` };
    return { ok: true, value };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * True for the text of a JSON value with more values in it. Looked at before it is parsed, which takes ten times as
 * long.
 */
export function holdsMoreThan(text: string, maxValues: number): boolean {
  if (text.length <= maxValues) return false;
  let count = 0;
  for (let at = 0; at < text.length && count <= maxValues; at++) {
    const mark = text.charCodeAt(at);
    if (mark === QUOTE) at = endOfString(text, at);
    else if (mark === COMMA || mark === BRACE || mark === BRACKET) count++;
  }
  return count > maxValues;
}

const [QUOTE, COMMA, BRACE, BRACKET, BACKSLASH] = [0x22, 0x2c, 0x7b, 0x5b, 0x5c];

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/**
 * What is wrong with a value that came from outside, as a sentence goes on after its name: it is too deep or too much.
 */
export function findExcess(value: unknown): string | undefined {
  let values = 0;
  let chars = 0;
  const visit = (inner: unknown, levels: number): string | undefined => {
    if (typeof inner === 'string') chars += inner.length;
    if (++values > MAX_JSON_VALUES) return `has more than ${MAX_JSON_VALUES} values`;
    if (chars > MAX_JSON_CHARS) return `is longer than ${MAX_JSON_CHARS} characters`;
    if (typeof inner !== 'object' || inner === null) return undefined;
    if (levels === 0) return `is nested deeper than ${MAX_JSON_DEPTH} levels`;
    if (Array.isArray(inner)) return firstOf(inner, (item) => visit(item, levels - 1));
    // Not all keys at once: there may be a million.
    for (const key in inner) {
      chars += key.length;
      const excess = visit((inner as Readonly<Record<string, unknown>>)[key], levels - 1);
      if (excess !== undefined) return excess;
    }
    return undefined;
  };
  return visit(value, MAX_JSON_DEPTH);
}

function firstOf(items: readonly unknown[], find: (item: unknown) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** True when arrays and objects stand in one another more than `levels` times. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((inner) => isDeeperThan(inner, levels - 1));
  for (const key in value) {
    if (isDeeperThan((value as Readonly<Record<string, unknown>>)[key], levels - 1)) return true;
  }
  return false;
}

/** JSON with the keys of every object in order, so that equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return writeCanonical(value) ?? 'null';
}

/**
 * Written out by hand, since it stands in the way of every tool call and JSON.stringify with a replacer is several
 * times slower.
 */
function writeCanonical(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof ExactInteger) return value.toString();
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === 'function') return writeCanonical(Reflect.apply(toJSON, value, []));
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const parts: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const text = writeCanonical((value as Readonly<Record<string, unknown>>)[key]);
    if (text !== undefined) parts.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${parts.join(',')}}`;
}

const PROTOTYPE_KEYS: readonly string[] = ['__proto__', 'constructor', 'prototype'];

/**
 * The first key within a value that could reach a prototype, also as a part of a path such as `a.b`; undefined where
 * there is none.
 */
export function prototypeKeyIn(value: unknown, depth = MAX_JSON_DEPTH): string | undefined {
  if (typeof value !== 'object' || value === null || depth === 0) return undefined;
  const keys = Array.isArray(value) ? [] : Object.keys(value);
  const found = keys.find((key) => key.split('.').some((part) => PROTOTYPE_KEYS.includes(part)));
  if (found !== undefined) return found;
  for (const inner of Object.values(value)) {
    const within = prototypeKeyIn(inner, depth - 1);
    if (within !== undefined) return within;
  }
  return undefined;
}

/**
 * A copy with the keys that could reach a prototype left out.
 * Bounded in depth, since the values come from database rows that others may write.
 */
export function withoutPrototypeKeys(value: JsonValue, depth = 32): JsonValue {
  if (typeof value !== 'object' || value === null || depth === 0) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => withoutPrototypeKeys(item, depth - 1));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !PROTOTYPE_KEYS.includes(key))
      .map(([key, inner]) => [key, withoutPrototypeKeys(inner, depth - 1)]),
  );
}

export function without(object: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
}
