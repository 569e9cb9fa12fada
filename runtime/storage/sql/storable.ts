import { createHash } from 'node:crypto';

import { isJsonObject } from '../../util/json';

const MAX_ID_LENGTH = 200;

/** JSON that JSONB takes: neither NUL nor half a surrogate pair. No name that a provider sends may keep a bill from being written. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, storable);
}

function storable(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (!isJsonObject(value) || Object.keys(value).every((key) => storableText(key) === key)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storableText(key), inner]));
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
