import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { namesIn, schemasIn } from './subschemas';

/** Merges two schemas that both apply. The first one wins if keywords conflict. */
export function mergeBoth(first: JsonObject, second: JsonObject): JsonObject {
  const required = [...new Set([...namesIn(first.required), ...namesIn(second.required)])];
  return {
    ...second,
    ...first,
    ...(isJsonObject(first.properties) && isJsonObject(second.properties)
      ? { properties: { ...second.properties, ...first.properties } }
      : {}),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** Merges alternatives into one object: the union of their properties, the intersection of their required names. */
export function mergeAlternatives(schema: JsonObject, alternatives: readonly JsonObject[]): JsonObject {
  const properties = new Map<string, JsonValue>();
  for (const { properties: ofOne } of alternatives) {
    for (const [name, value] of Object.entries(isJsonObject(ofOne) ? ofOne : {})) {
      properties.set(name, either(properties.get(name), value));
    }
  }
  const own = isJsonObject(schema.properties) ? schema.properties : {};
  const [first = [], ...others] = alternatives.map(({ required }) => namesIn(required));
  const common = first.filter((name) => others.every((names) => names.includes(name)));
  const required = [...new Set([...namesIn(schema.required), ...common])];
  return {
    ...schema,
    properties: { ...Object.fromEntries(properties), ...own },
    ...(required.length === 0 ? {} : { required }),
  };
}

function either(one: JsonValue | undefined, other: JsonValue): JsonValue {
  if (one === undefined) return other;
  const choices = isJsonObject(one) && Object.keys(one).length === 1 ? schemasIn(one.anyOf) : [];
  const known: readonly JsonValue[] = choices.length === 0 ? [one] : choices;
  const text = JSON.stringify(other);
  return known.some((choice) => JSON.stringify(choice) === text) ? one : { anyOf: [...known, other] };
}

const MAX_NOTE_CHARS = 400;

/** Describes which arguments belong together. */
export function alternativesNote(alternatives: readonly JsonObject[]): string {
  const sets = alternatives.map(({ required, properties }) => {
    const names = namesIn(required);
    return (names.length > 0 ? names : Object.keys(isJsonObject(properties) ? properties : {})).join(', ');
  });
  const named = [...new Set(sets.filter((names) => names !== ''))];
  return named.length === 0
    ? ''
    : `Give one of these sets of arguments: ${named.join(' | ')}.`.slice(0, MAX_NOTE_CHARS);
}
