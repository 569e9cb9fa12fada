import { RuntimeError } from '../../../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../util/json';
import { ALLOWED_FUNCTIONS, ALLOWED_OPERATORS, ALLOWED_TYPES } from './allowed-names';
import { ALLOWED_NODES, PLAIN_NAMES } from './allowed-nodes';
import { parseSql } from './parse-sql';

const MAX_BYTES = 10_000;
const MAX_DEPTH = 400;

/**
 * The text of the one SELECT that may be run, without what stands before and after it. Throws SQL_REFUSED that says
 * what is not allowed. Everything is judged by Postgres' own grammar, never by the text.
 */
export async function checkQuery(text: string): Promise<string> {
  checkText(text);
  const parsed = await parseSql(text);
  if (!parsed.ok) return refuse(parsed.reason);
  const statement = onlySelect(parsed.tree);
  const walk: Walk = { functionColumns: new Map(), columns: [] };
  checkValue(walk, statement.stmt, 0);
  checkColumns(walk);
  return sliceStatement(text, statement);
}

function checkText(text: string): void {
  if (Buffer.byteLength(text) > MAX_BYTES) refuse(`it is longer than ${MAX_BYTES} bytes`);
  // Both end the text or change it on its way to the parser or to the server, but not in the same way.
  if (text.includes('\0') || !text.isWellFormed()) refuse('it holds a character that is none');
  if (text.trim() === '') refuse('it is empty');
}

function onlySelect({ stmts }: JsonObject): JsonObject {
  const statements = (stmts ?? []) as readonly JsonObject[];
  const [statement] = statements;
  if (statement === undefined) return refuse('it is empty');
  if (statements.length > 1) refuse(`it has ${statements.length} statements`);
  if (isJsonObject(statement.stmt) && statement.stmt.SelectStmt !== undefined) return statement;
  return refuse(`${nodeName(statement.stmt)} is not a SELECT`);
}

function refuse(reason: string): never {
  throw new RuntimeError('SQL_REFUSED', { reason });
}

function nodeName(node: JsonValue | undefined): string {
  const name = isJsonObject(node) ? (Object.keys(node)[0] ?? 'it') : 'it';
  return PLAIN_NAMES[name] ?? name;
}

/** The parser counts in bytes. A length is given only for a statement with a semicolon after it. */
function sliceStatement(text: string, { stmt_location: start, stmt_len: length }: JsonObject): string {
  const bytes = Buffer.from(text, 'utf8');
  const from = typeof start === 'number' ? start : 0;
  return bytes
    .subarray(from, typeof length === 'number' ? from + length : undefined)
    .toString('utf8')
    .trim();
}

interface Walk {
  /** The columns of each function in FROM, by the name that it has there. */
  readonly functionColumns: Map<string, Set<string>>;
  /** Names of the form `a.b`. */
  readonly columns: (readonly [qualifier: string, name: string])[];
}

/** A node under its name, a list of such, or a plain value. */
function checkValue(walk: Walk, value: JsonValue | undefined, depth: number): void {
  if (depth > MAX_DEPTH) refuse('it is nested too deeply');
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[]) checkValue(walk, item, depth + 1);
  } else if (isJsonObject(value)) {
    for (const [name, node] of Object.entries(value)) checkNode(walk, { name, node }, depth + 1);
  }
}

function checkNode(walk: Walk, given: { readonly name: string; readonly node: JsonValue }, depth: number): void {
  const { name, node } = given;
  const fields = ALLOWED_NODES.get(name);
  if (fields === undefined || !isJsonObject(node)) return refuse(`${PLAIN_NAMES[name] ?? name} is not allowed`);
  for (const [field, value] of Object.entries(node)) {
    if (field === 'location') continue;
    const path = `${name}.${field}`;
    if (!fields.has(field)) refuse(`${PLAIN_NAMES[path] ?? path} is not allowed`);
    const fixed = fields.get(field);
    if (fixed === undefined) checkValue(walk, value, depth);
    else checkNode(walk, { name: fixed, node: value }, depth + 1);
  }
  RULES[name]?.(walk, node);
}

