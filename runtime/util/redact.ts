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
      forms.add(JSON.stringify(part).slice(1, -1));
      forms.add(encodeURIComponent(part));
    }
  }
  const ordered = [...forms].sort((a, b) => b.length - a.length);
  if (ordered.length === 0) return (text) => text;
  return (text) => ordered.reduce((clean, form) => (clean.includes(form) ? clean.replaceAll(form, MARK) : clean), text);
}

/** "Bearer abc" hides both the header and the bare token, since a server may echo either. */
function secretParts(secret: string | undefined): string[] {
  if (secret === undefined) return [];
  const token = /^(?:bearer|basic|token|apikey)\s+(.+)$/i.exec(secret)?.[1];
  return [secret, token ?? ''].filter((part) => part.length >= MIN_SECRET_LENGTH);
}
