/**
 * How many characters have to be added, left out, replaced or swapped with their neighbour until one text is the other. Its time
 * grows with both lengths; more than `most` may be told as infinite, which takes less.
 */
export function editDistance(from: string, to: string, most = Infinity): number {
  let [before, row] = [[] as number[], Array.from({ length: to.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    let least = i;
    for (let j = 1; j <= to.length; j++) {
      const replaced = at(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwapped ? at(before, j - 2) + 1 : Infinity;
      const cost = Math.min(at(row, j) + 1, at(next, j - 1) + 1, replaced, swapped);
      next.push(cost);
      least = Math.min(least, cost);
    }
    // A swap looks back at the row before the last, and costs one more.
    if (least > most + 1) return Infinity;
    [before, row] = [row, next];
  }
  return at(row, to.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
