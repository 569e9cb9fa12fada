import { isJsonObject, type JsonObject, tryParseJson } from '../util/json';

/**
 * An object, or the object that a JSON text holds, also a text within a text, as a TEXT column comes; else empty, with the
 * reason where there is a text that cannot be read.
 */
export function readObject(value: unknown): { readonly value: JsonObject; readonly reason?: string } {
  if (typeof value !== 'string') return { value: isJsonObject(value) ? value : {} };
  if (value.trim() === '') return { value: {} };
  const parsed = tryParseJson(value);
  return parsed.ok ? readObject(parsed.value) : { value: {}, reason: parsed.reason };
}

/** The same where nothing hangs on what cannot be read. */
export function asObject(value: unknown): JsonObject {
  return readObject(value).value;
}
