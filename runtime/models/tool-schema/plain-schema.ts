import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { baseSchema, type OfferedSchema } from './base-schema';
import { mergeAlternatives, mergeBoth } from './merge-schemas';
import { namesIn, resolvePointer, schemasIn } from './subschemas';

/**
 * Rewrites an argument schema to the smallest subset that providers accept. Each schema has one type or is an `anyOf` of such.
 * Further keywords are `description`, `properties`, `required`, `items`, `enum` of non-empty strings and the string formats of
 * Gemini. References are inlined, and limits move into the description.
 *
 * Source: Gemini API, "Schema" of function declarations. llama.cpp, Moonshot and xAI accept it too.
 */
export function plainSchema(schema: JsonObject): OfferedSchema {
  const { schema: base, note } = baseSchema(schema);
  return { schema: plainNode(base, { root: schema, pointers: [], budget: { left: MAX_NODES } }), note };
}

interface Inside {
  readonly root: JsonObject;
  /** References resolved on the path to this schema; one that repeats is circular. */
  readonly pointers: readonly string[];
  readonly budget: { left: number };
}

/** Bounds the output, since inlined references may multiply. */
const MAX_NODES = 2000;
const CHARS_OF_A_NODE = 100;

function plainNode(value: JsonValue | undefined, inside: Inside): JsonObject {
  if (!isJsonObject(value)) return { type: 'string' };
  const { description } = value;
  inside.budget.left -= 1 + (typeof description === 'string' ? description.length / CHARS_OF_A_NODE : 0);
  if (inside.budget.left < 0) return { type: 'object' };
  const { $ref: pointer, allOf, ...rest } = value;
  if (typeof pointer === 'string')
    return resolved(pointer, { ...rest, ...(allOf === undefined ? {} : { allOf }) }, inside);
  if (allOf !== undefined) {
    const parts = schemasIn(allOf).map((part) => direct(part, inside));
    return plainNode(parts.reduce<JsonObject>(mergeBoth, rest), inside);
  }
  const choices = choicesOf(rest);
  return choices === undefined ? plainType(rest, inside) : plainChoice(rest, choices, inside);
}

function resolved(pointer: string, siblings: JsonObject, inside: Inside): JsonObject {
  const target = inside.pointers.includes(pointer) ? undefined : resolvePointer(inside.root, pointer);
  if (target === undefined) return described({ type: 'object' }, siblings);
  return plainNode({ ...target, ...siblings }, { ...inside, pointers: [...inside.pointers, pointer] });
}

/** Resolves a reference without rewriting its target. */
function direct(schema: JsonObject, { root }: Inside): JsonObject {
  const { $ref: pointer, ...rest } = schema;
  return typeof pointer === 'string' ? { ...resolvePointer(root, pointer), ...rest } : schema;
}

const MAX_CHOICES = 100;

/** Returns the alternatives of a schema, or undefined if it has none. */
function choicesOf({ anyOf, oneOf, type }: JsonObject): readonly JsonObject[] | undefined {
  const listed = [...schemasIn(anyOf), ...schemasIn(oneOf)];
  if (listed.length > 0) return listed.slice(0, MAX_CHOICES);
  const types = namesIn(type).filter((name) => name !== 'null');
  return types.length > 1 ? types.map((name) => ({ type: name })) : undefined;
}

function plainChoice(schema: JsonObject, choices: readonly JsonObject[], inside: Inside): JsonObject {
  const { anyOf: _any, oneOf: _one, description, type, ...siblings } = schema;
  const followed = choices.map((choice) => direct(choice, inside));
  if (isJsonObject(siblings.properties)) {
    return plainNode({ ...mergeAlternatives(siblings, followed), type: 'object', ...given({ description }) }, inside);
  }
  const own: JsonObject = typeof type === 'string' ? { type } : {};
  const plain = followed
    .filter((choice) => choice.type !== 'null' && choice.const !== null)
    .map((choice) => plainNode({ ...own, ...siblings, ...choice }, inside));
  const distinct = [...new Map(plain.map((choice) => [JSON.stringify(choice), choice])).values()];
  const [only = { type: 'string' }, ...others] = distinct;
  return described(others.length === 0 ? only : { anyOf: distinct }, { description: description ?? null });
}

