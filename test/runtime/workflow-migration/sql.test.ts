import { showInMarkdown, showName } from '../../../runtime/workflow-migration/show-name';
import { sqlComment, sqlJson, sqlText, sqlTextArray } from '../../../runtime/workflow-migration/sql-text';
import { fc } from '../../support/values/properties';

/** Reads a literal as Postgres does, whatever its setting for backslashes; fails on what is not one literal. */
function readLiteral(sql: string): string {
  const [, escape, inside = ''] = /^(E?)'((?:[^']|'')*)'$/.exec(sql) ?? [];
  if (escape === undefined) throw new Error(`not one literal: ${sql}`);
  const text = inside.replaceAll("''", "'");
  // Nothing that a terminal would obey.
  expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  if (escape === '') {
    expect(text).not.toContain('\\');
    return text;
  }
  return text.replace(/\\(?:u([0-9a-f]{4})|\\)/g, (_match, code?: string) =>
    code === undefined ? '\\' : String.fromCharCode(parseInt(code, 16)),
  );
}

it.each([
  ["it's", "'it''s'"],
  ["'; DROP TABLE elo_agent_tiers; --", "'''; DROP TABLE elo_agent_tiers; --'"],
  ['a\\', "E'a\\\\'"],
  ["\\'", "E'\\\\'''"],
  ['$$ $1 :name', "'$$ $1 :name'"],
  ['a\u0000b', "'ab'"],
  ['\u001b]0;x\u0007\\u', "E'\\u001b]0;x\\u0007\\\\u'"],
])('writes %j as %s', (text, sql) => {
  expect(sqlText(text)).toBe(sql);
});

it('writes any text as one literal that says the same', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.oneof(
          fc.constantFrom("'", '\\', '$', '\n', ';', '-', 'u001b', '\u001b', '\u009b'),
          fc.string({ maxLength: 1 }),
        ),
      }),
      (text) => {
        expect(readLiteral(sqlText(text))).toBe(text.replaceAll('\u0000', '').toWellFormed());
      },
    ),
  );
});

it('writes JSON that Postgres can take', () => {
  expect(JSON.parse(readLiteral(sqlJson({ "a'\u0000": ['\\', '\u0000', { b: '\ud800' }] })))).toEqual({
    "a'": ['\\', '', { b: '\ufffd' }],
  });
});

it('writes lists', () => {
  expect(sqlTextArray(['a', "b'"])).toBe("ARRAY['a', 'b''']");
  expect(sqlTextArray([])).toBe('ARRAY[]::text[]');
});

it.each(['\n', '\r', '\r\n', '\u2028', '\u0085', '\u000b', '\u0000'])('keeps a comment a comment: %j', (end) => {
  const text = sqlComment(`Agent ${end} DROP TABLE x; --`);
  expect(text.split(/[\n\r\u2028\u2029\u0085\u000b\u000c]/).every((line) => line.startsWith('-- '))).toBe(true);
});

it('shows names on one line, without what turns text around', () => {
  expect(showName('a\n\u202eb\u0000')).toBe('a b');
  expect(showName('x'.repeat(500)).length).toBeLessThanOrEqual(120);
});

it('shows names in Markdown as they are', () => {
  expect(showInMarkdown('[x](javascript:y) <img> `z` **b**')).toBe(
    '\\[x\\]\\(javascript\\:y\\) &lt;img&gt; \\`z\\` \\*\\*b\\*\\*',
  );
});
