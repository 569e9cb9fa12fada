import { words } from '../../util/text/words';

/** Procedures that only tell what is in the graph. */
const READING_PROCEDURES: readonly string[] = words(`
  db.index.fulltext.querynodes db.index.fulltext.queryrelationships db.index.vector.querynodes
  db.index.vector.queryrelationships db.labels db.propertykeys db.relationshiptypes
  db.schema.nodetypeproperties db.schema.reltypeproperties db.schema.visualization
`);

/** Functions that are named with a dot and compute. Others may run Cypher from a text, or ask other servers. */
const COMPUTING_FUNCTIONS = /^(date|datetime|localdatetime|time|localtime|duration|point|vector\.similarity)\./;

const QUOTED = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:``|[^`])*`|\/\/[^\n\r]*|\/\*[\s\S]*?\*\//g;

/** Words of clauses that write, that reach beyond the database, or that tell of other users. */
const FORBIDDEN_WORD =
  /(?<!\$)\b(CREATE|MERGE|DELETE|DETACH|SET|REMOVE|DROP|FOREACH|LOAD|INSERT|TRANSACTIONS|ALTER|GRANT|DENY|REVOKE|RENAME|TERMINATE|SHOW|USE)\b/iu;
const CALL = /\bCALL\b\s*([({]|\w+(?:\s*\.\s*\w+)*)?/giu;
const DOTTED_CALL = /(\w+(?:\s*\.\s*\w+)+)\s*\(/gu;

/**
 * Why a statement is not sent; undefined when nothing speaks against it. The words of Cypher are looked for outside of
 * texts, comments and quoted names. The server is asked for read access besides: this check also keeps out what reads
 * elsewhere, such as LOAD CSV.
 */
export function cypherIssue(statement: string, moreProcedures: readonly string[] = []): string | undefined {
  // Neo4j reads such escapes before it looks for words.
  if (/\\u/i.test(statement)) return 'it holds an escape \\u; pass the text as a parameter';
  const bare = statement.replace(QUOTED, replacement);
  if (/['"`]|\/\*/.test(bare)) return 'a text, a name or a comment in it has no end';
  const word = FORBIDDEN_WORD.exec(bare)?.[1];
  if (word !== undefined) return `it holds the word ${word}, and may only read; quote names with \`backticks\``;
  const allowed = new Set([...READING_PROCEDURES, ...moreProcedures.map((name) => name.toLowerCase())]);
  return callIssue(bare, allowed) ?? functionIssue(bare, allowed);
}

/** True when the statement asks for the parameter outside of texts and comments. */
export function usesParameter(statement: string, name: string): boolean {
  const bare = statement.replace(QUOTED, replacement);
  return new RegExp(`\\$\\s*${name}(?!\\w)`, 'u').test(bare);
}

/** What a quoted name says is not looked into, so it can be no procedure either. */
function replacement(quoted: string): string {
  if (quoted.startsWith('/')) return ' ';
  return quoted.startsWith('`') ? '_' : ' 0 ';
}

function callIssue(bare: string, allowed: ReadonlySet<string>): string | undefined {
  for (const [, target] of bare.matchAll(CALL)) {
    if (target === '(' || target === '{') continue;
    const name = plainName(target ?? '');
    if (!allowed.has(name)) return `it calls the procedure ${name}, which is not among the allowed ones`;
  }
  return undefined;
}

function functionIssue(bare: string, allowed: ReadonlySet<string>): string | undefined {
  for (const [, called] of bare.matchAll(DOTTED_CALL)) {
    const name = plainName(called ?? '');
    if (!COMPUTING_FUNCTIONS.test(name) && !allowed.has(name)) {
      return `it calls ${name}, which is not among the allowed functions`;
    }
  }
  return undefined;
}

function plainName(name: string): string {
  return name.replaceAll(/\s/g, '').toLowerCase();
}
