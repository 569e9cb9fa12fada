import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

const UNPACKERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

class UnknownEncoding extends Error {}

/**
 * Decompresses a body by its `content-encoding`, which lists encodings in the order in which they were applied. Whoever reads the
 * result limits its size. Throws for an encoding that is not known; `isOfPacking` tells.
 */
export function unpacked(body: Readable, encodings: string): Readable {
  const names = encodings.toLowerCase().split(',').reverse();
  return names.reduce((packed, given) => {
    const name = given.trim();
    if (name === 'identity' || name === '') return packed;
    const unpack = UNPACKERS.get(name);
    if (unpack === undefined) throw new UnknownEncoding();
    // An error in any of them destroys the last one, which is being read.
    return pipeline(packed, unpack(), () => undefined);
  }, body);
}

/** Distinguishes errors of decompression from errors of the connection. */
export function isOfPacking(error: unknown): boolean {
  // Error codes of zlib and Brotli.
  return error instanceof UnknownEncoding || /^(?:Z_|ERR__)/.test(String((error as { readonly code?: unknown }).code));
}
