import { buffer } from 'node:stream/consumers';

import { terminal } from './terminal';

/** Wrong use of the command line: exit code 2, with this text. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Standard input to its end, without a byte order mark unless it is `exact`. Throws a UsageError for what is not UTF-8. */
export async function readStandardInput(exact = false): Promise<string> {
  const text = decodeUtf8(await buffer(terminal().stdin), exact);
  if (text === undefined) throw new UsageError('Standard input is not UTF-8 text.');
  return text;
}

/** The text, without a byte order mark unless it is `exact`; undefined for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array, exact = false): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: exact }).decode(bytes);
  } catch {
    return undefined;
  }
}
