export const medianOf = (values) => quantileOf(values, 0.5);

/** Half of the values lie within this part of the median: how noisy the machine was. */
export const spreadOf = (values) => (quantileOf(values, 0.75) - quantileOf(values, 0.25)) / medianOf(values);

export function quantileOf(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const below = Math.floor(at);
  const above = Math.ceil(at);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - below);
}
