import { isJsonObject, type JsonObject, type JsonValue, objectsIn, textsIn } from '../../util/json';
import { baseSchema, type OfferedSchema } from './base-schema';
import { mergeAlternatives, mergeBoth } from './merge-schemas';
import { resolveSchema } from './subschemas';

/**
 * Rewrites an argument schema to the smallest subset that providers accept. Each schema has one type or is an `anyOf` of such.
 * Further keywords are `description`, `nullable`, `properties`, `required`, `items`, `enum` of non-empty strings and the string
 * formats of Gemini. References are inlined, and limits move into the description. The result is at most about twice as long.
 *
 * Source: Gemini API, "Schema" of function declarations. llama.cpp, Moonshot and xAI accept it too.
 */
export function plainSchema(schema: JsonObject): OfferedSchema {
  const { schema: base, note } = baseSchema(schema);
  const budget = { left: 2 * JSON.stringify(schema).length + SPARE_CHARS };
  return { schema: plainNode(base, { root: schema, path: [], budget }), note };
}

interface Inside {
  readonly root: JsonObject;
  /** The schemas on the path to this one. A reference to one of them is followed once more, then it is circular. */
  readonly path: readonly JsonObject[];
  /** Characters left for the result, since inlined references may multiply. */
  readonly budget: { left: number };
}

const SPARE_CHARS = 5000;
const MAX_DEPTH = 32;
const MAX_CHOICES = 50;
const MAX_PARTS = 100;

function plainNode(value: JsonValue | undefined, inside: Inside): JsonObject {
  if (!isJsonObject(value)) return { type: 'string' };
  const { schema, path } = flatten(value, inside);
  const within = { ...inside, path };
  if (inside.budget.left <= 0 || path.length > MAX_DEPTH) return bare(typeOf(schema));
  const choices = choicesOf(schema);
  return choices === undefined ? plainType(schema, within) : plainChoice(schema, choices, within);
}

function bare(type: string): JsonObject {
  return type === 'array' ? { type, items: { type: 'string' } } : { type };
}

interface Flat {
  readonly schema: JsonObject;
  readonly path: readonly JsonObject[];
}

/** Merges a schema with what it refers to and with the parts of its `allOf`. */
function flatten(value: JsonObject, inside: Inside): Flat {
  inside.budget.left -= sizeOf(value);
  const path = [...inside.path, value];
  const { $ref: pointer, allOf, ...own } = value;
  if (inside.budget.left <= 0 || path.length > MAX_DEPTH) return { schema: own, path };
  const target = typeof pointer === 'string' ? resolveSchema(inside.root, pointer) : undefined;
  const isCircular = path.filter((schema) => schema === target).length > 1;
  if (typeof pointer === 'string' && (target === undefined || isCircular)) {
    return { schema: { ...bare(target === undefined ? 'object' : typeOf(target)), ...own }, path };
  }
  const parts = [...(target === undefined ? [] : [target]), ...objectsIn(allOf).slice(0, MAX_PARTS)];
  return parts.reduce<Flat>(
    (whole, part) => {
      const { schema, path: seen } = flatten(part, { ...inside, path: whole.path });
      return { schema: mergeBoth(whole.schema, schema), path: seen };
    },
    { schema: own, path },
  );
}

/** Estimates the characters of a schema without its subschemas, which are counted by themselves. */
function sizeOf({ description, enum: values, properties, required }: JsonObject): number {
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const texts = [
    description,
    ...(Array.isArray(values) ? (values as JsonValue[]) : []),
    ...names,
    ...textsIn(required),
  ];
  return texts.reduce<number>((sum, text) => sum + (typeof text === 'string' ? text.length : 5) + 5, 20);
}

/** Returns the alternatives of a schema, or undefined if it has none. */
function choicesOf({ anyOf, oneOf, type }: JsonObject): readonly JsonObject[] | undefined {
  const listed = [...objectsIn(anyOf), ...objectsIn(oneOf)];
  if (listed.length > 0) return listed.slice(0, MAX_CHOICES);
  const types = textsIn(type).filter((name) => name !== 'null');
  if (types.length < 2) return undefined;
  return textsIn(type).map((name) => ({ type: name }));
}

