import type { JsonValue } from './json';
import { replaceAny } from './text/replace-any';

const MARK = '[redacted]';
/** Shorter values would blank out ordinary words. */
const MIN_SECRET_LENGTH = 6;

export interface Redact {
  (text: string): string;
  /** Where in the text a secret may have begun that the next piece of a stream could complete; its length: nowhere. */
  readonly mayBeginAt?: (text: string) => number;
}

/** A line break or another character as JSON writes it: its letter is no part of the word that follows. */
const ESCAPE = String.raw`(?<=\\[bfnrt])`;
/** Where a word begins. */
const START = String.raw`(?:\b|${ESCAPE})`;
const TOKEN = String.raw`(?:[A-Za-z0-9._~+/-]|\\/)`;

/**
 * What is a secret by its form alone: keys of well-known services, tokens of GitHub, Slack and Telegram, JSON Web Tokens,
 * private keys, credentials in a URL, and what follows "Bearer" or "Basic". Only forms that ordinary text does not have.
 */
const SECRET_FORMS = new RegExp(
  [
    String.raw`${START}sk-[A-Za-z0-9_-]{16,}`,
    String.raw`${START}[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`,
    String.raw`${START}(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
    String.raw`${START}AIza[A-Za-z0-9_-]{35}`,
    String.raw`(?:(?<![A-Za-z0-9])|${ESCAPE})gh[pousr]_[A-Za-z0-9]{30,}`,
    String.raw`${START}github_pat_[A-Za-z0-9_]{30,}`,
    String.raw`${START}xox[abposr]-[A-Za-z0-9-]{10,}`,
    String.raw`(?<!\d)\d{8,10}(?::|%3A)AA[A-Za-z0-9_-]{33}`,
    // Not within a longer run of the same characters, or a text of many beginnings would be read once for each.
    String.raw`(?:(?<![A-Za-z0-9_-])|${ESCAPE})eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`,
    String.raw`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?:\s|\\[nr])*(?:Proc-Type|DEK-Info):[A-Za-z0-9, -]*)*[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`,
    // What follows the colon may be a port and a text behind it.
    String.raw`(?<=\b[a-z][a-z0-9+.-]{1,20}:\\?\/\\?\/[^\s/:@]{0,100}:)(?!\d{1,5}[?#,;)\]'])[^\s/@"<>]{3,200}(?=@)`,
    // The same within an address that is quoted.
    String.raw`(?<=%3A%2F%2F[^\s&%]{0,100}%3A)[^\s&%]{3,200}(?=%40)`,
    // Words have no digits, and no end of base64.
    String.raw`(?<=(?:\b|\\[bfnrt])(?:[Bb]earer|BEARER|[Bb]asic|BASIC) )(?=${TOKEN}*[0-9]|${TOKEN}+=|[A-Za-z]{0,40}[a-z][A-Z]+[a-z]+[A-Z])${TOKEN}{16,}=*`,
  ].join('|'),
  'g',
);

/** The text without what is a secret by its form. */
export function redactForms(text: string): string {
  return text.replace(SECRET_FORMS, MARK);
}

/** All of these forms are words of ASCII, some behind another word; a private key ends where it says so. */
redactForms.mayBeginAt = (text: string): number => {
  const key = text.lastIndexOf('-----BEGIN ');
  const words = /(?:[!-~]{1,200}\s{1,5})?[!-~]{0,2000}$/.exec(text)?.index ?? text.length;
  return key === -1 || text.includes('-----END ', key) ? words : Math.min(key, words);
};

/** Both, one after the other. */
export function redactBoth(first: Redact | undefined, second: Redact): Redact {
  if (first === undefined) return second;
  const begin = ({ mayBeginAt }: Redact, text: string): number => mayBeginAt?.(text) ?? text.length;
  return Object.assign((text: string) => second(first(text)), {
    mayBeginAt: (text: string) => Math.min(begin(first, text), begin(second, text)),
  });
}

/**
 * A function that blanks every occurrence of the given secrets and of what they are put together from, as they are and
 * as JSON, base64 or a URL would write them. To be made once, since it works out all of these.
 */
export function createRedactor(secrets: Iterable<string | undefined>): Redact {
  const forms = new Set<string>();
  for (const secret of secrets)
    for (const part of secretParts(secret)) for (const form of formsOf(part)) forms.add(form);
  if (forms.size === 0) return (text) => text;
  const words = [...forms];
  const longest = Math.max(...words.map(({ length }) => length));
  return Object.assign(replaceAny(words, MARK), {
    mayBeginAt: (text: string): number => {
      for (let at = Math.max(0, text.length - longest + 1); at < text.length; at++) {
        if (words.some((word) => word.startsWith(text.slice(at)))) return at;
      }
      return text.length;
    },
  });
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
  if (typeof value === 'number') return redact(String(value)) === String(value) ? value : MARK;
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

function decoded(text: string): string {
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
