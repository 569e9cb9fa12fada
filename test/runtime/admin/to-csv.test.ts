import { toCsv } from '../../../runtime/admin/usage/to-csv';

const BEGINS_FORMULA = /^[\s\p{Cf}]*"*[\s\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;

/** As a program splits a line that takes another separator for ours, with quotes that it knows at the beginning of a cell only. */
function cellsOf(csv: string, separator: string): readonly string[] {
  return csv.split(/\r\n|\n|\r/).flatMap((line) => line.split(separator));
}

const ATTACKS = [
  '=1+1',
  '+49 30 1',
  '-2+3',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  'x;=HYPERLINK("http://evil")',
  'x\t=1',
  'x|=1',
  'x;"=1',
  'x; =1',
  'x;\u00a0=1',
  'x\n=1',
  'x\r\n@SUM(1)',
  '＝1',
  'x;＋1',
  'x,=1',
  'x =1+1',
  'x:=1',
  '\u3000=1',
  '\u200b=1',
  '\ufeff@SUM(1)',
  '\u000b=1',
];

it.each([',', ';', '\t', '|', ' ', ':'])('has no formula for who splits it at %j', (separator) => {
  const csv = toCsv(
    ['a', 'b'],
    ATTACKS.map((text) => ({ a: 'first', b: text })),
  );
  expect(cellsOf(csv, separator).filter((cell) => BEGINS_FORMULA.test(cell))).toEqual([]);
});

it('keeps figures and texts as they are, and quotes texts', () => {
  const rows = [{ n: 1, cost: '0.10', minus: '-2.50', text: 'a "b", c', none: null, when: new Date(0), yes: true }];
  expect(toCsv(['n', 'cost', 'minus', 'text', 'none', 'when', 'yes'], rows)).toBe(
    'n,cost,minus,text,none,when,yes\r\n1,0.10,-2.50,"a ""b"", c",,"1970-01-01T00:00:00.000Z",true\r\n',
  );
});

it('takes a long text without delay', () => {
  const [line] = toCsv(['a'], [{ a: `;${' '.repeat(500_000)};${'\t'.repeat(500_000)}` }])
    .split('\r\n')
    .slice(1);
  expect(line).toHaveLength(1_000_004);
});
