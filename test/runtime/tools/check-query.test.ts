import { isRuntimeError } from '../../../runtime';
import { checkQuery } from '../../../runtime/tools/builtin/sql-query/check-query';

/** What is run of the query, or why it is refused. */
async function verdictOf(text: string): Promise<string> {
  try {
    return `accepted: ${await checkQuery(text)}`;
  } catch (error) {
    if (!isRuntimeError(error) || error.code !== 'SQL_REFUSED') throw error;
    return `refused: ${String(error.details.reason)}`;
  }
}

describe('a query that only reads is accepted as it stands', () => {
  it.each([
    'SELECT 1',
    'TABLE orders',
    'VALUES (1, 2), (3, 4)',
    '(SELECT 1 UNION ALL SELECT 2) ORDER BY 1 DESC NULLS LAST LIMIT 5 OFFSET 1',
    'SELECT * FROM orders AS o LEFT JOIN clients c USING (client_id) WHERE o.total > 10.5 AND c.name ILIKE $$A%$$',
    'SELECT DISTINCT ON (client_id) client_id, created_at FROM shop.orders ORDER BY client_id, created_at DESC',
    'WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t',
    'SELECT status, count(*) FILTER (WHERE total > 5), avg(total)::numeric(10, 2) FROM orders GROUP BY ROLLUP (status) HAVING count(*) > 1',
    'SELECT sum(total) OVER w, row_number() OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM o WINDOW w AS (ORDER BY c)',
    'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total), grouping(status) FROM orders GROUP BY status',
    "SELECT extract(year FROM created_at), date_trunc('month', created_at), created_at AT TIME ZONE 'UTC' FROM orders",
    "SELECT now() - interval '1 day', current_date, localtimestamp(3), date '2026-01-01', make_interval(days => 3)",
    "SELECT substring('abc' FROM 1 FOR 2), trim(BOTH 'x' FROM 'xyx'), position('a' IN 'ba'), overlay('abc' PLACING 'x' FROM 2)",
    "SELECT CASE WHEN a IS NULL THEN 'none' ELSE coalesce(b, c) END, nullif(a, b), greatest(1, 2), a IS DISTINCT FROM b FROM t",
    "SELECT data -> 'items' ->> 0, data #>> '{a,b}', tags[1], tags[2:3], data @> '{}'::jsonb FROM t",
    'SELECT item.value FROM orders o, LATERAL jsonb_array_elements(o.items) AS item',
    'SELECT day.day FROM generate_series(1, 3) AS day',
    'SELECT one.n FROM unnest(ARRAY[1, 2]) WITH ORDINALITY AS one (n, place) WHERE one.n = ANY (ARRAY[1]) AND (1, 2) = (1, 2)',
    'SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE b.id = a.id) AND id NOT IN (SELECT id FROM c) AND n BETWEEN 1 AND 2',
    'SELECT pg_catalog.lower(name) COLLATE "C", a OPERATOR(pg_catalog.+) 1 FROM t',
    "SELECT 'it''s; DROP TABLE x --', E'a\\n', U&'\\0061', $tag$ $$ ; $tag$",
    'SELECT "set_config", "weird "" name" FROM "Orders"',
    'SELECT $$set_config(1)$$ AS pg_sleep',
  ])('%s', async (text) => {
    expect(await verdictOf(text)).toBe(`accepted: ${text}`);
  });

  it.each([
    ['  SELECT 1 ;  ', 'SELECT 1'],
    ['SELECT 1; -- done', 'SELECT 1'],
    [';;SELECT 1;;/* ; */;', 'SELECT 1'],
    ["SELECT 'ü'; --ü", "SELECT 'ü'"],
    ['SELECT 1 -- ; SELECT 2', 'SELECT 1 -- ; SELECT 2'],
    ['/* /* nested */ ; */ SELECT 1', '/* /* nested */ ; */ SELECT 1'],
  ])('what stands around it is left away: %j', async (text, run) => {
    expect(await verdictOf(text)).toBe(`accepted: ${run}`);
  });
});

