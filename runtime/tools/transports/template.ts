import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';

/** `{{name}}`, where the argument of that name goes. */
const PLACEHOLDER = /\{\{\s*([^{}\s]+)\s*\}\}/g;
const ONE_PLACEHOLDER = /^\{\{\s*([^{}\s]+)\s*\}\}$/;

/** The names that a template asks for. */
export function placeholdersOf(template: JsonValue): readonly string[] {
  if (typeof template === 'string') return Array.from(template.matchAll(PLACEHOLDER), (match) => match[1] as string);
  if (typeof template !== 'object' || template === null) return [];
  return Object.values(template as JsonObject).flatMap(placeholdersOf);
}

/**
 * The text with its placeholders filled, or undefined when one of them has no argument. What an argument holds is
 * never read as a template again.
 */
export function fillText(
  template: string,
  input: JsonObject,
  encode: (text: string) => string = (text) => text,
): string | undefined {
  const names = placeholdersOf(template);
  if (names.some((name) => argumentText(input, name) === undefined)) return undefined;
  return template.replace(PLACEHOLDER, (_match, name: string) => encode(argumentText(input, name) ?? ''));
}

/** An argument as text; undefined when it is missing or null. */
export function argumentText(input: JsonObject, name: string): string | undefined {
  const value = Object.hasOwn(input, name) ? input[name] : undefined;
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * The JSON with its placeholders filled. A text that is nothing but a placeholder becomes the argument as it is;
 * what has a placeholder without an argument is left out.
 */
export function fillJson(template: JsonValue, input: JsonObject): JsonValue | undefined {
  if (typeof template === 'string') return fillValue(template, input);
  if (Array.isArray(template)) {
    return template.map((item: JsonValue) => fillJson(item, input)).filter((item) => item !== undefined);
  }
  if (!isJsonObject(template)) return template;
  const filled = Object.entries(template).map(([key, inner]) => [key, fillJson(inner, input)] as const);
  return Object.fromEntries(filled.filter((entry): entry is [string, JsonValue] => entry[1] !== undefined));
}

function fillValue(template: string, input: JsonObject): JsonValue | undefined {
  const name = ONE_PLACEHOLDER.exec(template)?.[1];
  if (name === undefined) return fillText(template, input);
  return Object.hasOwn(input, name) ? input[name] : undefined;
}
