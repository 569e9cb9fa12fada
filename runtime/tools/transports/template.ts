import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { onlyPlaceholder, placeholdersIn, replacePlaceholders } from '../../util/text/placeholders';

/** The names that a template asks for: `{{name}}`, where the argument of that name goes. */
export function placeholdersOf(template: JsonValue): readonly string[] {
  if (typeof template === 'string') return placeholdersIn(template);
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
  return replacePlaceholders(template, (name) => encode(argumentText(input, name) ?? ''));
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
  const name = onlyPlaceholder(template);
  if (name === undefined) return fillText(template, input);
  return Object.hasOwn(input, name) ? input[name] : undefined;
}
