import { isJsonObject, isList, type JsonObject, type JsonValue, textsIn } from '../json.ts';

/** Keywords whose value is a schema that is for the value itself, and those that are for a part of it. */
const IN_PLACE: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else']);
const OF_PARTS: ReadonlySet<string> = new Set([
  'prefixItems',
  'items',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
]);
/** Keywords whose value has schemas by name. */
const BY_NAME_IN_PLACE: ReadonlySet<string> = new Set(['dependentSchemas', 'dependencies']);
const BY_NAME: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions']);

interface Place {
  readonly keyword: string;
  /** The subschema applies to the same value as the schema around it. */
  readonly isInPlace: boolean;
}

/** Replaces each direct subschema. Returns the same object if nothing changes. */
export function mapSubschemas(schema: JsonObject, visit: (schema: JsonObject, place: Place) => JsonObject): JsonObject {
  let copy: Record<string, JsonValue> | undefined;
  for (const keyword in schema) {
    const value = schema[keyword] as JsonValue;
    if (typeof value !== 'object' || value === null) continue;
    const after = mapKeyword(keyword, value, visit);
    if (after !== value) (copy ??= { ...schema })[keyword] = after;
  }
  return copy ?? schema;
}

function mapKeyword(
  keyword: string,
  value: JsonObject | readonly JsonValue[],
  visit: Parameters<typeof mapSubschemas>[1],
): JsonValue {
  const isInPlace = IN_PLACE.has(keyword) || BY_NAME_IN_PLACE.has(keyword);
  const replace = (inner: JsonValue): JsonValue => (isJsonObject(inner) ? visit(inner, { keyword, isInPlace }) : inner);
  if (IN_PLACE.has(keyword) || OF_PARTS.has(keyword)) return isList(value) ? mapList(value, replace) : replace(value);
  const isByName = BY_NAME.has(keyword) || BY_NAME_IN_PLACE.has(keyword);
  return isByName && !isList(value) ? mapValues(value, replace) : value;
}

function mapList(values: readonly JsonValue[], replace: (inner: JsonValue) => JsonValue): JsonValue {
  const after = values.map(replace);
  return after.some((value, index) => value !== values[index]) ? after : values;
}

function mapValues(values: JsonObject, replace: (inner: JsonValue) => JsonValue): JsonObject {
  const after = Object.entries(values).map(([name, inner]) => [name, replace(inner)] as const);
  return after.some(([name, inner]) => inner !== values[name]) ? Object.fromEntries(after) : values;
}

/**
 * Resolves a local reference (`#/$defs/Order`). Returns undefined if it leads nowhere. The result may be any value, since a
 * pointer may lead to anything.
 */
export function resolvePointer(root: JsonObject, reference: string): JsonValue | undefined {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let node: JsonValue | undefined = root;
  for (const part of reference.split('/').slice(1)) {
    const key = decodePointer(part);
    const isIn: boolean = typeof node === 'object' && node !== null && Object.hasOwn(node, key);
    node = isIn ? (node as JsonObject)[key] : undefined;
  }
  return node;
}

function decodePointer(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return part.replaceAll('~1', '/').replaceAll('~0', '~');
  }
}

/** Looks at each schema that stands directly in this one. Copies nothing, since a hostile schema has tens of thousands. */
export function eachSubschema(schema: JsonObject, look: (schema: JsonObject, place: Place) => void): void {
  for (const [keyword, value] of Object.entries(schema)) {
    if (typeof value !== 'object' || value === null) continue;
    const place = { keyword, isInPlace: IN_PLACE.has(keyword) || BY_NAME_IN_PLACE.has(keyword) };
    for (const inner of schemasIn(keyword, value)) if (isJsonObject(inner)) look(inner, place);
  }
}

function schemasIn(keyword: string, value: JsonObject | readonly JsonValue[]): readonly JsonValue[] {
  if (IN_PLACE.has(keyword) || OF_PARTS.has(keyword)) return isList(value) ? value : [value];
  return !isList(value) && (BY_NAME.has(keyword) || BY_NAME_IN_PLACE.has(keyword)) ? Object.values(value) : [];
}

/** Counts the values of a schema, without those of its subschemas and of keywords to leave out. */
export function ownSize(schema: JsonObject, leftOut: readonly string[] = []): number {
  let size = 1;
  for (const [keyword, value] of Object.entries(schema)) {
    if (!leftOut.includes(keyword)) size += sizeOf(keyword, value);
  }
  return size;
}

function sizeOf(keyword: string, value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1;
  const schemas = schemasIn(keyword, value);
  if (schemas.length === 0) return countValues(value);
  const sum = schemas.reduce((total: number, inner) => total + (isJsonObject(inner) ? 1 : countValues(inner)), 0);
  // A schema that stands alone is no list of them.
  return schemas.length === 1 && schemas[0] === value ? sum : sum + 1;
}

function countValues(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner: JsonValue) => sum + countValues(inner), 1);
}

/** Reports whether a schema's `type` is this one, or a list that has it. */
export function isOfType(type: JsonValue | undefined, name: string): boolean {
  return type === name || textsIn(type).includes(name);
}
