import { ExactInteger, exactIntegersIn } from '../../util/exact-integer';
import type { JsonObject, JsonValue } from '../../util/json';

/**
 * Reports an integer beyond 2^53 that equals one in an `enum` or `const` only after rounding, which is how validators compare.
 * Returns undefined if there is none.
 */
export function roundedMatch(schema: JsonObject, value: JsonValue): string | undefined {
  const given = exactIntegersIn(value);
  if (given.length === 0) return undefined;
  const pinned = pinnedIn(schema, false);
  const wrong = given.find((integer) => {
    const near = pinned.filter((one) => Number(one) === Number(integer));
    return near.length > 0 && !near.some((one) => digitsOf(one) === integer.toString());
  });
  return wrong === undefined ? undefined : `must not contain the integer ${wrong.toString()}`;
}

function digitsOf(integer: number | ExactInteger): string {
  return typeof integer === 'number' ? BigInt(integer).toString() : integer.toString();
}

/** Returns the integers beyond 2^53 in each `enum` and `const`. */
function pinnedIn(value: unknown, isPinned: boolean): readonly (number | ExactInteger)[] {
  if (typeof value === 'number') {
    return isPinned && Number.isInteger(value) && !Number.isSafeInteger(value) ? [value] : [];
  }
  if (value instanceof ExactInteger) return isPinned ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    pinnedIn(inner, isPinned || key === 'enum' || key === 'const'),
  );
}
