import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { named } from '../../../../runtime/storage/sql/named';
import { parseSql } from '../../../../runtime/tools/builtin/sql-query/parse-sql';

const FOLDER = path.join(__dirname, '../../../../runtime/storage/sql');
const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.sql'));

it('finds the statements', () => {
  expect(files).toContain(path.join('ledger', 'claim-run.sql'));
});

it.each(files)('%s is one statement by the grammar of Postgres, and says what it is for', async (name) => {
  const sql = readFileSync(path.join(FOLDER, name), 'utf8');
  expect(sql).toMatch(/^-- [A-Z]/);
  const parsed = await parseSql(named(sql)({}).text);
  expect(parsed).toMatchObject({ ok: true, tree: { stmts: { length: 1 } } });
});

describe('a named parameter', () => {
  it('has one number wherever it stands, and is no cast', () => {
    const statement = named<{ readonly a: number; readonly b?: string }>('SELECT :a::int, :b, x::text WHERE :a > 1')({
      a: 7,
    });
    expect(statement).toMatchObject({ text: 'SELECT $1::int, $2, x::text WHERE $1 > 1', values: [7, null] });
  });

  it('is not looked for in a comment', () => {
    expect(named('-- Reads :nothing.\nSELECT 1')({})).toMatchObject({ text: 'SELECT 1', values: [] });
  });
});
