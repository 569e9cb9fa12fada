import type { JsonValue } from './json';

const MARK = '[redacted]';
/** Shorter values would blank out ordinary words. */
const MIN_SECRET_LENGTH = 6;

export type Redact = (text: string) => string;

/** A function that blanks every occurrence of the given secrets, as they are and as JSON or a URL would write them. */
export function createRedactor(secrets: Iterable<string | undefined>): Redact {
  const forms = new Set<string>();
  for (const secret of secrets) {
    for (const part of secretParts(secret)) {
      forms.add(part);
      const escaped = JSON.stringify(part).slice(1, -1);
      forms.add(escaped);
      // Some servers escape the slash in JSON too.
      forms.add(escaped.replaceAll('/', '\\/'));
      forms.add(encodeURIComponent(part.toWellFormed()));
    }
  }
  const ordered = [...forms].sort((a, b) => b.length - a.length);
  if (ordered.length === 0) return (text) => text;
  return (text) => ordered.reduce((clean, form) => (clean.includes(form) ? clean.replaceAll(form, MARK) : clean), text);
}

/** The value with secrets blanked in its texts, keys and numbers, however its JSON had escaped them. */
export function redactJson(value: JsonValue, redact: Redact): JsonValue {
  if (typeof value === 'string') return redact(value);
  if (typeof value === 'number') return redact(String(value)) === String(value) ? value : MARK;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => redactJson(item, redact));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redact(key), redactJson(inner, redact)]));
}

/** "Bearer abc" hides both the header and the bare token, since a server may echo either. */
function secretParts(secret: string | undefined): string[] {
  if (secret === undefined) return [];
  const token = /^(?:bearer|basic|token|apikey)\s+(.+)$/i.exec(secret)?.[1];
  return [secret, token ?? ''].filter((part) => part.length >= MIN_SECRET_LENGTH);
}
