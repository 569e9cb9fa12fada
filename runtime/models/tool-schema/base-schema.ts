import { isJsonObject, type JsonObject, type JsonValue, objectOf, objectsIn, textsIn, without } from '../../util/json';
import { isOfType, mapSubschemas } from '../../util/json-schema/subschemas';
import { alternativesNote, mergeAlternatives, mergeBoth } from './merge-schemas';
import { resolveSchema } from './subschemas';

/** An argument schema as it is sent to a model. */
export interface OfferedSchema {
  readonly schema: JsonObject;
  /** Constraints that the schema lost, for the tool's description; empty if there are none. */
  readonly note: string;
}

/**
 * Rewrites an argument schema to the form that OpenAI and Anthropic accept: an object at the root without combinators, arrays
 * with `items`, `required` names that exist, keywords of draft 2020-12. Returns the same object if nothing changes. Arguments
 * are still validated against the original schema.
 *
 * Sources: OpenAI, "Function calling" and the errors `invalid_function_parameters`; Anthropic, "Tool use", `input_schema`.
 */
export function baseSchema(schema: JsonObject): OfferedSchema {
  const tidy = tidySchema(schema);
  if (tidy === schema && isPlainRoot(tidy)) return { schema, note: '' };
  const offered = isPlainRoot(tidy) ? { schema: without(tidy, '$schema'), note: '' } : plainRoot(tidy);
  const length = JSON.stringify(schema).length;
  const moved = { before: schema, after: offered.schema, left: length, sizes: new Map<JsonObject, number>() };
  return { ...offered, schema: inlineMoved(offered.schema, moved, 0) };
}

function tidySchema(schema: JsonObject): JsonObject {
  return tidyRequired(tidyLimits(tidyItems(mapSubschemas(schema, tidySchema))));
}

interface Moved {
  readonly before: JsonObject;
  readonly after: JsonObject;
  /** Characters left for inlined references. */
  left: number;
  readonly sizes: Map<JsonObject, number>;
}

/** Limit of references inlined within one another: they may be circular. */
const MAX_INLINED = 8;

/** Inlines references to parts of the original schema that are elsewhere now. Drops those that lead nowhere. */
function inlineMoved(schema: JsonObject, moved: Moved, depth: number): JsonObject {
  const { $ref: pointer, ...rest } = schema;
  if (typeof pointer !== 'string' || resolveSchema(moved.after, pointer) !== undefined) {
    return mapSubschemas(schema, (inner) => inlineMoved(inner, moved, depth));
  }
  const target = resolveSchema(moved.before, pointer);
  if (target !== undefined) moved.left -= sizeOf(target, moved.sizes);
  if (target === undefined || moved.left < 0 || depth === MAX_INLINED) return rest;
  return inlineMoved({ ...tidySchema(target), ...rest }, moved, depth + 1);
}

function sizeOf(schema: JsonObject, sizes: Map<JsonObject, number>): number {
  const size = sizes.get(schema) ?? JSON.stringify(schema).length;
  sizes.set(schema, size);
  return size;
}

/** Adds `items` to arrays without it. A list of items is a tuple in older drafts. */
function tidyItems(schema: JsonObject): JsonObject {
  const { items, type } = schema;
  if (Array.isArray(items)) {
    const { items: _items, additionalItems, ...rest } = schema;
    return { ...rest, prefixItems: items, items: objectOf(additionalItems) };
  }
  return items === undefined && isOfType(type, 'array') ? { ...schema, items: {} } : schema;
}

/** Converts the exclusive limits of draft 4, which are flags next to the limit. */
function tidyLimits(schema: JsonObject): JsonObject {
  if (typeof schema.exclusiveMinimum !== 'boolean' && typeof schema.exclusiveMaximum !== 'boolean') return schema;
  const { exclusiveMinimum, exclusiveMaximum, minimum, maximum, ...rest } = schema;
  return {
    ...rest,
    ...limit({ inclusive: 'minimum', exclusive: 'exclusiveMinimum' }, minimum, exclusiveMinimum),
    ...limit({ inclusive: 'maximum', exclusive: 'exclusiveMaximum' }, maximum, exclusiveMaximum),
  };
}