describe('anything else is refused, by what it is', () => {
  it.each([
    ['', 'empty'],
    ['-- nothing', 'empty'],
    [';', 'empty'],
    ['SELECT FROM WHERE', 'syntax error'],
    ['SELECT 1; SELECT 2', '2 statements'],
    ['SELECT 1; DROP TABLE x', '2 statements'],
    ["SELECT 'a\\'; DROP TABLE x; --'", 'statements'],
    ['SELECT 1 /* /* */', 'unterminated'],
    ['SELECT 1 /*', 'unterminated'],
    ['SELECT 1) AS q, (SELECT 2', 'syntax error'],
    ['SELECT 1\0; DROP TABLE x', 'a character that is none'],
    ['SELECT \ud800', 'a character that is none'],
    [`SELECT '${'x'.repeat(10_000)}'`, 'longer than 10000 bytes'],
    ['SELECT $1', 'a parameter'],
    // Statements
    ['INSERT INTO t VALUES (1)', 'INSERT'],
    ['UPDATE t SET a = 1', 'UPDATE'],
    ['DELETE FROM t', 'DELETE'],
    ['MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE', 'MERGE'],
    ['DROP TABLE t', 'DropStmt'],
    ['TRUNCATE t', 'TruncateStmt'],
    ["COPY t TO PROGRAM 'sh'", 'CopyStmt'],
    ['COPY (SELECT 1) TO STDOUT', 'CopyStmt'],
    ['SET ROLE postgres', 'VariableSetStmt'],
    ["SET app.tenant_id = 'x'", 'VariableSetStmt'],
    ['RESET ALL', 'VariableSetStmt'],
    ['SHOW ALL', 'VariableShowStmt'],
    ['DO $$ BEGIN END $$', 'DoStmt'],
    ['CALL f()', 'CallStmt'],
    ['EXPLAIN ANALYZE SELECT 1', 'ExplainStmt'],
    ['PREPARE p AS SELECT 1', 'PrepareStmt'],
    ['EXECUTE p', 'ExecuteStmt'],
    ['DECLARE c CURSOR FOR SELECT 1', 'DeclareCursorStmt'],
    ['COMMIT', 'TransactionStmt'],
    ['LISTEN x', 'ListenStmt'],
    ['LOCK TABLE t', 'LockStmt'],
    ['CREATE TABLE t AS SELECT 1', 'CreateTableAsStmt'],
    // Writes and locks inside of a SELECT
    ['SELECT 1 INTO x', 'SELECT INTO'],
    ['SELECT * INTO TEMP x FROM y', 'SELECT INTO'],
    ['WITH w AS (SELECT 1) SELECT * INTO x FROM w', 'SELECT INTO'],
    ['SELECT * FROM t FOR UPDATE', 'FOR UPDATE'],
    ['SELECT * FROM (SELECT * FROM t FOR SHARE) s', 'FOR UPDATE or FOR SHARE'],
    ['WITH w AS (INSERT INTO t VALUES (1) RETURNING 1) SELECT * FROM w', 'INSERT'],
    ['WITH w AS (DELETE FROM t RETURNING *) SELECT 1', 'DELETE'],
    ['SELECT (WITH w AS (UPDATE t SET a = 1 RETURNING 1) SELECT 1)', 'UPDATE'],
    // The wall
    ["SELECT set_config('app.tenant_id', 'x', false)", 'function "set_config"'],
    ["SELECT set_config('app.tenant_id', 'x', true), (SELECT count(*) FROM orders)", 'function "set_config"'],
    ["SELECT * FROM set_config('app.tenant_id', 'x', true), orders", 'function "set_config"'],
    ["SELECT * FROM orders ORDER BY pg_catalog.set_config('a', 'b', true)", 'function "pg_catalog.set_config"'],
    ["SELECT \"set_config\"('a', 'b', true)", 'function "set_config"'],
    [`SELECT U&"\\0073et_config"('a', 'b', true)`, 'function "set_config"'],
    [`SELECT U&"!0073et_config" UESCAPE '!' ('a', 'b', true)`, 'function "set_config"'],
    ["SELECT /**/SeT_CoNfIg/*x*/('a', 'b', true)", 'function "set_config"'],
    ["SELECT count(*) FILTER (WHERE set_config('a', 'b', true) = '') FROM t", 'function "set_config"'],
    ["SELECT 1 LIMIT length(set_config('a', 'b', true))", 'function "set_config"'],
    ["SELECT sum(1) OVER (ORDER BY set_config('a', 'b', true))", 'function "set_config"'],
    ["SELECT CASE WHEN true THEN set_config('a', 'b', true) END", 'function "set_config"'],
    ["VALUES (set_config('a', 'b', true))", 'function "set_config"'],
    ["SELECT ARRAY[set_config('a', 'b', true)]", 'function "set_config"'],
    ["SELECT * FROM a JOIN b ON set_config('a', 'b', true) = ''", 'function "set_config"'],
    ["SELECT lower(VARIADIC ARRAY[current_setting('a')])", 'function "current_setting"'],
    // Functions that reach out of the query
    ["SELECT pg_read_file('/etc/passwd')", 'function "pg_read_file"'],
    ['SELECT pg_sleep(1000)', 'function "pg_sleep"'],
    ['SELECT pg_terminate_backend(1)', 'function "pg_terminate_backend"'],
    ["SELECT * FROM dblink('host=x', 'DROP TABLE t') AS t(a int)", 'is not allowed'],
    ["SELECT public.dblink_exec('x')", 'function "public.dblink_exec"'],
    ["SELECT lo_import('/etc/passwd')", 'function "lo_import"'],
    ["SELECT query_to_xml('DROP TABLE t', true, true, '')", 'function "query_to_xml"'],
    ["SELECT ts_stat('SELECT 1')", 'function "ts_stat"'],
    ["SELECT ts_rewrite('a'::tsquery, 'SELECT 1')", 'function "ts_rewrite"'],
    ["SELECT nextval('s')", 'function "nextval"'],
    ['SELECT txid_current()', 'function "txid_current"'],
    ['SELECT version()', 'function "version"'],
    ["SELECT repeat('x', 1000000000)", 'function "repeat"'],
    ["SELECT lpad('x', 1000000000)", 'function "lpad"'],
    ['SELECT my_function(1)', 'function "my_function"'],
    ['SELECT public.sum(1)', 'function "public.sum"'],
    ['SELECT a.b.lower(1)', 'function "a.b.lower"'],
    // Calls in other clothes
    ["SELECT ('/etc/passwd'::text).pg_read_file", 'after a value in brackets'],
    ["SELECT (set_config('a', 'b', true)).*", 'function "set_config"'],
    ['SELECT (orders).my_function FROM orders', 'after a value in brackets'],
    ["SELECT t.pg_read_file FROM lower('/etc/passwd') AS t", '"t.pg_read_file"'],
    ["SELECT t.pg_read_file FROM lower('/etc/passwd') AS t (c)", '"t.pg_read_file"'],
    ["SELECT lower.pg_read_file FROM lower('/etc/passwd')", '"lower.pg_read_file"'],
    ["SELECT (SELECT t.pg_read_file) FROM LATERAL lower('/etc/passwd') AS t", '"t.pg_read_file"'],
    [
      "SELECT (SELECT t.pg_read_file FROM lower('a') AS t) FROM (SELECT 1 FROM lower('a') AS t (pg_read_file)) AS s",
      '"t.pg_read_file"',
    ],
    ['SELECT * FROM ROWS FROM (lower(1), upper(2)) AS t', 'RangeFunction.is_rowsfrom'],
    ['SELECT * FROM current_date AS t', 'no table and no function'],
    ['SELECT * FROM coalesce(1) AS t', 'no table and no function'],
    ['SELECT 1 OPERATOR(public.+) 2', 'operator "public.+"'],
    ['SELECT 1 === 2', 'operator "==="'],
    ['SELECT 1 OPERATOR(public.=) ANY (ARRAY[1])', 'operator "public.="'],
    ['SELECT 1 === ANY (SELECT 1)', 'operator "==="'],
    ['SELECT * FROM t ORDER BY a USING OPERATOR(public.<)', 'SortBy.useOp'],
    ["SELECT 'pg_authid'::regclass", 'type "regclass"'],
    ["SELECT CAST('x' AS pg_catalog.regproc)", 'type "pg_catalog.regproc"'],
    ["SELECT regclass 'x'", 'type "regclass"'],
    ['SELECT a::public.my_type FROM t', 'type "public.my_type"'],
    ['SELECT current_user', 'SVFOP_CURRENT_USER'],
    ['SELECT session_user', 'SVFOP_SESSION_USER'],
    ["SELECT xmlparse(DOCUMENT '<a/>')", 'XmlExpr'],
    ["SELECT * FROM XMLTABLE('/a' PASSING '<a/>' COLUMNS b int)", 'RangeTableFunc'],
    ["SELECT * FROM JSON_TABLE('[]'::jsonb, '$' COLUMNS (a int PATH '$'))", 'JsonTable'],
    // What belongs to the server
    ['SELECT * FROM pg_stat_activity', '"pg_stat_activity"'],
    ['SELECT * FROM pg_catalog.pg_class', '"pg_catalog"'],
    ['SELECT * FROM "PG_class"', '"PG_class"'],
    ['SELECT * FROM information_schema.tables', '"information_schema"'],
    ['SELECT * FROM pg_toast.pg_toast_1', '"pg_toast"'],
    ['SELECT (SELECT rolpassword FROM pg_authid)', '"pg_authid"'],
    ['TABLE pg_shadow', '"pg_shadow"'],
    ['SELECT * FROM other_database.public.t', 'RangeVar.catalogname'],
    ['SELECT * FROM t TABLESAMPLE SYSTEM (1)', 'TABLESAMPLE'],
  ])('%j', async (text, reason) => {
    const verdict = await verdictOf(text);
    expect(verdict).toMatch(/^refused: /);
    expect(verdict).toContain(reason);
  });
});

it.each([
  ['brackets with sums', `SELECT ${'(1+'.repeat(2400)}1${')'.repeat(2400)}`],
  ['sums', `SELECT 1${'+1'.repeat(4900)}`],
  ['negations', `SELECT ${'NOT '.repeat(2400)}true`],
  ['sub-selects', `SELECT ${'(SELECT '.repeat(1100)}1${')'.repeat(1100)}`],
  ['calls', `SELECT ${'abs('.repeat(1900)}1${')'.repeat(1900)}`],
])('a query of endless %s is refused, and the next one is read as ever', async (_what, text) => {
  for (let time = 0; time < 3; time++) {
    expect(await verdictOf(text)).toBe('refused: it is nested too deeply');
    expect(await verdictOf('SELECT 1')).toBe('accepted: SELECT 1');
  }
});

it('several queries at once are judged one by one', async () => {
  const texts = ['SELECT 1', 'DROP TABLE t', `SELECT 1${'+1'.repeat(4900)}`, 'SELECT 2'];
  const verdicts = await Promise.all(texts.map(verdictOf));
  expect(verdicts.map((verdict) => verdict.split(':')[0])).toEqual(['accepted', 'refused', 'refused', 'accepted']);
});
