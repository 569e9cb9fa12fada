import { LONG_NUMBER } from '../../util/exact-integer';

/** Begins the text that stands in for an integer while the SDK parses an answer; a private-use character. */
const MARK = '\ue000';

/**
 * Writes integers beyond 2^53 as marked texts, since the SDK's parser would round them. `restoreIntegers` undoes it. Returns the
 * same text if there are none.
 */
export function markIntegers(json: string): string {
  if (!LONG_NUMBER.test(json)) return json;
  let marked = '';
  let copied = 0;
  for (let at = 0; at < json.length; at++) {
    if (json[at] === '"') at = endOfString(json, at);
    else if (isOfNumber(json, at)) {
      const end = endOfNumber(json, at);
      const number = json.slice(at, end);
      if (/^-?\d{16,}$/.test(number) && !Number.isSafeInteger(Number(number))) {
        marked += `${json.slice(copied, at)}"${MARK}${number}"`;
        copied = end;
      }
      at = end - 1;
    }
  }
  return marked + json.slice(copied);
}

function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at;
}

function isOfNumber(json: string, at: number): boolean {
  const code = json.charCodeAt(at);
  return (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x2b || code === 0x2e || (code | 0x20) === 0x65;
}

function endOfNumber(json: string, start: number): number {
  let end = start + 1;
  while (end < json.length && isOfNumber(json, end)) end++;
  return end;
}

const MARKED = new RegExp(`"?${MARK}(-?\\d{16,})"?`, 'g');

/** Writes marked texts in JSON as integers again. */
export function restoreIntegers(json: string): string {
  return json.includes(MARK) ? json.replace(MARKED, '$1') : json;
}

/** Marks the integers in the data of an event stream, line by line. */
export async function* markEvents(stream: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let begun: Buffer[] = [];
  for await (const chunk of stream) {
    const end = Math.max(chunk.lastIndexOf('\n'), chunk.lastIndexOf('\r')) + 1;
    begun.push(end === 0 ? chunk : chunk.subarray(0, end));
    if (end === 0) continue;
    yield markLines(begun);
    begun = [chunk.subarray(end)];
  }
  yield markLines(begun);
}

const LONG_DIGITS = /\d{16}/;

function markLines(parts: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(parts);
  const text = bytes.toString('utf8');
  if (!LONG_DIGITS.test(text)) return bytes;
  return Buffer.from(
    text.replace(/^(data: ?)(.*)$/gm, (_line, field: string, data: string) => field + markIntegers(data)),
  );
}
