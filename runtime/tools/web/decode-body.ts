import type { BoundedBody } from '../transports/read-bounded';
import type { WebReply } from './request-web';

/** What a reply says of its body. */
interface ContentType {
  /** Lower case, without parameters; empty when the server names none. */
  readonly type: string;
  readonly charset?: string;
}

export function contentType({ headers }: Pick<WebReply, 'headers'>): ContentType {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  const charset = parameters.map((text) => /^\s*charset\s*=\s*"?([^"\s]+)/.exec(text)?.[1]).find(Boolean);
  return { type: type.trim(), charset };
}

/** True for HTML, plain text, JSON, XML and their like; a missing type counts as text. */
export function isText({ type }: ContentType): boolean {
  return type === '' || /^text\/|[/+](json|xml|yaml|javascript|x-ndjson|x-www-form-urlencoded)$/.test(type);
}

/** True when the server compressed the body although it was asked not to; it is never unpacked, since it could be a bomb. */
export function isCompressed({ headers }: Pick<WebReply, 'headers'>): boolean {
  return !['', 'identity'].includes((headers['content-encoding'] ?? '').toLowerCase());
}

/** So far a page may be read for the encoding that it names itself. */
const HEAD_BYTES = 1024;

/**
 * Returns the body as text: in the encoding of its byte order mark, else in that which its server or the page itself names, else in
 * UTF-8. What is not UTF-8 and names no known encoding is read as windows-1252, as browsers do.
 */
export function decodeBody({ bytes, isCut }: BoundedBody, { type, charset }: ContentType): string {
  const named = markOf(bytes) ?? charset ?? (type === '' || type.includes('html') ? namedInPage(bytes) : undefined);
  if (named !== undefined && isKnownCharset(named)) return new TextDecoder(named).decode(bytes, { stream: isCut });
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

export function isKnownCharset(charset: string): boolean {
  try {
    return new TextDecoder(charset).encoding !== '';
  } catch {
    return false;
  }
}

function namedInPage(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, HEAD_BYTES).toString('latin1');
  return /<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w-]+)/i.exec(head)?.[1];
}

function markOf(bytes: Buffer): string | undefined {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}