function given(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}

/** Adds a missing description; to each alternative of an `anyOf`, which Gemini accepts only by itself. */
function described(plain: JsonObject, { description = null }: JsonObject): JsonObject {
  if (typeof description !== 'string' || plain.description !== undefined) return plain;
  if (plain.anyOf !== undefined) return { anyOf: schemasIn(plain.anyOf).map((one) => described(one, { description })) };
  const { type, ...rest } = plain;
  return { ...given({ type }), description, ...rest };
}

function plainType(schema: JsonObject, inside: Inside): JsonObject {
  const type = typeOf(schema);
  const { description = '' } = schema;
  const words = [typeof description === 'string' ? description : '', hintsOf(schema)].filter((text) => text !== '');
  const head = { type, ...(words.length === 0 ? {} : { description: words.join(' ') }) };
  if (type === 'object') return { ...head, ...plainProperties(schema, inside) };
  if (type === 'array') return { ...head, items: plainNode(itemsOf(schema), inside) };
  return type === 'string' ? { ...head, ...textKeywords(schema) } : head;
}

const TYPES: ReadonlySet<string> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean']);

/** Returns the first type other than null. A schema that accepts anything becomes a string. */
function typeOf({ type, properties, items, enum: values, const: value }: JsonObject): string {
  const named = [...namesIn(type), typeof type === 'string' ? type : ''].find((name) => TYPES.has(name));
  if (named !== undefined) return named;
  if (properties !== undefined) return 'object';
  if (items !== undefined) return 'array';
  const example = Array.isArray(values) ? (values as JsonValue[])[0] : value;
  const kind = Array.isArray(example) ? 'array' : typeof example;
  return TYPES.has(kind) && example !== null ? kind : 'string';
}

function plainProperties({ properties, required }: JsonObject, inside: Inside): JsonObject {
  if (!isJsonObject(properties)) return {};
  const plain = Object.entries(properties).map(([name, value]) => [name, plainNode(value, inside)] as const);
  const names = namesIn(required).filter((name) => Object.hasOwn(properties, name));
  return { properties: Object.fromEntries(plain), ...(names.length === 0 ? {} : { required: names }) };
}

function itemsOf({ items, prefixItems }: JsonObject): JsonValue | undefined {
  const tuple = schemasIn(prefixItems);
  return tuple.length === 0 ? items : { anyOf: tuple };
}

const FORMATS: ReadonlySet<JsonValue> = new Set(['enum', 'date-time']);

function textKeywords({ enum: values, const: value, format }: JsonObject): JsonObject {
  const listed = Array.isArray(values) ? (values as JsonValue[]) : value === undefined ? [] : [value];
  // Gemini accepts non-empty strings only.
  const texts = listed.filter((text) => typeof text === 'string' && text !== '');
  return {
    ...(texts.length === 0 ? {} : { enum: texts }),
    ...(format !== undefined && FORMATS.has(format) && texts.length === 0 ? { format } : {}),
  };
}

/** Keywords that move into the description. */
const HINTS: Readonly<Record<string, string>> = {
  minimum: 'at least',
  maximum: 'at most',
  exclusiveMinimum: 'more than',
  exclusiveMaximum: 'less than',
  multipleOf: 'a multiple of',
  minLength: 'characters at least',
  maxLength: 'characters at most',
  pattern: 'pattern',
  format: 'format',
  minItems: 'items at least',
  maxItems: 'items at most',
  default: 'default',
};
const MAX_HINT_CHARS = 200;

function hintsOf(schema: JsonObject): string {
  const hints = Object.entries(HINTS).flatMap(([key, words]) => {
    const value = schema[key] ?? null;
    const isKept = value === null || typeof value === 'object' || (key === 'format' && FORMATS.has(value));
    return isKept ? [] : [`${words} ${String(value)}`];
  });
  const { enum: values, const: value = null } = schema;
  const listed = [...(Array.isArray(values) ? (values as JsonValue[]) : []), ...(value === null ? [] : [value])];
  if (listed.some((one) => typeof one !== 'string')) hints.push(`one of ${JSON.stringify(listed)}`);
  const text = hints.join('; ');
  return text === '' || text.length > MAX_HINT_CHARS ? '' : `(${text})`;
}
