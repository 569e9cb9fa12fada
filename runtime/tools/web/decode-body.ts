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

/** The body as text, in the encoding that its server or else the page itself names. */
export function decodeBody({ bytes, isCut }: Pick<WebReply, 'bytes' | 'isCut'>, { charset }: ContentType): string {
  const head = bytes.subarray(0, HEAD_BYTES).toString('latin1');
  const named = charset ?? /<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w-]+)/i.exec(head)?.[1];
  return decoderOf(named).decode(bytes, { stream: isCut });
}

function decoderOf(charset = 'utf-8'): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder('utf-8');
  }
}