function limit(
  names: { readonly inclusive: string; readonly exclusive: string },
  value: JsonValue | undefined,
  exclusive: JsonValue | undefined,
): JsonObject {
  const found: [string, JsonValue | undefined][] = [
    [exclusive === true ? names.exclusive : names.inclusive, value],
    [names.exclusive, typeof exclusive === 'boolean' ? undefined : exclusive],
  ];
  return Object.fromEntries(found.filter((entry): entry is [string, JsonValue] => entry[1] !== undefined));
}

/** Declares `required` names that have no property. Drops `required: true` of older drafts. */
function tidyRequired(schema: JsonObject): JsonObject {
  const { required, properties, additionalProperties: others } = schema;
  if (required === undefined) return schema;
  if (!Array.isArray(required)) return without(schema, 'required');
  if (!isJsonObject(properties)) return schema;
  if ((required as JsonValue[]).every((name) => Object.hasOwn(properties, name as string))) return schema;
  const names = textsIn(required);
  const missing = names.filter((name) => !Object.hasOwn(properties, name));
  if (missing.length === 0) return schema;
  const added = missing.map((name) => [name, isJsonObject(others) ? others : {}] as const);
  return { ...schema, properties: { ...properties, ...Object.fromEntries(added) } };
}

/** Keywords that providers refuse at the root. */
const COMBINATORS = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', '$ref'] as const;

function isPlainRoot(schema: JsonObject): boolean {
  const { type, properties } = schema;
  return type === 'object' && isJsonObject(properties) && !COMBINATORS.some((key) => schema[key] !== undefined);
}

const MAX_NOTE_CHARS = 300;

function plainRoot(root: JsonObject): OfferedSchema {
  const notes: string[] = [];
  const {
    not,
    enum: values,
    const: value,
    ...rest
  } = withoutCombinators(root, { root, notes, isRoot: true, budget: { left: MAX_MERGED } });
  const dropped = Object.entries({ not, enum: values, const: value }).filter(([, found]) => found !== undefined);
  if (dropped.length > 0) {
    const text = JSON.stringify(Object.fromEntries(dropped));
    if (text.length < MAX_NOTE_CHARS) notes.push(`The arguments must match the JSON Schema ${text}.`);
  }
  const properties = isJsonObject(rest.properties) ? rest.properties : {};
  return { schema: tidyRequired({ ...rest, type: 'object', properties }), note: notes.join(' ') };
}

interface Resolving {
  readonly root: JsonObject;
  readonly notes: string[];
  readonly isRoot: boolean;
  /** Bounds the work, since references may be circular. */
  readonly budget: { left: number };
}

const MAX_MERGED = 50;
const MAX_PARTS = 100;

function withoutCombinators(schema: JsonObject, at: Resolving): JsonObject {
  const { $schema: _draft, $ref: pointer, allOf, anyOf, oneOf, ...rest } = schema;
  if (at.budget.left-- <= 0) return rest;
  const inner = { ...at, isRoot: false };
  const target = typeof pointer === 'string' ? resolveSchema(at.root, pointer) : undefined;
  const demanded = [...(target === undefined ? [] : [target]), ...objectsIn(allOf).slice(0, MAX_PARTS)];
  const merged = demanded.reduce<JsonObject>((both, one) => mergeBoth(both, withoutCombinators(one, inner)), rest);
  return [anyOf, oneOf].reduce<JsonObject>((whole, list) => {
    const alternatives = objectsIn(list)
      .slice(0, MAX_MERGED)
      .map((one) => withoutCombinators(one, inner));
    if (alternatives.length === 0) return whole;
    const note = alternativesNote(alternatives);
    if (note !== '' && at.isRoot) at.notes.push(note);
    return mergeAlternatives(whole, alternatives);
  }, merged);
}
