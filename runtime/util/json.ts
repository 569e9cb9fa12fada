export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** True for a plain JSON object: not null, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Deeper values overflow the stack of whatever serialises them again; nothing honest is near this. */
export const MAX_JSON_DEPTH = 200;

/** The parsed value, or a sentence on what is wrong: the parser's own, or that it is nested too deeply. */
export function tryParseJson(text: string): { ok: true; value: JsonValue } | { ok: false; reason: string } {
  try {
    const value = JSON.parse(text) as JsonValue;
    if (isDeeperThan(value, MAX_JSON_DEPTH))
      return { ok: false, reason: `nested deeper than ${MAX_JSON_DEPTH} levels` };
    return { ok: true, value };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** True when arrays and objects stand in one another more than `levels` times. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}

/** JSON with the keys of every object in order, so that equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return writeCanonical(value) ?? 'null';
}

/** Written out by hand, since it stands in the way of every tool call and JSON.stringify with a replacer is several times slower. */
function writeCanonical(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
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

/** The first key within a value that could reach a prototype, also as a part of a path such as `a.b`; undefined where there is none. */
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
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !PROTOTYPE_KEYS.includes(key))
      .map(([key, inner]) => [key, withoutPrototypeKeys(inner, depth - 1)]),
  );
}
