/** Longer ones are not even looked at. */
const MAX_CHARS = 10_000;
/** Every pattern is a program of its own, however short. */
const BASE = 20;
/** Classes of Unicode have hundreds of ranges. */
const UNICODE_CLASS = 20;
const REPETITION = /\{(\d+)(?:,(\d*))?\}/y;
const CLASS = /\[\^?\]?(?:\\[\s\S]|\[:\^?[a-z]+:\]|[^\]\\])*\]?/y;
const ESCAPE = /\\(?:[pP](?:\{[^}]{0,60}\}|[\s\S])|[\s\S]|$)/y;
const QUOTING = /(?<!\\)(?:\\\\)*\\[QE]/;
/** RE2 reads these as settings for what follows: a repetition behind them is for what stands before. */
const FLAGS = /\(\?[a-zA-Z-]*\)/y;

/**
 * How large a pattern becomes when it is compiled for linear time, where repetitions multiply: `(a{30}){30}` is 900
 * steps. An estimate from its text, not below the truth by more than a small factor; infinite for a pattern that is too
 * long, or that quotes by \Q, where RE2 reads marks as text.
 */
export function patternSize(pattern: string): number {
  if (pattern.length > MAX_CHARS || QUOTING.test(pattern)) return Infinity;
  return BASE + stepsOf(pattern) * (/\(\?[a-zA-Z]*i/.test(pattern) ? 2 : 1);
}

function stepsOf(pattern: string): number {
  /** Sizes of the groups that are open, the innermost last. */
  const outer: number[] = [];
  let size = 0;
  let atom = 0;
  const add = (weight: number): void => {
    atom = weight;
    size += weight;
  };
  for (let at = 0; at < pattern.length;) {
    const token = tokenAt(pattern, at);
    at += token.length;
    if (token === '(') {
      outer.push(size);
      size = 0;
      atom = 0;
    } else if (token === ')') {
      const inner = size + 2;
      size = outer.pop() ?? 0;
      add(inner);
    } else if (token.length > 1 && token.startsWith('{')) {
      const repeated = atom * timesOf(token);
      size += repeated - atom;
      atom = repeated;
    } else if (/^(?:[*+?|]|\(\?)/.test(token)) {
      size++;
    } else {
      add(weightOf(token));
    }
  }
  // Groups that were never closed are no pattern; what they hold counts all the same.
  return outer.reduce((sum, open) => sum + open, size);
}

function tokenAt(pattern: string, at: number): string {
  const form = { '{': REPETITION, '[': CLASS, '\\': ESCAPE, '(': FLAGS }[pattern.charAt(at)];
  if (form === undefined) return pattern.charAt(at);
  form.lastIndex = at;
  return form.exec(pattern)?.[0] ?? pattern.charAt(at);
}

/** How many copies a repetition stands for; one more where it has no end. */
function timesOf(token: string): number {
  const [, least = '1', most] = new RegExp(REPETITION.source).exec(token) ?? [];
  if (most === undefined) return Math.max(1, Number(least));
  return most === '' ? Number(least) + 1 : Math.max(1, Number(most));
}

function weightOf(token: string): number {
  if (token.length === 1) return 1;
  return 1 + token.length / 4 + (token.match(/\\[pP]/g)?.length ?? 0) * UNICODE_CLASS;
}
