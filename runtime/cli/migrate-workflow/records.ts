import { RuntimeError } from '../../errors/runtime-error';
import type { FileOutcome } from './migrate-source';
import {
  lostOriginals,
  mergeEntries,
  readReport,
  reportEntries,
  type ReportEntry,
  writeMarkdownReport,
  writeReport,
  writeSql,
} from './report-file';
import { markdownName, type MigrateRequest } from './request';
import { holds, refuseOther, writeWhole } from './write-files';

type RecordsRequest = Pick<MigrateRequest, 'sql' | 'report' | 'overwrite'>;

/** What the report of an earlier run holds. Throws REPORT_INVALID for a file that is something else. */
export function entriesOfBefore({ report }: Pick<RecordsRequest, 'report'>): readonly ReportEntry[] {
  return report === undefined ? [] : (readReport(report)?.files ?? []);
}

/**
 * Writes what belongs beside the workflows: the report with its Markdown, and the SQL file. Both go on with those of an
 * earlier run. Everything is checked before the first byte is written. Throws OUTPUT_EXISTS, OUTPUT_FAILED, the latter
 * when another run has written the report since `before` was read: it may hold the only copy of an original.
 */
export function writeRecords(
  { sql, report, overwrite }: RecordsRequest,
  outcomes: readonly FileOutcome[],
  before: readonly ReportEntry[],
): void {
  const now = reportEntries(outcomes);
  const entries = mergeEntries(before, now);
  const statements = writeSql(entries);
  if (report !== undefined) {
    refuseChanged(report, before);
    if (!overwrite && lostOriginals(before, now).length > 0) throw new RuntimeError('OUTPUT_EXISTS', { file: report });
  }
  // A run that needs no rows leaves the file of an earlier one alone.
  const sqlFile = statements === '' ? undefined : sql;
  if (sqlFile !== undefined && !overwrite && !isOfBefore(sqlFile, before)) refuseOther(sqlFile, statements);
  if (report !== undefined) {
    writeWhole(report, writeReport(entries));
    writeWhole(markdownName(report), writeMarkdownReport(entries));
  }
  if (sqlFile !== undefined) writeWhole(sqlFile, statements);
}

function refuseChanged(report: string, before: readonly ReportEntry[]): void {
  if (writeReport(entriesOfBefore({ report })) === writeReport(before)) return;
  throw new RuntimeError('OUTPUT_FAILED', { file: report, reason: 'another run has changed it meanwhile' });
}

/** True for the SQL file that the run of an earlier report wrote: this run goes on with it. */
function isOfBefore(sql: string, before: readonly ReportEntry[]): boolean {
  return before.length > 0 && holds(sql, writeSql(before));
}
