import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { resolvePointer } from '../../util/json-schema/subschemas';

/** Resolves a local reference to a schema. Returns undefined if it leads to none. */
export function resolveSchema(root: JsonObject, reference: string): JsonObject | undefined {
  const found = resolvePointer(root, reference);
  return isJsonObject(found) ? found : undefined;
}

/** Returns the object schemas of a list; empty for any other value. */
export function schemasIn(list: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? (list as JsonValue[]).filter(isJsonObject) : [];
}

export function namesIn(list: JsonValue | undefined): readonly string[] {
  return Array.isArray(list) ? (list as JsonValue[]).filter((name) => typeof name === 'string') : [];
}
