import { isJsonObject, type JsonValue } from '../util/json';

const PLACES = ['error', 'message', 'details'] as const;

/** Why a server says that a call failed: its `error`, `message` and `details`, or else all of its answer. */
export function failureReason(answer: JsonValue): string {
  const told = isJsonObject(answer) ? PLACES.map((place) => textOf(answer[place])) : [];
  const texts = [...new Set(told)].filter((text) => text !== '');
  return texts.length === 0 ? JSON.stringify(answer) : texts.join(': ');
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
