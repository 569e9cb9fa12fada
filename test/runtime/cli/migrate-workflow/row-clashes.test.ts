import { type MigratedFile, sha256 } from '../../../../runtime/cli/migrate-workflow/migrate-source';
import type { MigratedEntry } from '../../../../runtime/cli/migrate-workflow/report-file';
import { failClashes } from '../../../../runtime/cli/migrate-workflow/rows/row-clashes';

const file = (path: string, sql: string): MigratedFile => ({
  kind: 'migrated',
  source: { path, label: path, read: () => Promise.resolve(new Uint8Array()) },
  original: '',
  migrated: '',
  sql,
  reports: [],
});
const tool = (code: string, url: string): string =>
  `BEGIN;\n-- Tool; one\nINSERT INTO elo_agent_tools (code, url)\nVALUES ('${code}', '${url}') ON CONFLICT (code) DO NOTHING;\nCOMMIT;`;

it('keeps files that need the same row, or rows of other names', () => {
  const files = [file('a', tool('x', 'u')), file('b', tool('x', 'u')), file('c', tool('y', 'v'))];
  expect(failClashes(files, [])).toEqual(files);
});

it('fails the later of two files that need different rows of one name', () => {
  const [first, second] = failClashes([file('a', tool('x', 'u')), file('b', tool('x', 'v'))], []);
  expect(first).toMatchObject({ kind: 'migrated' });
  expect(second).toMatchObject({
    kind: 'failed',
    error: {
      code: 'MIGRATION_ROWS_CLASH',
      message: 'The workflows "a" and "b" both need the row elo_agent_tools "x", with different values.',
    },
  });
});

it('sees where a statement ends, whatever its literals hold', () => {
  const odd = "it''s; -- not a comment";
  const both = [file('a', tool('x', odd)), file('b', tool('x', `${odd};`))];
  expect(failClashes(both, []).map(({ kind }) => kind)).toEqual(['migrated', 'failed']);
});

it('reads a literal of many megabytes', () => {
  const long = 'x'.repeat(30_000_000);
  expect(failClashes([file('a', tool('x', long)), file('b', tool('x', 'v'))], [])).toMatchObject([
    { kind: 'migrated' },
    { kind: 'failed' },
  ]);
});

it('looks at the rows of an earlier run too, but for those of the same file', () => {
  const entry = (path: string): MigratedEntry => ({
    status: 'migrated',
    path,
    sql: tool('x', 'u'),
    reports: [],
    original: { sha256: '', text: '' },
    migrated: { sha256: sha256('what it was made') },
  });
  const continued = { ...file('a', tool('x', 'v')), original: 'what it was made' };
  expect(failClashes([continued], [entry('a')])).toMatchObject([{ kind: 'failed' }]);
  expect(failClashes([file('b', tool('x', 'v'))], [entry('a')])).toMatchObject([{ kind: 'failed' }]);
  expect(failClashes([file('a', tool('x', 'v'))], [entry('a')])).toMatchObject([{ kind: 'migrated' }]);
});