function plainChoice(schema: JsonObject, choices: readonly JsonObject[], inside: Inside): JsonObject {
  const { anyOf: _any, oneOf: _one, description = null, type, ...siblings } = schema;
  const flat = choices.map((choice) => flatten(choice, inside));
  if (isJsonObject(siblings.properties)) {
    const merged = mergeAlternatives(
      siblings,
      flat.map((choice) => choice.schema),
    );
    return plainType({ ...merged, type: 'object', ...(description === null ? {} : { description }) }, inside);
  }
  const own: JsonObject = typeof type === 'string' ? { type } : {};
  const isNullable = flat.some((choice) => isNull(choice.schema)) || textsIn(type).includes('null');
  const plain = flat
    .filter((choice) => !isNull(choice.schema))
    .map((choice) => plainNode({ ...own, ...siblings, ...choice.schema }, { ...inside, path: choice.path }));
  const [only = { type: 'string' }, ...others] = withoutRepeated(plain);
  const choice = others.length === 0 ? only : { anyOf: [only, ...others] };
  return decorated(choice, { description, isNullable });
}

function isNull({ type, const: value, enum: values }: JsonObject): boolean {
  return type === 'null' || value === null || (Array.isArray(values) && values.length === 1 && values[0] === null);
}

/** Drops alternatives that are a bare type which is there already. */
function withoutRepeated(choices: readonly JsonObject[]): readonly JsonObject[] {
  const bareTypes = new Set<JsonValue>();
  return choices.filter(({ type = null, ...rest }) => {
    if (Object.keys(rest).length > 0) return true;
    const isNew = !bareTypes.has(type);
    bareTypes.add(type);
    return isNew;
  });
}

interface Decoration {
  readonly description: JsonValue;
  readonly isNullable: boolean;
}

/** Adds what an `anyOf` says to its alternatives, the description to the first, since Gemini accepts an `anyOf` only by itself. */
function decorated(plain: JsonObject, { description, isNullable }: Decoration): JsonObject {
  if (plain.anyOf !== undefined) {
    const [first = {}, ...others] = objectsIn(plain.anyOf);
    const rest = others.map((one) => decorated(one, { description: null, isNullable }));
    return { anyOf: [decorated(first, { description, isNullable }), ...rest] };
  }
  return {
    ...plain,
    ...(typeof description === 'string' && plain.description === undefined ? { description } : {}),
    ...(isNullable ? { nullable: true } : {}),
  };
}

function plainType(schema: JsonObject, inside: Inside): JsonObject {
  const type = typeOf(schema);
  const { description = '' } = schema;
  const words = [typeof description === 'string' ? description : '', hintsOf(schema)].filter((text) => text !== '');
  const { enum: values } = schema;
  const isNullable = textsIn(schema.type).includes('null') || (Array.isArray(values) && values.includes(null));
  const head = {
    type,
    ...(words.length === 0 ? {} : { description: words.join(' ') }),
    ...(isNullable ? { nullable: true } : {}),
  };
  if (type === 'object') return { ...head, ...plainProperties(schema, inside) };
  if (type === 'array') return { ...head, items: plainNode(itemsOf(schema), inside) };
  return type === 'string' ? { ...head, ...textKeywords(schema) } : head;
}

const TYPES: ReadonlySet<string> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean']);

/** Returns the first type other than null. A schema that accepts anything becomes a string. */
function typeOf({ type, properties, items, enum: values, const: value }: JsonObject): string {
  const named = [...textsIn(type), typeof type === 'string' ? type : ''].find((name) => TYPES.has(name));
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
  const names = textsIn(required).filter((name) => Object.hasOwn(properties, name));
  return { properties: Object.fromEntries(plain), ...(names.length === 0 ? {} : { required: names }) };
}

function itemsOf({ items, prefixItems }: JsonObject): JsonValue | undefined {
  const tuple = objectsIn(prefixItems);
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
  const isLost = listed.length <= MAX_CHOICES && listed.some((one) => typeof one !== 'string' && one !== null);
  if (isLost) hints.push(`one of ${JSON.stringify(listed)}`);
  const text = hints.join('; ');
  return text === '' || text.length > MAX_HINT_CHARS ? '' : `(${text})`;
}
