/** `{{name}}`, with or without blanks around the name. */
const PLACEHOLDER = /\{\{\s*([^{}\s]+)\s*\}\}/g;
const ONE_PLACEHOLDER = /^\{\{\s*([^{}\s]+)\s*\}\}$/;

/** Returns the names that a text has placeholders for. */
export function placeholdersIn(template: string): readonly string[] {
  return Array.from(template.matchAll(PLACEHOLDER), (match) => match[1] as string);
}

/** Returns the name in a text that is nothing but a placeholder. */
export function onlyPlaceholder(template: string): string | undefined {
  return ONE_PLACEHOLDER.exec(template)?.[1];
}

/** Puts a text in place of each placeholder, once; `undefined` leaves it as it is. */
export function replacePlaceholders(template: string, textOf: (name: string) => string | undefined): string {
  return template.replace(PLACEHOLDER, (placeholder, name: string) => textOf(name) ?? placeholder);
}
