import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';

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

/** What becomes of a schema within a schema. `isInPlace`: it is for the same value as the one around it. */
type Visit = (schema: JsonObject, place: { readonly keyword: string; readonly isInPlace: boolean }) => JsonObject;

/** A copy of the schema with each schema that stands directly in it replaced. */
export function mapSubschemas(schema: JsonObject, visit: Visit): JsonObject {
  const mapped = Object.entries(schema).map(([keyword, value]): [string, JsonValue] => {
    const isInPlace = IN_PLACE.has(keyword) || BY_NAME_IN_PLACE.has(keyword);
    const replace = (inner: JsonValue): JsonValue =>
      isJsonObject(inner) ? visit(inner, { keyword, isInPlace }) : inner;
    if (IN_PLACE.has(keyword) || OF_PARTS.has(keyword)) {
      return [keyword, Array.isArray(value) ? (value as JsonValue[]).map(replace) : replace(value)];
    }
    if (!isJsonObject(value) || !(BY_NAME.has(keyword) || BY_NAME_IN_PLACE.has(keyword))) return [keyword, value];
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, replace(inner)]))];
  });
  return Object.fromEntries(mapped);
}

/** Looks at each schema that stands directly in this one. Copies nothing, since a hostile schema has tens of thousands. */
export function eachSubschema(schema: JsonObject, look: (...given: Parameters<Visit>) => void): void {
  for (const [keyword, value] of Object.entries(schema)) {
    if (typeof value !== 'object' || value === null) continue;
    const place = { keyword, isInPlace: IN_PLACE.has(keyword) || BY_NAME_IN_PLACE.has(keyword) };
    for (const inner of schemasIn(keyword, value)) if (isJsonObject(inner)) look(inner, place);
  }
}

function schemasIn(keyword: string, value: JsonObject | readonly JsonValue[]): readonly JsonValue[] {
  const isList = Array.isArray(value);
  if (IN_PLACE.has(keyword) || OF_PARTS.has(keyword)) return isList ? (value as readonly JsonValue[]) : [value];
  return !isList && (BY_NAME.has(keyword) || BY_NAME_IN_PLACE.has(keyword)) ? Object.values(value) : [];
}

/** What a schema costs by itself: the values in it, those of the schemas within it and of keywords to leave out not counted. */
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
