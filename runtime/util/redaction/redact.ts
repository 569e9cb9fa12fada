import { ExactInteger } from '../exact-integer';
import type { JsonValue } from '../json';
import { replaceAny } from '../text/replace-any';
import type { TextStream } from '../text/replace-in-pieces';
import { MARK } from './redact-forms';

/** Shorter values would blank out ordinary words. */
const MIN_SECRET_LENGTH = 6;

export interface Redact {
  (text: string): string;
  /** Redacts a text that arrives in pieces. The results, joined, equal the redacted whole. */
  readonly stream: () => TextStream;
}

/** Both, one after the other. */
export function redactBoth(first: Redact | undefined, second: Redact): Redact {
  if (first === undefined) return second;
  const stream = (): TextStream => {
    const [one, other] = [first.stream(), second.stream()];
    return {
      push: (piece) => other.push(one.push(piece)),
      end: () => other.push(one.end()) + other.end(),
    };
  };
  return Object.assign((text: string) => second(first(text)), { stream });
}

/** Returns every text unchanged. */
export const redactNothing: Redact = Object.assign((text: string) => text, {
  stream: (): TextStream => ({ push: (piece) => piece, end: () => '' }),
});

/**
 * A function that blanks every occurrence of the given secrets and of what they are put together from, as they are and
 * as JSON, base64 or a URL would write them. To be made once, since it works out all of these.
 */
export function createRedactor(secrets: Iterable<string | undefined>): Redact {
  const forms = new Set<string>();
  for (const secret of secrets)
    for (const part of secretParts(secret)) for (const form of formsOf(part)) forms.add(form);
  return forms.size === 0 ? redactNothing : replaceAny([...forms], MARK);
}

/** The secret as servers may write it. */
function formsOf(part: string): readonly string[] {
  const base64 = Buffer.from(part).toString('base64').replace(/=+$/, '');
  const texts = [part, base64, base64.replaceAll('+', '-').replaceAll('/', '_')];
  return texts.flatMap((text) => {
    if (/^[\w.-]+$/.test(text)) return [text];
    const escaped = JSON.stringify(text).slice(1, -1);
    const encoded = encodeURIComponent(text.toWellFormed());
    // Some servers escape the slash in JSON too, and all that is neither letter nor digit in a URL, also in small letters.
    const strict = encoded.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
    const urls = [encoded, strict, encoded.replaceAll('%20', '+'), strict.replaceAll('%20', '+')];
    return [text, escaped, escaped.replaceAll('/', '\\/'), ...urls, ...urls.map(withSmallHex)];
  });
}

function withSmallHex(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

/** The value with secrets blanked in its texts, keys and numbers, however its JSON had escaped them. */
export function redactJson(value: JsonValue, redact: Redact): JsonValue {
  return typeof value === 'object' && value !== null && isCleanAsText(value, redact)
    ? value
    : redactEach(value, redact);
}

/**
 * One look at all texts of a value together, which takes a tenth of the time. Where JSON had to escape something, a
 * secret may read otherwise in it than in the text itself, so then it does not count.
 */
function isCleanAsText(value: JsonValue, redact: Redact): boolean {
  const text = JSON.stringify(value);
  return !text.includes('\\') && redact(text) === text;
}

function redactEach(value: JsonValue, redact: Redact): JsonValue {
  if (typeof value === 'string') return redact(value);
  if (typeof value === 'number' || value instanceof ExactInteger) {
    return redact(String(value)) === String(value) ? value : MARK;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => redactEach(item, redact));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redact(key), redactEach(inner, redact)]));
}

/**
 * What a server may echo of a secret: of "Bearer abc" the bare token, of "Basic …" and of a URL the user and the
 * password in it.
 */
function secretParts(secret: string | undefined): readonly string[] {
  if (secret === undefined) return [];
  const [, scheme = '', token = secret] = /^([a-z][\w-]*)\s+(\S+)$/i.exec(secret) ?? [];
  const credentials = scheme.toLowerCase() === 'basic' ? credentialsIn(token) : bareCredentials(token);
  const parts = [secret, token, ...credentials, ...urlParts(secret)];
  return parts.filter((part) => part.length >= MIN_SECRET_LENGTH);
}

/** What base64 behind "Basic" holds, as older servers read it too. */
function credentialsIn(base64: string): readonly string[] {
  const bytes = Buffer.from(base64, 'base64');
  return (['utf8', 'latin1'] as const).flatMap((encoding) => {
    // Such as the line break that `echo` writes.
    const text = bytes.toString(encoding).replace(/^\p{C}+|\p{C}+$/gu, '');
    const colon = text.indexOf(':');
    return colon < 0 ? [] : [text, ...userAndPassword(text.slice(0, colon), text.slice(colon + 1))];
  });
}

/**
 * The same where the scheme may stand elsewhere, as with `Basic vault:NAME`: only of what can be nothing but
 * "user:password".
 */
function bareCredentials(text: string): readonly string[] {
  if (!/^[\w+/-]+={0,2}$/.test(text)) return [];
  const decoded = Buffer.from(text, 'base64').toString('utf8');
  // What is no text is no credential, and what begins with a bracket or a quote is JSON.
  const isCredential = /^[^\s:"'{}[\]<>]*:\P{C}*$/u.test(decoded) && !decoded.includes('\uFFFD');
  return isCredential ? credentialsIn(text) : [];
}

function urlParts(text: string): readonly string[] {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null || (url.username === '' && url.password === '')) return [];
  return [url.password, ...userAndPassword(decoded(url.username), decoded(url.password))];
}

/** The text percent-decoded, or as it is where that fails. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const MIN_USER_LENGTH = 8;

/** Some services take their key for the user, and no password. Else a user is no secret if it could be a word. */
function userAndPassword(user = '', password = ''): readonly string[] {
  const isWord = user.length < MIN_USER_LENGTH || /^[a-z]+$/i.test(user);
  return isWord && password !== '' ? [password] : [user, password];
}
