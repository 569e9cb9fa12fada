import { RuntimeError } from '../../errors/runtime-error';
import { failedFile, type Outcome } from './migrate-source';
import type { ReportEntry } from './report-file';

/** Comments, literals, the end of a statement, and any other character. */
const TOKENS = /(--[^\n]*)|(\b[Ee]'(?:[^'\\]|''|\\[^])*'|'(?:[^']|'')*'|\$(\w*)\$[^]*?\$\3\$)|(;)|[^]/g;
/** Rows that are inserted once, whoever comes first, named by their first literal. */
const OWN_ROW = /^INSERT INTO (elo_agent_tiers|elo_agent_tools|elo_agent_mcp_servers)\b[^']*'((?:[^']|'')*)'/;

interface Row {
  readonly name: string;
  readonly statement: string;
}

/**
 * The same outcomes; but a file fails that needs a row of another content than one before it does, since only the first
 * INSERT of the two would count.
 */
export function failClashes(outcomes: readonly Outcome[], before: readonly ReportEntry[]): readonly Outcome[] {
  const wanted = new Map<string, { readonly statement: string; readonly path: string }>();
  const keep = (path: string, rows: readonly Row[]): void =>
    rows.forEach(({ name, statement }) => wanted.set(name, { statement, path }));
  const isNow = new Set(outcomes.flatMap((outcome) => (outcome.kind === 'migrated' ? [outcome.source.path] : [])));
  for (const entry of before) {
    if (entry.status === 'migrated' && !isNow.has(entry.path)) keep(entry.path, rowsOf(entry.sql));
  }
  return outcomes.map((outcome) => {
    if (outcome.kind !== 'migrated') return outcome;
    const rows = rowsOf(outcome.sql);
    const clash = rows.find(({ name, statement }) => (wanted.get(name)?.statement ?? statement) !== statement);
    if (clash === undefined) {
      keep(outcome.source.path, rows);
      return outcome;
    }
    const one = wanted.get(clash.name)?.path;
    const error = new RuntimeError('MIGRATION_ROWS_CLASH', { row: clash.name, one, other: outcome.source.path });
    return failedFile(outcome.source, error);
  });
}

function rowsOf(sql: string): readonly Row[] {
  return statementsOf(sql).flatMap((statement) => {
    const [, table, code] = OWN_ROW.exec(statement) ?? [];
    return code === undefined ? [] : [{ name: `${table} "${code.replaceAll("''", "'")}"`, statement }];
  });
}

/** Without comments; a semicolon in a literal ends nothing. */
function statementsOf(sql: string): readonly string[] {
  const statements: string[] = [];
  let statement = '';
  for (const [token, comment, , , end] of sql.matchAll(TOKENS)) {
    if (comment !== undefined) continue;
    if (end === undefined) statement += token;
    else {
      statements.push(statement.trim());
      statement = '';
    }
  }
  return statements;
}
