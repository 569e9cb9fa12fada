import type { JsonValue } from '../../util/json';
import type { Reason } from '../contract';
import { literal } from './javascript';
import { isExpressionCode } from './merge-values';
import { type Piece, splitExpression, trimCode } from './split-expression';

/** What a router tests, as a JavaScript expression that gives the same at the node behind it. */
export type Carried =
  | { readonly kind: 'js'; readonly js: string }
  /** The same for every item. */
  | { readonly kind: 'constant'; readonly js: string; readonly value: Constant }
  | { readonly kind: 'unknown'; readonly why: Reason };

export type Constant = string | number | boolean | null | undefined;

/**
 * Carries a parameter of a router: text and numbers as literals, `={{ code }}` as its code, text around `{{ }}` as the
 * text that n8n would make of it. Code is copied, never run. n8n takes code that fails for `undefined`, and so does
 * what comes back, wherever it stands.
 */
export function carryParameter(value: JsonValue | undefined): Carried {
  if (value === undefined) return { kind: 'constant', js: 'undefined', value };
  if (typeof value === 'object' && value !== null)
    return unknown('condition-value', 'A condition compares with an object or a list that is written into it.');
  if (typeof value !== 'string' || !value.startsWith('=')) return constant(value);
  const pieces = splitExpression(value);
  return pieces === undefined
    ? unknown('condition-unreadable', `A condition cannot be read: ${shorten(value)}.`)
    : carryPieces(pieces);
}

function carryPieces(pieces: readonly Piece[]): Carried {
  const codes = pieces.flatMap(({ kind, text }) => (kind === 'code' ? [text] : []));
  if (codes.length === 0) return constant(pieces.map(({ text }) => text).join(''));
  const why = codes.map(problemOf).find((problem) => problem !== undefined);
  if (why !== undefined) return { kind: 'unknown', why };
  const parts = pieces.map(({ kind, text }) => (kind === 'code' ? failSafe(text) : literal(text)));
  const [only = ''] = parts;
  if (parts.length === 1) return { kind: 'js', js: only };
  // n8n makes nothing of what is empty, and text of the rest.
  return { kind: 'js', js: `[${parts.join(', ')}].map((v) => (v || v === 0 || v === false ? v : '')).join('')` };
}

function constant(value: Exclude<Constant, undefined>): Carried {
  return { kind: 'constant', js: literal(value), value };
}

function unknown(reason: string, text: string): Carried {
  return { kind: 'unknown', why: { reason, text } };
}

const shorten = (text: string): string => (text.length > 80 ? `${text.slice(0, 77).trim()}...` : text.trim());

/** These mean the same at the router and at the node behind it; `$itemIndex`, `$node[…]` and others do not. */
const SAME_BEHIND_THE_ROUTER = new Set(
  '$ $json $binary $vars $env $secrets $execution $workflow $if $ifEmpty $min $max $jmespath $jmesPath'.split(' '),
);
const CHANGES_WITH_TIME = /\b(Date|DateTime|Interval|Duration|toDate|toDateTime|performance)\b|random/i;

function problemOf(code: string): Reason | undefined {
  const text = `it reads ${shorten(code)}`;
  const outside = withoutTexts(code).replace(/\$input\.item\b/g, '$json');
  const names = [...outside.matchAll(/\$(?:[\p{ID_Continue}$]+|(?=\())/gu)].map(([name]) => name);
  if (names.some((name) => name === '$now' || name === '$today') || CHANGES_WITH_TIME.test(outside))
    return { reason: 'condition-time', text: `What a condition gives changes with time: ${text}.` };
  if (/\bthis\b/.test(outside) || names.some((name) => !SAME_BEHIND_THE_ROUTER.has(name)))
    return { reason: 'condition-position', text: `A condition means something else behind the router: ${text}.` };
  // n8n's own parser fails on a catch without a name, and then on everything around it.
  const isWhole = isExpressionCode(trimCode(code)) && !/\{\{|\}\}|\bcatch\s*\{/.test(code);
  return isWhole ? undefined : { reason: 'condition-unreadable', text: `A condition cannot be read: ${text}.` };
}

/** What is within quotes names nothing. What no quote ends stays, read once. */
function withoutTexts(code: string): string {
  return code.replace(/"(?:[^"\\\n]|\\.)*("?)|'(?:[^'\\\n]|\\.)*('?)/g, (text: string, ...ends: string[]) =>
    ends[0] || ends[1] ? '""' : text,
  );
}

const FIELD = String.raw`\.[\p{ID_Start}_][\p{ID_Continue}$]*|\[\d+\]|\["[^"\\\n]*"\]|\['[^'\\\n]*'\]`;
const FIELDS = new RegExp(String.raw`^(\$json|\$binary)((?:${FIELD})*)$`, 'u');

/** The code, giving `undefined` where it fails: fields of fields with `?.`, anything else with a `try`. */
function failSafe(code: string): string {
  const text = trimCode(code);
  const [, root = '', fields] = FIELDS.exec(text) ?? [];
  if (fields !== undefined) {
    const steps = [...fields.matchAll(new RegExp(FIELD, 'gu'))].map(([step]) => step);
    return root + steps.map((step, index) => optional(step, index)).join('');
  }
  const end = /\/[/*]/.test(text) ? '\n' : '';
  return `(() => { try { return (${text}${end}); } catch (e) { return undefined; } })()`;
}

function optional(step: string, index: number): string {
  if (index === 0) return step;
  return step.startsWith('.') ? `?${step}` : `?.${step}`;
}
