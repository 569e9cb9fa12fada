import { isJsonObject, type JsonObject, type JsonValue, without } from '../util/json';
import { hideFromSchema } from './hide-from-schema';

/** The arguments that the rules fix, for one tool: the model neither sees nor sets them. */
export interface FixedArguments {
  /** The names at the top of the arguments under which there is something fixed. */
  readonly names: readonly string[];
  /** The arguments with the fixed ones laid over them; or the name of one that has no place in what was given. */
  readonly lay: (input: JsonObject) => { readonly value: JsonObject } | { readonly misplaced: string };
  /** The arguments without the fixed ones. */
  readonly strip: (input: JsonObject) => JsonObject;
  /** The schema as the model is shown it. */
  readonly hide: (schema: JsonObject) => JsonObject;
}

type Path = readonly [string, ...string[]];

/** `a.b` is the argument `b` within `a`, unless the schema declares an argument with the dot in its name. */
export function fixArguments(fixed: JsonObject, { properties }: JsonObject): FixedArguments {
  const isDeclared = (name: string): boolean => isJsonObject(properties) && Object.hasOwn(properties, name);
  const all = Object.entries(fixed).map(([name, value]) => {
    const parts = name.split('.') as [string, ...string[]];
    const path: Path = isDeclared(name) || parts.includes('') ? [name] : parts;
    return { name, path, value };
  });
  // The name with the dot too: a server might take it for the path.
  const strip = (input: JsonObject): JsonObject =>
    all.reduce((left, { name, path }) => stripAt(stripAt(left, [name]), path) as JsonObject, input);
  return {
    names: all.map(({ path }) => path[0]),
    lay: (input) => {
      let value = strip(input);
      for (const { name, path, value: own } of all) {
        const laid = layAt(value, path, own);
        if (laid === undefined) return { misplaced: name };
        value = laid as JsonObject;
      }
      return { value };
    },
    strip,
    hide: (schema) => all.reduce((shown, { path }) => hideFromSchema(shown, path), schema),
  };
}

/**
 * Lays a value at a path, in every entry where there is a list; undefined where there is neither object nor entry to
 * lay it into.
 */
function layAt(value: JsonValue | undefined, path: readonly string[], own: JsonValue): JsonValue | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return own;
  if (Array.isArray(value)) {
    const entries = (value as JsonValue[]).map((entry) => layAt(entry, path, own));
    return entries.length === 0 || entries.includes(undefined) ? undefined : (entries as JsonValue[]);
  }
  const object = value ?? {};
  if (!isJsonObject(object)) return undefined;
  const inner = layAt(Object.hasOwn(object, key) ? object[key] : undefined, rest, own);
  return inner === undefined ? undefined : { ...object, [key]: inner };
}

/** An object that nothing is left of goes too: it comes back with what is fixed. */
function stripAt(value: JsonValue, path: readonly [string, ...string[]]): JsonValue {
  if (Array.isArray(value)) return (value as JsonValue[]).map((entry) => stripAt(entry, path));
  const [key, next, ...rest] = path;
  if (!isJsonObject(value) || !Object.hasOwn(value, key)) return value;
  const left = next === undefined ? {} : stripAt(value[key] as JsonValue, [next, ...rest]);
  if (!isJsonObject(left) || Object.keys(left).length > 0) return { ...value, [key]: left };
  return without(value, key);
}
