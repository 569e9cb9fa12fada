const WITH_EXPONENT = /^\d+(\.\d+)?e[+-]?\d{1,3}$/i;

/** The decimal text of a number that is written with an exponent; any other text as it is. What is below 1e-100 is 0. */
export function withoutExponent(text: string): string {
  if (!WITH_EXPONENT.test(text)) return text;
  return Number(text).toLocaleString('en-US', { useGrouping: false, maximumFractionDigits: 100 });
}
