/** How many characters have to be added, left out or changed to make one text of the other. Its time grows with both lengths. */
export function editDistance(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 0; row < one.length; row++) {
    const line = [row + 1];
    for (let column = 0; column < other.length; column++) {
      const changed = (above[column] ?? 0) + (other[column] === one[row] ? 0 : 1);
      line.push(Math.min(changed, (above[column + 1] ?? 0) + 1, (line[column] ?? 0) + 1));
    }
    above = line;
  }
  return above.at(-1) ?? one.length;
}
