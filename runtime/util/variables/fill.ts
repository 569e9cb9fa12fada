import { findExcess, isJsonObject, isList, type JsonValue } from '../json';
import { listKeys } from '../known-keys';
import { onlyPlaceholder, replacePlaceholders } from '../text/placeholders';

export type Variables = ReadonlyMap<string, JsonValue>;

/** Replaces `{{name}}`, `{{name.key}}` and `{{name[0]}}` with variables, once: values are never read as templates. */
export interface Filler {
  /** Returns the filled text, with other values than text as JSON and null as nothing. Throws an Error if it is too long. */
  readonly text: (template: string) => string;
  /** Fills all texts in a JSON value. A text that is nothing but a placeholder becomes the value itself. Throws like `text`. */
  readonly json: <T extends JsonValue>(template: T) => T;
  /** Lists paths without a value, which were left as they are: at most ten. Empty where there are none. */
  readonly unknown: () => string;
}

/** The most characters that a filler puts in. */
const MAX_FILLED = 250_000;
const MAX_PLACEHOLDERS = 2000;
const MAX_PATH_LENGTH = 200;
const MAX_UNKNOWN = 10;

const NAME = '[\\p{L}_][\\p{L}\\p{M}\\p{N}_-]{0,63}';
/** Matches a name of a variable: letters of any script, digits, `_` and `-`, beginning with a letter or `_`. */
export const VARIABLE_NAME = new RegExp(`^${NAME}$`, 'u');
const PATH = new RegExp(`^(?<name>${NAME})(?<rest>(?:\\.[\\p{L}\\p{M}\\p{N}_$-]+|\\[\\d{1,9}\\])*)$`, 'u');
const KEY = /[\p{L}\p{M}\p{N}_$-]+/gu;

/**
 * Makes a filler for one use: a prompt, a skill, the arguments of a call.
 *
 * @example createFiller(new Map([['sel', '#id']])).json({ selector: '{{sel}}' }) // { selector: '#id' }
 */
export function createFiller(variables: Variables): Filler {
  const unknown = new Set<string>();
  let filled = 0;
  let seen = 0;
  const take = (text: string): string => {
    filled += text.length;
    if (filled > MAX_FILLED) throw new Error(`its variables hold more than ${MAX_FILLED} characters`);
    return text;
  };
  /** Returns undefined for a path without a value and for what is not a path, such as `{{ $json.id }}`: both stay. */
  const find = (path: string): JsonValue | undefined => {
    const parsed = variables.size === 0 && unknown.size >= MAX_UNKNOWN ? undefined : parsePath(path);
    if (parsed === undefined) return undefined;
    if (++seen > MAX_PLACEHOLDERS) throw new Error(`it has more than ${MAX_PLACEHOLDERS} placeholders`);
    const value = valueAt(variables.get(parsed.name), parsed.keys);
    if (value === undefined && unknown.size < MAX_UNKNOWN) unknown.add(path);
    return value;
  };
  const textAt = (path: string): string | undefined => {
    const value = find(path);
    return value === undefined ? undefined : take(textOf(value));
  };
  const text = (template: string): string => replacePlaceholders(template, textAt);
  const fill = (template: JsonValue): JsonValue => {
    if (typeof template === 'string') {
      const path = onlyPlaceholder(template);
      if (path === undefined) return text(template);
      const value = find(path);
      if (value === undefined) return template;
      take(textOf(value));
      return value;
    }
    if (isList(template)) return template.map(fill);
    if (!isJsonObject(template)) return template;
    return Object.fromEntries(Object.entries(template).map(([key, inner]) => [key, fill(inner)]));
  };
  const json = (template: JsonValue): JsonValue => {
    const filled = fill(template);
    const excess = findExcess(filled);
    if (excess !== undefined) throw new Error(`with its variables it ${excess}`);
    return filled;
  };
  return { text, json: json as Filler['json'], unknown: () => listKeys([...unknown]) };
}

function parsePath(path: string): { readonly name: string; readonly keys: readonly string[] } | undefined {
  if (path.length > MAX_PATH_LENGTH) return undefined;
  const { name, rest = '' } = PATH.exec(path)?.groups ?? {};
  return name === undefined ? undefined : { name, keys: rest.match(KEY) ?? [] };
}

function valueAt(root: JsonValue | undefined, keys: readonly string[]): JsonValue | undefined {
  return keys.reduce<JsonValue | undefined>((at, key) => {
    if (isList(at)) return /^\d+$/.test(key) ? at[Number(key)] : undefined;
    return isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }, root);
}

function textOf(value: JsonValue): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
