/** The text cut to `limitBytes` of UTF-8, never inside a character. */
export function clipText(text: string, limitBytes: number): { readonly text: string; readonly isCut: boolean } {
  // A UTF-16 unit is at most three bytes, so short texts need no counting.
  if (text.length * 3 <= limitBytes) return { text, isCut: false };
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= limitBytes) return { text, isCut: false };
  return { text: decodeClipped(bytes.subarray(0, limitBytes)), isCut: true };
}

/** Text of bytes that may end inside a character; that character is left out. */
export function decodeClipped(bytes: Uint8Array): string {
  return new TextDecoder('utf-8').decode(bytes, { stream: true });
}
