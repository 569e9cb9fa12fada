import { RuntimeError } from '../../../errors/runtime-error';
import { failedFile, type FileOutcome, sha256 } from '../migrate-source';
import { isContinued, type ReportEntry } from '../report-file';
import { statementsOf } from './sql-statements';

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
export function failClashes(outcomes: readonly FileOutcome[], before: readonly ReportEntry[]): readonly FileOutcome[] {
  const wanted = new Map<string, { readonly statement: string; readonly path: string }>();
  const keep = (path: string, rows: readonly Row[]): void =>
    rows.forEach(({ name, statement }) => wanted.set(name, { statement, path }));
  const now = new Map(
    outcomes.flatMap((one) => (one.kind === 'migrated' ? [[one.source.path, sha256(one.original)] as const] : [])),
  );
  for (const entry of before) {
    if (entry.status !== 'migrated') continue;
    const original = now.get(entry.path);
    if (original === undefined || isContinued(entry, original)) keep(entry.path, rowsOf(entry.sql));
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
  return statementsOf(sql).flatMap(({ text: statement }) => {
    const [, table, code] = OWN_ROW.exec(statement) ?? [];
    return code === undefined ? [] : [{ name: `${table} "${code.replaceAll("''", "'")}"`, statement }];
  });
}
