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

/** Matches JSON that may hold an integer beyond 2^53, also one with a fraction of zeros or an exponent. */
export const LONG_NUMBER = /(?:^|[[:,])\s*-?(?:\d{16}|\d[\d.]*[eE])/;
/** Longer ones in another notation stay the nearest number: a few bytes must not become megabytes. */
const MOST_DIGITS = 500;

/** Parses JSON with unsafe integers as ExactInteger. Throws a SyntaxError. */
export function parseExactly(text: string): unknown {
  return LONG_NUMBER.test(text)
    ? JSON.parse(text, exactly as (key: string, value: unknown) => unknown)
    : JSON.parse(text);
}

const exactly: Reviver = (_key, value, { source = '' }) => {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const digits = lostDigits(source);
  return digits === undefined ? value : new ExactInteger(digits);
};

/**
 * Returns the digits of an integer in JSON that a number does not hold; undefined for any other number.
 *
 * @example lostDigits('1.099511627776123401E18') // '1099511627776123401'
 */
export function lostDigits(source: string): string | undefined {
  const value = Number(source);
  if (Number.isSafeInteger(value)) return undefined;
  if (/^-?\d+$/.test(source)) return source;
  const digits = digitsOf(source);
  return digits === undefined || (Number.isFinite(value) && BigInt(value) === BigInt(digits)) ? undefined : digits;
}

/** The digits of an integer in another notation, such as `1.5E20` or `7.0`; undefined for any other number. */
function digitsOf(source: string): string | undefined {
  if (source.length > MOST_DIGITS) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const kept = `${whole}${fraction}`.replace(/0+$/, '');
  const zeros = Number(exponent) + whole.length - kept.length;
  if (kept === '' || zeros < 0 || kept.length + zeros > MOST_DIGITS) return undefined;
  return `${sign}${BigInt(`${kept}${'0'.repeat(zeros)}`)}`;
}

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
