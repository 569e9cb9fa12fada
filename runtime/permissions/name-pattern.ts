import { RE2JS } from 're2js';

/** A test of whole texts, in time that grows with their length only. */
export type Matches = (text: string) => boolean;

/**
 * Compiles `/regular expression/` or a glob, in which `*` is any text and `?` one character.
 * Throws an Error when it is no expression for RE2, which knows no look-around and no back-references.
 */
export function compilePattern(pattern: string): Matches {
  const expression = /^\/(.+)\/$/s.exec(pattern)?.[1];
  const source = expression ?? globSource(pattern);
  const compiled = RE2JS.compile(source, RE2JS.DOTALL);
  return (text) => compiled.matcher(text).matches();
}

function globSource(glob: string): string {
  return Array.from(glob, (char) => (char === '*' ? '.*' : char === '?' ? '.' : RE2JS.quote(char))).join('');
}

/**
 * True for a name that one of the entries is, or matches where the entry holds `*`, which is all that stands for
 * others.
 */
export function isNamed(names: readonly string[], entries: readonly string[]): boolean {
  return entries.some((entry) =>
    names.some((name) => (entry.includes('*') ? globMatches(entry, name) : entry === name)),
  );
}

/** Matches without a regular expression: there are many names and many globs, and each part is looked for once. */
function globMatches(glob: string, name: string): boolean {
  const [start = '', ...parts] = glob.split('*');
  const end = parts.pop() ?? '';
  if (name.length < start.length + end.length || !name.startsWith(start) || !name.endsWith(end)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - end.length;
}
