import { isJsonObject, type JsonObject, type JsonValue, objectsIn, textsIn } from '../../util/json';

/**
 * Merges two schemas that both apply. The first one wins if keywords conflict. Of two conditions and of two sets of
 * alternatives, the second is weakened: arguments are still validated against the original.
 */
export function mergeBoth(first: JsonObject, second: JsonObject): JsonObject {
  const other = withoutConflicts(first, second);
  const required = [...new Set([...textsIn(first.required), ...textsIn(other.required)])];
  return {
    ...other,
    ...first,
    ...(isJsonObject(first.properties) && isJsonObject(other.properties)
      ? { properties: { ...other.properties, ...first.properties } }
      : {}),
    ...(required.length === 0 ? {} : { required }),
  };
}

const isConditional = ({ if: condition, then, else: otherwise }: JsonObject): boolean =>
  [condition, then, otherwise].some((part) => part !== undefined);
const choicesOf = ({ anyOf, oneOf }: JsonObject): readonly JsonObject[] => [...objectsIn(anyOf), ...objectsIn(oneOf)];

function withoutConflicts(first: JsonObject, second: JsonObject): JsonObject {
  let other = second;
  if (isConditional(first)) {
    const { if: _if, then: _then, else: _else, ...rest } = other;
    other = rest;
  }
  const choices = choicesOf(other);
  if (choices.length === 0 || choicesOf(first).length === 0) return other;
  const { anyOf: _any, oneOf: _one, ...rest } = other;
  return mergeAlternatives(rest, choices);
}

/** Merges alternatives into one object: the union of their properties, the intersection of their required names. */
export function mergeAlternatives(schema: JsonObject, alternatives: readonly JsonObject[]): JsonObject {
  const properties = new Map<string, JsonValue[]>();
  for (const { properties: ofOne } of alternatives) {
    for (const [name, value] of Object.entries(isJsonObject(ofOne) ? ofOne : {})) {
      const known = properties.get(name) ?? [];
      if (!known.includes(value)) properties.set(name, [...known, value]);
    }
  }
  const own = isJsonObject(schema.properties) ? schema.properties : {};
  const [first, ...others] = alternatives.map(({ required }) => new Set(textsIn(required)));
  const common = [...(first ?? [])].filter((name) => others.every((names) => names.has(name)));
  const required = [...new Set([...textsIn(schema.required), ...common])];
  const merged = [...properties].map(([name, values]) => [name, either(values)] as const);
  const all = { ...Object.fromEntries(merged), ...own };
  return {
    ...schema,
    ...(Object.keys(all).length === 0 ? {} : { properties: all }),
    ...(required.length === 0 ? {} : { required }),
  };
}

const MAX_COMPARED_CHARS = 10_000;

/** Returns a choice of schemas; equal ones, which alternatives often repeat, only once. */
function either(values: readonly JsonValue[]): JsonValue {
  const [only = {}] = values;
  if (values.length === 1) return only;
  const texts = values.map((value) => JSON.stringify(value));
  if (texts.join('').length > MAX_COMPARED_CHARS) return { anyOf: values };
  const distinct = values.filter((_value, index) => texts.indexOf(texts[index] as string) === index);
  return distinct.length === 1 ? only : { anyOf: distinct };
}

const MAX_NOTE_CHARS = 400;

/** Describes which arguments belong together. */
export function alternativesNote(alternatives: readonly JsonObject[]): string {
  const sets = alternatives.map(({ required, properties }) => {
    const names = textsIn(required);
    return (names.length > 0 ? names : Object.keys(isJsonObject(properties) ? properties : {})).join(', ');
  });
  const named = [...new Set(sets.filter((names) => names !== ''))];
  return named.length === 0
    ? ''
    : `Give one of these sets of arguments: ${named.join(' | ')}.`.slice(0, MAX_NOTE_CHARS);
}
