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

/** True for a name that one of the entries is, or matches where the entry holds `*`, which is all that stands for others. */
export function isNamed(names: readonly string[], entries: readonly string[]): boolean {
  return entries.some((entry) =>
    names.some((name) => (entry.includes('*') ? globMatches(entry, name) : entry === name)),
  );
}

function compileNames(glob: string): Matches {
  const compiled = RE2JS.compile(
    glob
      .split('*')
      .map((text) => RE2JS.quote(text))
      .join('.*'),
    RE2JS.DOTALL,
  );
  return (text) => compiled.matcher(text).matches();
}

const compiledGlobs = new Map<string, Matches>();
const REMEMBERED_GLOBS = 1000;

function globMatches(glob: string, name: string): boolean {
  const known = compiledGlobs.get(glob) ?? compileNames(glob);
  if (compiledGlobs.size >= REMEMBERED_GLOBS) compiledGlobs.clear();
  compiledGlobs.set(glob, known);
  return known(name);
}
