import { randomUUID } from 'node:crypto';

import { ExactInteger, LONG_NUMBER, lostDigits } from '../../util/exact-integer';
import { MAX_JSON_DEPTH } from '../../util/json';

/** Begins a text that replaces an integer while the SDK parses a message. Random, so that no server can write it. */
const MARK = `\ue000${randomUUID()}:`;

/**
 * Writes integers beyond 2^53 as marked texts, since the SDK's parser would round them; `restoreIntegers` reads them. Returns
 * the same text if there are none.
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
      const digits = lostDigits(number);
      if (digits !== undefined) {
        marked += `${json.slice(copied, at)}"${MARK}${digits}"`;
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

/** Replaces marked texts in a parsed message by the integers that they are for: exact ones, else the nearest numbers. */
export function restoreIntegers<T>(value: T, isExact: boolean): T {
  return mapTexts(value, (text) => {
    if (!text.startsWith(MARK)) return text;
    const digits = text.slice(MARK.length);
    return isExact ? new ExactInteger(digits) : Number(digits);
  }) as T;
}

function mapTexts(value: unknown, change: (text: string) => unknown, depth = MAX_JSON_DEPTH): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null || depth === 0) return value;
  const fields = value as Record<string, unknown>;
  for (const key in fields) {
    const after = mapTexts(fields[key], change, depth - 1);
    if (after !== fields[key]) fields[key] = after;
  }
  return value;
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

const LONG_DIGITS = /\d{16}|\d[eE]/;

function markLines(parts: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(parts);
  const text = bytes.toString('utf8');
  if (!LONG_DIGITS.test(text)) return bytes;
  return Buffer.from(
    text.replace(/^(data: ?)([^\r\n]*)/gm, (_line, field: string, data: string) => field + markIntegers(data)),
  );
}
