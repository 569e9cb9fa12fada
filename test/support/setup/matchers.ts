// Jest's own matchers are typed as `any`; these are what they are.

export const containing = (part: string): unknown => expect.stringContaining(part);

export const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);

/** For `toThrow`: an error with this code. */
export const withCode = (code: string, rest: object = {}): Error => expect.objectContaining({ code, ...rest }) as Error;
