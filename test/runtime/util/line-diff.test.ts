import fc from 'fast-check';

import { unifiedDiff } from '../../../runtime/util/line-diff';

const lines = (...names: string[]): string => names.join('\n');

it('is empty for equal texts', () => {
  expect(unifiedDiff('a\nb', 'a\nb')).toBe('');
});

it('shows what changed between three lines of context', () => {
  const before = lines('1', '2', '3', '4', '5', '6', '7', '8', '9');
  const after = lines('1', '2', '3', '4', 'five', '6', '7', '8', '9');
  expect(unifiedDiff(before, after)).toBe('@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n');
});

it('shows changes that lie apart in hunks of their own', () => {
  const before = Array.from({ length: 30 }, (_, index) => String(index));
  const after = before.with(2, 'two').toSpliced(25, 1);
  expect(unifiedDiff(before.join('\n'), after.join('\n')).match(/^@@.*$/gm)).toEqual([
    '@@ -1,6 +1,6 @@',
    '@@ -23,7 +23,6 @@',
  ]);
});

it('shows more changes than it looks at as one block', () => {
  const numbers = (from: number): string => Array.from({ length: 3000 }, (_, index) => String(from + index)).join('\n');
  const diff = unifiedDiff(numbers(0), numbers(10_000));
  expect(diff.startsWith('@@ -1,3000 +1,3000 @@\n-0\n')).toBe(true);
});

it('gives the second text when it is applied to the first', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', '', '-x', '+y'), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      expect(apply(before, unifiedDiff(before.join('\n'), after.join('\n')))).toEqual(after);
    }),
    { numRuns: 500 },
  );
});

function apply(before: readonly string[], diff: string): readonly string[] {
  const after: string[] = [];
  let at = 0;
  for (const line of diff.split('\n').slice(0, -1)) {
    const hunk = /^@@ -(\d+),(\d+) /.exec(line);
    if (hunk !== null) {
      const start = Number(hunk[1]) - (hunk[2] === '0' ? 0 : 1);
      after.push(...before.slice(at, start));
      at = start;
    } else if (line.startsWith('+')) after.push(line.slice(1));
    else {
      expect(before[at]).toBe(line.slice(1));
      if (line.startsWith(' ')) after.push(line.slice(1));
      at++;
    }
  }
  return [...after, ...before.slice(at)];
}
