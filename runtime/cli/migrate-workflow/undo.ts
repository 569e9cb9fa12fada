import path from 'node:path';

import { RuntimeError } from '../../errors/runtime-error';
import { UsageError } from '../arguments';
import { terminal } from '../terminal';
import { type FailedFile, failedFile } from './migrate-source';
import { plural, printFailure } from './progress';
import { type MigratedEntry, readReport } from './report-file';
import type { UndoRequest } from './request';
import { isFolder, sha256At, writeWhole } from './write-files';

/**
 * `migrate-workflow --undo REPORT -o OUT`: the originals, byte for byte. A file that is neither what was migrated nor
 * the original is left, unless it may be overwritten. Gives the exit code. Throws REPORT_INVALID.
 */
export function undoMigration({ report, out, overwrite }: UndoRequest): number {
  const file = readReport(report);
  if (file === undefined) throw new RuntimeError('REPORT_INVALID', { file: report, reason: 'there is no such file' });
  const entries = file.files.filter((entry) => entry.status === 'migrated');
  if (out === '-') return printOriginal(entries);
  const intoFolder = entries.length !== 1 || out.endsWith('/') || isFolder(out);
  const failures: FailedFile[] = [];
  let restored = 0;
  for (const entry of entries) {
    const target = intoFolder ? path.join(out, ...entry.path.split('/')) : out;
    try {
      restored += restore(entry, target, overwrite) ? 1 : 0;
    } catch (error) {
      failures.push(failedFile({ label: target }, error));
    }
  }
  failures.forEach(printFailure);
  const same = entries.length - restored - failures.length;
  terminal().stdout.write(
    `${plural(entries.length, 'file')}: ${restored} restored, ${same} were so already, ${failures.length} failed.\n`,
  );
  return failures.length === 0 ? 0 : 1;
}

/** False when the original stands there already. */
function restore({ original, migrated }: MigratedEntry, target: string, overwrite: boolean): boolean {
  const standing = sha256At(target);
  if (standing === original.sha256) return false;
  if (standing !== undefined && standing !== migrated.sha256 && !overwrite) {
    throw new RuntimeError('UNDO_REFUSED', { file: target });
  }
  writeWhole(target, original.text);
  return true;
}

function printOriginal(entries: readonly MigratedEntry[]): number {
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) throw new UsageError('-o - is for a report of one migrated file.');
  terminal().stdout.write(entry.original.text);
  return 0;
}
