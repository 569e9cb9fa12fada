import type { Reason } from '../contract';

/** Whether an item takes an output: always, when a JavaScript expression holds, or what cannot be written as one. */
export type Test =
  | { readonly kind: 'always' }
  | { readonly kind: 'js'; readonly js: string }
  | { readonly kind: 'unknown'; readonly why: Reason };

export const ALWAYS: Test = { kind: 'always' };

export const jsTest = (js: string): Test => ({ kind: 'js', js });

export function unknownTest(reason: string, text: string): Test {
  return { kind: 'unknown', why: { reason, text } };
}

export function allOf(tests: readonly Test[]): Test {
  const needed = tests.filter((test) => test.kind !== 'always');
  return needed.length === 0 ? ALWAYS : joined(needed, ' && ');
}

/** `false` for none. */
export function anyOf(tests: readonly Test[]): Test {
  if (tests.some((test) => test.kind === 'always')) return ALWAYS;
  return tests.length === 0 ? jsTest('false') : joined(tests, ' || ');
}

/** Holds when the test does not. */
export function not(test: Test): Test {
  if (test.kind === 'unknown') return test;
  return jsTest(test.kind === 'always' ? 'false' : `!(${test.js})`);
}

/** Joins tests in the order given, since a later one may fail on what an earlier one rules out. */
function joined(tests: readonly Test[], operator: string): Test {
  const parts: string[] = [];
  for (const test of tests) {
    if (test.kind === 'unknown') return test;
    if (test.kind === 'js' && !parts.includes(test.js)) parts.push(test.js);
  }
  const [only = 'false'] = parts;
  return jsTest(parts.length === 1 ? only : parts.map(inParentheses).join(operator));
}

/** A plain comparison needs none, nor does what stands in some already. */
function inParentheses(js: string): string {
  if (/^!\([^()]*\)$/.test(js)) return js;
  return /^[\w$.?[\]]+( (===|!==|<|<=|>|>=) ([\w.-]+|'[^'\\]*'))?$/.test(js) ? js : `(${js})`;
}