/** The date and the time; the others name roles and schemas. */
const VALUE_FUNCTION = /^SVFOP_(CURRENT|LOCAL)_?(DATE|TIME|TIMESTAMP)(_N)?$/;

type Rule = (walk: Walk, node: JsonObject) => void;

/** What a node of an allowed kind must not be. */
const RULES: Readonly<Record<string, Rule | undefined>> = {
  RangeVar: (_walk, { schemaname, relname }) => {
    for (const name of [schemaname, relname]) {
      if (typeof name === 'string' && /^pg_|^information_schema$/i.test(name)) refuse(`"${name}" is not for queries`);
    }
  },
  FuncCall: (_walk, { funcname }) => checkName(ALLOWED_FUNCTIONS, funcname, 'function'),
  TypeName: (_walk, { names }) => checkName(ALLOWED_TYPES, names, 'type'),
  A_Expr: (_walk, { name }) => checkName(ALLOWED_OPERATORS, name, 'operator'),
  SubLink: (_walk, { operName }) => {
    if (operName !== undefined) checkName(ALLOWED_OPERATORS, operName, 'operator');
  },
  SQLValueFunction: (_walk, { op }) => {
    if (typeof op !== 'string' || !VALUE_FUNCTION.test(op)) refuse(`${JSON.stringify(op)} is not allowed`);
  },
  // ('/etc/passwd').pg_read_file is a call.
  A_Indirection: (_walk, { indirection }) => {
    const isSubscript = (one: JsonValue): boolean => isJsonObject(one) && one.A_Indices !== undefined;
    if (!(indirection as readonly JsonValue[]).every(isSubscript))
      refuse('a name after a value in brackets is not allowed');
  },
  ColumnRef: ({ columns }, { fields }) => {
    const [name, qualifier] = texts(fields).toReversed();
    if (name !== undefined && qualifier !== undefined) columns.push([qualifier, name]);
  },
  RangeFunction: ({ functionColumns }, { functions, alias }) => {
    const called = ((functions as readonly JsonObject[])[0]?.List as JsonObject).items as readonly JsonObject[];
    const call = called[0]?.FuncCall;
    if (!isJsonObject(call)) return refuse('what stands in FROM is no table and no function');
    const { aliasname, colnames } = (alias ?? {}) as JsonObject;
    const name = typeof aliasname === 'string' ? aliasname : (texts(call.funcname).at(-1) ?? '');
    const known = functionColumns.get(name);
    const own = new Set([name, 'key', 'value', 'ordinality', ...texts(colnames)]);
    functionColumns.set(name, known === undefined ? own : known.intersection(own));
  },
};

/** The texts of a list of String nodes; other nodes give an empty text. */
function texts(list: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(list)) return [];
  return (list as readonly JsonObject[]).map((item) => {
    const text = isJsonObject(item.String) ? item.String.sval : '';
    return typeof text === 'string' ? text : '';
  });
}

/** Only Postgres' own schema may stand before a name. */
function checkName(allowed: ReadonlySet<string>, list: JsonValue | undefined, kind: string): void {
  const parts = texts(list);
  const [name = ''] = parts.toReversed();
  const isOwn = parts.length === 1 || (parts.length === 2 && parts[0] === 'pg_catalog');
  if (!isOwn || !allowed.has(name)) refuse(`${kind} "${parts.join('.')}" is not allowed`);
}

/**
 * Refuses columns that are calls: in `FROM lower('/etc/passwd') AS t`, Postgres reads `t.pg_read_file` as a call, as
 * long as it knows no column of this name. So a function's columns are those that are named with it.
 */
function checkColumns({ functionColumns, columns }: Walk): void {
  for (const [qualifier, name] of columns) {
    const known = functionColumns.get(qualifier);
    // An empty name is the star.
    if (known === undefined || name === '' || known.has(name)) continue;
    refuse(
      `"${qualifier}.${name}" is not allowed; name the columns of the function, as in f() AS ${qualifier} (${name})`,
    );
  }
}
