/** What ends a statement, or begins what no semicolon ends it in. */
const MARK = /--|'|;/g;
const TENANT_VARIABLE = ":'tenant_id'";
const TENANT_PARAMETER = '$1::uuid';

export interface SqlStatement {
  readonly text: string;
  /** It is run for each tenant, whose id is its only parameter. */
  readonly isOfTenant: boolean;
}

/**
 * The statements without comments; a semicolon in a literal ends nothing. Literals may be as long as a file. psql's variable for
 * the tenant becomes the first parameter.
 */
export function statementsOf(sql: string): readonly SqlStatement[] {
  const statements: SqlStatement[] = [];
  let statement = '';
  let isOfTenant = false;
  let done = 0;
  for (MARK.lastIndex = 0; ; MARK.lastIndex = done) {
    const found = MARK.exec(sql);
    if (found === null) return statements;
    const [mark] = found;
    const end = mark === "'" ? endOfLiteral(sql, found.index) : found.index;
    const isTenant = mark === "'" && sql.slice(found.index - 1, end) === TENANT_VARIABLE;
    isOfTenant ||= isTenant;
    statement += isTenant ? `${sql.slice(done, found.index - 1)}${TENANT_PARAMETER}` : sql.slice(done, end);
    done = mark === '--' ? endOfLine(sql, end) : end;
    if (mark !== ';') continue;
    statements.push({ text: statement.trim(), isOfTenant });
    statement = '';
    isOfTenant = false;
    done++;
  }
}

function endOfLine(sql: string, from: number): number {
  const end = sql.indexOf('\n', from);
  return end < 0 ? sql.length : end;
}

/** After its last quote. Quotes in it are doubled, with backslashes as without. */
function endOfLiteral(sql: string, from: number): number {
  for (let at = from + 1; ; at += 2) {
    at = sql.indexOf("'", at);
    if (at < 0) return sql.length;
    if (sql[at + 1] !== "'") return at + 1;
  }
}
