/** Lines of context around a change. */
const CONTEXT = 3;
/** Beyond so many changed lines a shortest diff costs more than it tells: what stands between is shown as replaced. */
const MAX_EDITS = 2000;

interface Edit {
  readonly sign: ' ' | '-' | '+';
  readonly line: string;
}

/** A unified diff of two texts, without its heading; empty when they are equal. */
export function unifiedDiff(before: string, after: string): string {
  const edits = diffLines(before.split('\n'), after.split('\n'));
  return hunksOf(edits)
    .map(([from, to]) => renderHunk(edits, from, to))
    .join('');
}

function diffLines(before: readonly string[], after: readonly string[]): readonly Edit[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const keep = (lines: readonly string[]): readonly Edit[] => lines.map((line) => ({ sign: ' ', line }));
  return [
    ...keep(before.slice(0, head)),
    ...shortestEdits(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...keep(before.slice(before.length - tail)),
  ];
}

/** The algorithm of Myers: the furthest point on each diagonal, with one more edit at a time. */
function shortestEdits(before: readonly string[], after: readonly string[]): readonly Edit[] {
  const trace: Int32Array[] = [];
  const slide = (from: number, diagonal: number): number => {
    let x = from;
    while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x++;
    return x;
  };
  const limit = Math.min(before.length + after.length, MAX_EDITS);
  let reached = new Int32Array(2 * limit + 3);
  for (let edits = 0; edits <= limit; edits++) {
    trace.push(reached.slice(limit - edits, limit + edits + 3));
    reached = Int32Array.from(reached);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = limit + 1 + diagonal;
      const isDown = isAddition({ diagonal, edits }, valueAt(reached, at - 1), valueAt(reached, at + 1));
      const x = slide(isDown ? valueAt(reached, at + 1) : valueAt(reached, at - 1) + 1, diagonal);
      reached[at] = x;
      if (x >= before.length && x - diagonal >= after.length) return walkBack(trace, before, after);
    }
  }
  return [...removed(before), ...added(after)];
}

/** Whether a diagonal is best reached by an added line, from the diagonal above it, or else by a removed one. */
function isAddition(
  { diagonal, edits }: { readonly diagonal: number; readonly edits: number },
  below: number,
  above: number,
): boolean {
  return diagonal === -edits || (diagonal !== edits && below < above);
}

const valueAt = (values: Int32Array, index: number): number => values[index] ?? 0;
const removed = (lines: readonly string[]): readonly Edit[] => lines.map((line) => ({ sign: '-', line }));
const added = (lines: readonly string[]): readonly Edit[] => lines.map((line) => ({ sign: '+', line }));

function walkBack(trace: readonly Int32Array[], before: readonly string[], after: readonly string[]): readonly Edit[] {
  const edits: Edit[] = [];
  let x = before.length;
  let y = after.length;
  const keepTo = (fromX: number, fromY: number): void => {
    while (x > fromX && y > fromY) {
      edits.push({ sign: ' ', line: before[--x] ?? '' });
      y--;
    }
  };
  for (let count = trace.length - 1; count > 0; count--) {
    const diagonal = x - y;
    // Each kept row begins at the diagonal -count - 1.
    const on = (other: number): number => valueAt(trace[count] ?? new Int32Array(), other + count + 1);
    const isDown = isAddition({ diagonal, edits: count }, on(diagonal - 1), on(diagonal + 1));
    const from = isDown ? diagonal + 1 : diagonal - 1;
    keepTo(on(from), on(from) - from);
    edits.push(isDown ? { sign: '+', line: after[--y] ?? '' } : { sign: '-', line: before[--x] ?? '' });
  }
  keepTo(0, 0);
  return edits.reverse();
}

/** Where changes stand, with their context; those that touch are one. */
function hunksOf(edits: readonly Edit[]): readonly [number, number][] {
  const hunks: [number, number][] = [];
  edits.forEach(({ sign }, index) => {
    if (sign === ' ') return;
    const last = hunks.at(-1);
    if (last !== undefined && index - CONTEXT <= last[1]) last[1] = index + 1 + CONTEXT;
    else hunks.push([Math.max(0, index - CONTEXT), index + 1 + CONTEXT]);
  });
  return hunks;
}

function renderHunk(edits: readonly Edit[], from: number, to: number): string {
  const shown = edits.slice(from, to);
  const earlier = edits.slice(0, from);
  const count = (list: readonly Edit[], other: Edit['sign']): number =>
    list.filter(({ sign }) => sign !== other).length;
  const range = (other: Edit['sign']): string => {
    const length = count(shown, other);
    // As diff writes it: an empty range is named by the line before it.
    return `${count(earlier, other) + (length === 0 ? 0 : 1)},${length}`;
  };
  const lines = shown.map(({ sign, line }) => `${sign}${line}\n`).join('');
  return `@@ -${range('+')} +${range('-')} @@\n${lines}`;
}
