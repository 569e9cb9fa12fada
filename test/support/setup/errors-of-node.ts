/**
 * Jest runs tests in a realm of their own, in which what Node throws (a failed fetch, an abort) is no instance of
 * Error, and so takes other ways than outside. Importing this file makes `instanceof Error` mean what it means there.
 */
Object.defineProperty(Error, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
    return this === Error && typeof value === 'object' && value !== null && 'message' in value && 'stack' in value;
  },
});

export {};
