import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, type InputType } from 'node:zlib';

/** Four times what 128,000 tokens of answer come to. Going through more of it would hold up the event loop. */
export const MAX_REPLY_BYTES = 1024 * 1024;

export interface ReadBody {
  readonly text: string;
  /** Why there is no text, although bytes came. */
  readonly problem?: string;
}

/** The text of a reply. Compressed ones are read too: nobody asked for that, but some proxies do it all the same. */
export async function readBody(
  body: AsyncIterable<Buffer>,
  encoding: string | string[] | undefined,
): Promise<ReadBody> {
  const bytes = await readBytes(body);
  if (encoding === undefined || encoding === 'identity') return { text: withoutMark(bytes.toString('utf8')) };
  try {
    return { text: withoutMark((await decoded(bytes, String(encoding))).toString('utf8')) };
  } catch {
    // It came, and was paid for: to ask again would be to pay again.
    return { text: '', problem: `its content encoding "${String(encoding).slice(0, 50)}" cannot be read` };
  }
}

async function readBytes(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_REPLY_BYTES) throw new Error(`the reply is longer than ${MAX_REPLY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

type Decode = (bytes: InputType, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

const DECODERS = new Map<string, Decode>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** The encodings stand in the order in which they were applied. */
async function decoded(bytes: Buffer, encodings: string): Promise<Buffer> {
  let plain = bytes;
  for (const name of encodings.toLowerCase().split(',').reverse()) {
    const decode = DECODERS.get(name.trim());
    if (decode === undefined) throw new Error('unknown');
    plain = await decode(plain, { maxOutputLength: MAX_REPLY_BYTES });
  }
  return plain;
}

/** Some servers begin with a byte order mark, which no JSON parser takes. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}
