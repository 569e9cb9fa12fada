/**
 * How many characters have to be added, left out, replaced or swapped with their neighbour until one text is the other. Its time
 * grows with both lengths. More than `most` may be told as infinite, which takes less.
 */
export function editDistance(from: string, to: string, most = Infinity): number {
  let [before, row] = [[] as number[], Array.from({ length: to.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = at(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwapped ? at(before, j - 2) + 1 : Infinity;
      next.push(Math.min(at(row, j) + 1, at(next, j - 1) + 1, replaced, swapped));
    }
    // What follows is no less than the least of two rows, of which a swap may use the earlier one.
    if (Math.min(...next) > most && Math.min(...row) > most) return Infinity;
    [before, row] = [row, next];
  }
  return at(row, to.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
