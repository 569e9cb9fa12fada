import { createHash } from 'node:crypto';

import { ExactInteger } from '../../util/exact-integer';

const MAX_ID_LENGTH = 200;

/** A copy that Postgres takes: neither NUL nor half a surrogate pair. No name that a provider sends may keep a bill from being written. */
export function storable<T>(value: T): T {
  if (typeof value === 'string') return storableText(value) as T;
  if (Array.isArray(value)) return value.map(storable) as T;
  if (typeof value !== 'object' || value === null || value instanceof ExactInteger) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storableText(key), storable(inner)])) as T;
}

/** Returns false for text with a NUL or half a surrogate pair. */
export function isStorable(text: string): boolean {
  return storableText(text) === text;
}

function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

/** An index takes no entry of more than 2,700 bytes, and there are providers that put a thought into an id. Two ids stay two. */
export function indexableId(id: string): string {
  const text = storableText(id);
  if (text === id && id.length <= MAX_ID_LENGTH) return id;
  return `${text.slice(0, MAX_ID_LENGTH).toWellFormed()}…${createHash('sha256').update(JSON.stringify(id)).digest('hex')}`;
}
