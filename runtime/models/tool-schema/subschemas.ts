import { isJsonObject, type JsonObject } from '../../util/json';
import { resolvePointer } from '../../util/json-schema/subschemas';

/** Resolves a local reference to a schema. Returns undefined if it leads to none. */
export function resolveSchema(root: JsonObject, reference: string): JsonObject | undefined {
  const found = resolvePointer(root, reference);
  return isJsonObject(found) ? found : undefined;
}
