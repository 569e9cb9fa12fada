/** The first bytes of an answer. */
export interface BoundedBody {
  readonly bytes: Buffer;
  /** There was more. */
  readonly isCut: boolean;
}

/** Reads up to the limit and drops the rest unread, so that a huge answer costs neither memory nor time. */
export async function readBounded(
  body: AsyncIterable<Buffer> & { readonly destroy: () => unknown },
  limitBytes: number,
): Promise<BoundedBody> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limitBytes) break;
  }
  const bytes = Buffer.concat(chunks);
  if (size <= limitBytes) return { bytes, isCut: false };
  body.destroy();
  return { bytes: bytes.subarray(0, limitBytes), isCut: true };
}
