/**
 * An integer beyond 2^53, which a number cannot hold. Writes its digits as text and as JSON; compares as the nearest number.
 *
 * @example JSON.stringify({ id: new ExactInteger('2512292042121000001') }) // '{"id":2512292042121000001}'
 */
export class ExactInteger {
  readonly #digits: string;

  constructor(digits: string) {
    this.#digits = digits;
  }

  toString(): string {
    return this.#digits;
  }

  toJSON(): unknown {
    return rawJson(this.#digits);
  }

  valueOf(): number {
    return Number(this.#digits);
  }
}

// Not declared by TypeScript yet: https://github.com/tc39/proposal-json-parse-with-source
const rawJson = (JSON as unknown as { readonly rawJSON: (text: string) => unknown }).rawJSON;
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Matches JSON that may hold an integer beyond 2^53. */
export const LONG_NUMBER = /(?:^|[[:,])\s*-?\d{16}/;

/** Parses JSON with unsafe integers as ExactInteger. Throws a SyntaxError. */
export function parseExactly(text: string): unknown {
  return LONG_NUMBER.test(text)
    ? JSON.parse(text, exactly as (key: string, value: unknown) => unknown)
    : JSON.parse(text);
}

const exactly: Reviver = (_key, value, { source = '' }) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
    ? new ExactInteger(source)
    : value;

/** Replaces each ExactInteger in a value. Returns the same value if it has none. */
export function mapExactIntegers(value: unknown, change: (integer: ExactInteger) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof ExactInteger) return change(value);
  let copy: Record<string, unknown> | undefined;
  const fields = value as Readonly<Record<string, unknown>>;
  for (const key in fields) {
    const after = mapExactIntegers(fields[key], change);
    if (after !== fields[key]) (copy ??= copyOf(value))[key] = after;
  }
  return copy ?? value;
}

/** Returns each ExactInteger in a value. */
export function exactIntegersIn(value: unknown): readonly ExactInteger[] {
  const found: ExactInteger[] = [];
  mapExactIntegers(value, (integer) => {
    found.push(integer);
    return integer;
  });
  return found;
}

function copyOf(value: object): Record<string, unknown> {
  const copy: object = Array.isArray(value) ? Array.from(value as readonly unknown[]) : { ...value };
  return copy as Record<string, unknown>;
}
