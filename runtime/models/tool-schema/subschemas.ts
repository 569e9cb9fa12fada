import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';

type Place = 'schema' | 'list' | 'map';

const PLACES: Readonly<Record<string, Place>> = {
  items: 'schema',
  additionalItems: 'schema',
  additionalProperties: 'schema',
  contains: 'schema',
  not: 'schema',
  if: 'schema',
  then: 'schema',
  else: 'schema',
  anyOf: 'list',
  oneOf: 'list',
  allOf: 'list',
  prefixItems: 'list',
  properties: 'map',
  patternProperties: 'map',
  $defs: 'map',
  definitions: 'map',
  dependentSchemas: 'map',
};

/** Applies `change` to each direct subschema. Returns the same object if nothing changes. */
export function mapSubschemas(schema: JsonObject, change: (inner: JsonObject) => JsonObject): JsonObject {
  let changed: Record<string, JsonValue> | undefined;
  for (const key in schema) {
    const value = schema[key] as JsonValue;
    if (typeof value !== 'object' || value === null || !Object.hasOwn(PLACES, key)) continue;
    const after = inPlace(value, PLACES[key] as Place, change);
    if (after !== value) (changed ??= { ...schema })[key] = after;
  }
  return changed ?? schema;
}

function inPlace(value: JsonValue, place: Place, change: (inner: JsonObject) => JsonObject): JsonValue {
  if (Array.isArray(value)) return place === 'map' ? value : mapList(value as readonly JsonValue[], change);
  if (!isJsonObject(value)) return value;
  return place === 'schema' ? change(value) : mapValues(value, change);
}

function mapList(values: readonly JsonValue[], change: (inner: JsonObject) => JsonObject): JsonValue {
  const after = values.map((value) => (isJsonObject(value) ? change(value) : value));
  return after.some((value, index) => value !== values[index]) ? after : values;
}

function mapValues(values: JsonObject, change: (inner: JsonObject) => JsonObject): JsonObject {
  let changed: Record<string, JsonValue> | undefined;
  for (const key in values) {
    const value = values[key] as JsonValue;
    const after = isJsonObject(value) ? change(value) : value;
    if (after !== value) (changed ??= { ...values })[key] = after;
  }
  return changed ?? values;
}

/** Resolves a local reference (`#/$defs/Order`). Returns undefined if it cannot be resolved. */
export function resolvePointer(root: JsonObject, pointer: string): JsonObject | undefined {
  if (pointer === '#') return root;
  if (!pointer.startsWith('#/')) return undefined;
  let found: JsonValue | undefined = root;
  for (const part of pointer.slice(2).split('/')) {
    const key = decodePart(part);
    const isIn: boolean = typeof found === 'object' && found !== null && Object.hasOwn(found, key);
    found = isIn ? (found as JsonObject)[key] : undefined;
  }
  return isJsonObject(found) ? found : undefined;
}

function decodePart(part: string): string {
  const plain = part.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}

/** Returns the object schemas of a list; empty for any other value. */
export function schemasIn(list: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? (list as JsonValue[]).filter(isJsonObject) : [];
}

export function namesIn(list: JsonValue | undefined): readonly string[] {
  return Array.isArray(list) ? (list as JsonValue[]).filter((name) => typeof name === 'string') : [];
}
