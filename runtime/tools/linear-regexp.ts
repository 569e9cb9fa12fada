import { RE2JS } from 're2js';

/** As much of a RegExp as a validator uses. */
interface Matcher {
  readonly test: (text: string) => boolean;
  /** Ajv tells matchers apart by this. */
  readonly toString: () => string;
}

/**
 * Patterns of schemas run in linear time: with JavaScript's own engine a pattern that a server wrote could hold up the
 * whole process. What only that engine can do, such as looking ahead, is left to the server to check.
 */
function compile(pattern: string): Matcher {
  const toString = (): string => pattern;
  try {
    const compiled = RE2JS.compile(pattern);
    return { test: (text) => compiled.matcher(text).find(), toString };
  } catch {
    // Throws, and so refuses the schema, when it is no pattern for JavaScript either.
    new RegExp(pattern, 'u');
    return { test: () => true, toString };
  }
}

/** For Ajv, which also wants to know how its generated code would name it. */
export const linearRegExp = Object.assign(compile, { code: 'linearRegExp' });
