import { Script } from 'node:vm';

import { canonicalJson, type JsonValue } from '../../util/json';
import { literal } from './javascript';
import { splitExpression, trimCode } from './split-expression';

/** What a parameter is in one branch. Undefined: not set there. */
export interface BranchValue {
  /** The branch's condition; the last branch has none. */
  readonly when?: string;
  readonly value: JsonValue | undefined;
}

/** Undefined when the values cannot be put into one parameter. */
export type MergedValue = { readonly value: JsonValue | undefined } | undefined;

/**
 * One parameter for all branches: the value itself where it is the same, else an expression over the conditions.
 * What a branch puts together of several pieces is chosen piece by piece, so that one that n8n cannot evaluate stays
 * empty by itself, as before, and does not take the others with it.
 */
export function mergeValues(branches: readonly BranchValue[]): MergedValue {
  const [first] = branches;
  if (first === undefined) return { value: undefined };
  if (branches.every(({ value }) => isSame(value, first.value))) return { value: first.value };
  const rows = branches.map(({ value }) => toCodes(value));
  const length = Math.max(...rows.map((codes) => codes?.length ?? 0));
  const parts: string[] = [];
  for (let index = 0; index < length; index++) {
    const codes = rows.map((row) => (row !== undefined && index >= row.length ? "''" : row?.[index]));
    const part = chooseCode(branches, codes);
    if (part === undefined) return undefined;
    parts.push(`{{ ${part} }}`);
  }
  return { value: `=${parts.join('')}` };
}

/** True for what n8n would take for the same value of a parameter. */
export function isSame(one: unknown, other: unknown): boolean {
  return one === other || (one !== undefined && other !== undefined && canonicalJson(one) === canonicalJson(other));
}

/**
 * A piece of JavaScript for each piece of the value; undefined when it has none that could stand in another expression.
 */
function toCodes(value: JsonValue | undefined): readonly (string | undefined)[] | undefined {
  if (value === undefined) return ['undefined'];
  if (typeof value !== 'string' || !value.startsWith('=')) return [literal(value)];
  const pieces = splitExpression(value);
  if (pieces === undefined) return undefined;
  if (pieces.length === 0) return ["''"];
  return pieces.map(({ kind, text }) => (kind === 'text' ? literal(text) : readCode(text)));
}

function readCode(text: string): string | undefined {
  const code = trimCode(text);
  if (!isExpressionCode(code)) return undefined;
  const isComment = code.includes('//') || code.includes('/*');
  if (isComment) return `(${code}\n)`;
  return /^[\w$.]+$/.test(code) ? code : `(${code})`;
}

function chooseCode(branches: readonly BranchValue[], codes: readonly (string | undefined)[]): string | undefined {
  if (codes.includes(undefined)) return undefined;
  const groups = groupEqual(branches, codes as readonly string[]);
  const last = groups.length - 1;
  let chosen = '';
  for (const [index, { when, code }] of groups.entries()) {
    if (index === last) chosen += code;
    else if (when === undefined) return undefined;
    else chosen += `${when} ? ${code} : `;
  }
  return isExpressionCode(chosen) && !chosen.includes('}}') ? chosen : undefined;
}

/** Branches beside one another with the same code share a condition. */
function groupEqual(
  branches: readonly BranchValue[],
  codes: readonly string[],
): readonly { readonly when?: string; readonly code: string }[] {
  const groups: { when?: string; code: string }[] = [];
  for (const [index, { when }] of branches.entries()) {
    const code = codes[index] ?? '';
    const before = groups.at(-1);
    const condition = when === undefined ? undefined : asOperand(when);
    if (before?.code !== code) groups.push({ when: condition, code });
    else
      before.when = before.when === undefined || condition === undefined ? undefined : `${before.when} || ${condition}`;
  }
  return groups;
}

/** Puts parentheses where something in it binds more loosely than `||` and `?`. */
function asOperand(when: string): string {
  return /^[\w$.]+( ===? ("[^"\\]*"|'[^'\\]*'|[\w$.]+))?$/.test(when) ? when : `(${when})`;
}

/** True when it is one JavaScript expression, also between parentheses. It is compiled, never run. */
export function isExpressionCode(code: string): boolean {
  if (code === '') return false;
  // Alone, so that it cannot close the parentheses; n8n puts an object between some of its own.
  const texts = code.startsWith('{') ? [`(${code}\n)`] : [code, `(${code}\n)`];
  try {
    return texts.every((text) => new Script(text) instanceof Script);
  } catch {
    return false;
  }
}
