import { cypherIssue, usesParameter } from '../../../runtime/tools/builtin/check-cypher';
import { fc } from '../../support/values/properties';

it.each([
  'MATCH (n:Person {tenant: $tenant_id}) RETURN n.name LIMIT 5',
  'MATCH (n) WHERE n.name = "CREATE (x) DELETE y" RETURN n',
  "MATCH (n) WHERE n.name = 'it\\'s SET' RETURN n // SET n.x = 1",
  'MATCH (n:`Set`) /* DELETE n */ RETURN n.`delete`',
  'MATCH (n) RETURN n.created, n.offset, n.settings',
  'MATCH (n) WHERE n.url = "http://a/b" RETURN count(n)',
  'CALL { MATCH (n) RETURN n LIMIT 1 } RETURN n',
  'MATCH (m) CALL (m) { MATCH (m)--(n) RETURN n } RETURN n',
  'CALL db.labels() YIELD label RETURN label',
  'call db . labels yield label return label',
  "CALL db.index.fulltext.queryNodes('names', $q) YIELD node RETURN node",
  "RETURN date.truncate('month', date()), point.distance(a, b), toUpper('x')",
  'MATCH (n) WHERE n.set_at > $set RETURN n',
  'UNWIND $set AS x RETURN x',
])('lets through %s', (statement) => expect(cypherIssue(statement)).toBeUndefined());

it.each([
  'CREATE (n)',
  'MATCH (n) SET n.a = 1',
  'match (n) set n.a = 1',
  'MATCH (n) DETACH DELETE n',
  'MATCH (n)\nREMOVE n.a',
  'MERGE (n)',
  'MATCH (n) FOREACH (x IN [1] | SET n.a = x)',
  "LOAD CSV FROM 'http://169.254.169.254/' AS line RETURN line",
  "LOAD/**/CSV FROM 'file:///etc/passwd' AS line RETURN line",
  'DROP INDEX a',
  'INSERT (n)',
  'CALL { MATCH (n) RETURN n } IN TRANSACTIONS RETURN n',
  'CALL apoc.load.json("http://a/") YIELD value RETURN value',
  'CALL\n apoc . load . json("x")',
  'CALL `apoc`.`load`.`json`("x")',
  'CALL `db`.labels()',
  'CALL /* db.labels() */ dbms.listConfig()',
  'CALL',
  'CALL апок.load()',
  'RETURN apoc.cypher.runFirstColumnSingle("MATCH (n) RETURN n", {})',
  'RETURN `apoc`.`cypher`.`run`("x")',
  'RETURN genai.vector.encode("x", "OpenAI", {})',
  'SHOW USERS',
  'USE other MATCH (n) RETURN n',
  'TERMINATE TRANSACTIONS "x"',
  'ALTER USER neo4j SET PASSWORD "x"',
  'CR\\u0045ATE (n)',
  'MATCH (n) WHERE n.a = "\\u0022 SET n.b = 1 //" RETURN n',
  "MATCH (n) WHERE n.a = 'x RETURN n",
  'MATCH (n) /* never ends',
  'MATCH (n:`x) RETURN n',
  "RETURN 'a' // '\nSET n.a = 1",
  "RETURN '\\\\' SET n.a = 1 //'",
])('keeps out %s', (statement) => expect(cypherIssue(statement)).toEqual(expect.any(String)));

it('lets through the procedures and functions that the row names beside', () => {
  expect(cypherIssue('CALL apoc.meta.stats() YIELD labels RETURN labels', ['APOC.meta.stats'])).toBeUndefined();
  expect(cypherIssue("RETURN apoc.text.join(['a'], ',')", ['apoc.text.join'])).toBeUndefined();
});

const WORDS = ['CREATE', 'set', 'Delete', 'MERGE', 'REMOVE', 'drop', 'LOAD', 'FOREACH'];

it('finds a clause that writes, whatever stands around it', () => {
  const filler = fc.constantFrom("'a'", '"SET"', '/* x */', '// y\n', '`z`', '\n', '\t', ' ', '(n)', '{a: 1}', "'\\''");
  fc.assert(
    fc.property(fc.array(filler), fc.constantFrom(...WORDS), fc.array(filler), (before, word, after) => {
      expect(cypherIssue([...before, word, ...after].join(' '))).toContain(word);
    }),
  );
});

it('never finds one in a text, a comment or a quoted name', () => {
  const inner = fc.array(fc.constantFrom(...WORDS, 'x', ' ', '1'));
  const quoted = fc.constantFrom<readonly [string, string]>(
    ["'", "'"],
    ['"', '"'],
    ['`', '`'],
    ['/*', '*/'],
    ['//', '\n'],
  );
  fc.assert(
    fc.property(inner, quoted, (words, [open, close]) => {
      expect(cypherIssue(`RETURN 1 ${open}${words.join(' ')}${close} AS y`)).toBeUndefined();
    }),
  );
});

it.each([
  ['MATCH (n {t: $tenant_id}) RETURN n', true],
  ['MATCH (n {t: $ tenant_id}) RETURN n', true],
  ['MATCH (n {t: $tenant_ids}) RETURN n', false],
  ['MATCH (n) RETURN n // $tenant_id', false],
  ["MATCH (n {t: '$tenant_id'}) RETURN n", false],
])('of %s: asks for the parameter: %s', (statement, uses) => {
  expect(usesParameter(statement, 'tenant_id')).toBe(uses);
});
