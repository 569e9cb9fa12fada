/** Leaves one of the warnings that say the same, whichever calls and runs they came with. */
export function distinct<T extends { readonly message: string }>(warnings: readonly T[]): readonly T[] {
  return [...new Map(warnings.map((one) => [one.message, one])).values()];
}
