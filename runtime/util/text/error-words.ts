import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../json';
import { words } from './words';

/** Message fields, most common first. */
const WORDS = ['message', 'msg', 'error_msg', 'error_message', 'error_description', 'description', 'title', 'reason'];
/** Fields that hold nested errors. */
const INNER = words(`
  error errors detail details metadata raw reasons innererror fieldViolations cause body
`);
/** Fields that locate the error in the request. */
const PLACES = ['loc', 'field'];

const MAX_DEPTH = 8;
const MAX_PARTS = 40;
const MAX_CHARS = 2000;

interface ErrorParts {
  /** Messages, outermost first. */
  readonly words: readonly string[];
  /** Objects, outermost first. */
  readonly objects: readonly JsonObject[];
}

/** Collects the messages and objects of an error. Gateways wrap a provider's error as an object or as JSON text. */
export function errorParts(error: JsonValue): ErrorParts {
  const found = { words: [], objects: [] };
  collect(error, found, MAX_DEPTH);
  return found;
}

/**
 * Returns the messages of an error and of nested errors, at most 2,000 characters; empty if there are none.
 *
 * @example errorWords({ message: 'Provider returned error', metadata: { raw: '{"error":{"message":"No such tool"}}' } })
 * // 'Provider returned error: No such tool'
 */
export function errorWords(error: JsonValue): string {
  return errorParts(error).words.join(': ').slice(0, MAX_CHARS);
}

interface Found {
  readonly words: string[];
  readonly objects: JsonObject[];
}

function collect(value: JsonValue, found: Found, depth: number): void {
  if (depth === 0 || found.words.length + found.objects.length >= MAX_PARTS) return;
  if (typeof value === 'string') collectText(value, found, depth);
  else if (Array.isArray(value)) {
    for (const part of (value as JsonValue[]).slice(0, MAX_PARTS)) collect(part, found, depth - 1);
  } else if (isJsonObject(value)) {
    collectFields(value, found, depth);
  }
}

function collectFields(fields: JsonObject, found: Found, depth: number): void {
  found.objects.push(fields);
  const words = valuesOf(fields, WORDS).filter((value) => value !== '')[0];
  const place = valuesOf(fields, PLACES).map(placeOf)[0];
  if (typeof words === 'string' && place !== undefined) add(`${place}: ${words}`, found);
  else if (words !== undefined) collect(words, found, depth - 1);
  for (const inner of valuesOf(fields, INNER)) collect(inner, found, depth - 1);
}

function valuesOf(fields: JsonObject, names: readonly string[]): readonly JsonValue[] {
  return names.map((name) => fields[name] ?? null).filter((value) => value !== null);
}

function placeOf(place: JsonValue): string {
  const parts = (Array.isArray(place) ? place : [place]) as readonly JsonValue[];
  return parts.filter((part) => typeof part === 'string' || typeof part === 'number').join('.');
}

function collectText(text: string, found: Found, depth: number): void {
  const parsed = /^\s*[[{]/.test(text) ? tryParseJson(text) : undefined;
  const before = found.words.length;
  if (parsed?.ok === true) collect(parsed.value, found, depth - 1);
  if (found.words.length === before) add(withoutPage(text), found);
}

function add(text: string, { words }: Found): void {
  const added = text.trim().slice(0, MAX_CHARS);
  if (added !== '' && !words.some((earlier) => earlier.includes(added))) words.push(added);
}

const MAX_HEAD = 2000;

/** Replaces an HTML page by its title. */
export function withoutPage(text: string): string {
  const start = text.search(/<(?:!doctype|html)\b/i);
  if (start === -1) return text;
  const title = /<title[^>]*>([^<]*)/i.exec(text.slice(start, start + MAX_HEAD))?.[1]?.trim();
  return `${text.slice(0, start)}an HTML page${title === undefined ? '' : `, "${title}"`}`;
}
