import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Cases of the list of hostile inputs that are ours; the others are those of MCP and of migration. */
const OURS = [...range(1, 15), ...range(20, 24), ...range(26, 40), 42, ...range(44, 46)];

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

const files = readdirSync(__dirname).filter((name) => name.endsWith('.test.ts') && name !== path.basename(__filename));
/** The case that stands first in the name of every test, by file. */
const named = files.map((file) => {
  const text = readFileSync(path.join(__dirname, file), 'utf8');
  // A test's name is the text after `it(` or after the table of `it.each`; groups have names of their own.
  const tests = text.match(/^\s*(?:it\(|it\.each\b|it\.each<)/gm) ?? [];
  const cases = Array.from(text.matchAll(/(?<=['"`])case (\d\d): /g), ([, number]) => Number(number));
  return { file, tests: tests.length, cases };
});

it('names every case in a test of its own', () => {
  const found = new Set(named.flatMap(({ cases }) => cases));
  expect([...found].sort((a, b) => a - b)).toEqual(OURS);
});

it.each(named)('finds no test without its number in $file', ({ tests, cases }) => {
  expect(cases).toHaveLength(tests);
});

it('skips none of them', () => {
  for (const file of files) {
    expect(readFileSync(path.join(__dirname, file), 'utf8')).not.toMatch(
      /\b(it|describe|test)\.(skip|todo|only|failing)\b|\bx(it|describe)\b/,
    );
  }
});
