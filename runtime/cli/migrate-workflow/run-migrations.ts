import { setImmediate as nextTurn } from 'node:timers/promises';

import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';

import { parseExactly } from '../../util/exact-integer';
import { escapeHidden } from '../../util/text/escape-hidden';
import type { MigrationOptions } from '../../workflow-migration/contract';
import type { Source } from './find-sources';
import { type FileOutcome, type MigratedFile, migrateSource } from './migrate-source';
import { reportProgress } from './progress';
import { reportEntries, writeSql } from './report-file';

/** Above this many changed lines a shortest diff is not worth its cost. */
const MAX_EDITS = 5000;

/** Migrates them one after the other, in memory. Never rejects. */
export async function runMigrations(
  sources: readonly Source[],
  options: MigrationOptions,
): Promise<readonly FileOutcome[]> {
  const tell = reportProgress(sources.length);
  const outcomes: FileOutcome[] = [];
  for (const source of sources) {
    outcomes.push(await migrateSource(source, options));
    tell(outcomes.length);
    await nextTurn();
  }
  return outcomes;
}

/** What a dry run prints: a unified diff of each workflow that would be migrated, then the SQL. */
export function renderDryRun(outcomes: readonly FileOutcome[]): string {
  const diffs = outcomes.flatMap((outcome) => (outcome.kind === 'migrated' ? [diffOf(outcome)] : []));
  return escapeHidden([...diffs, writeSql(reportEntries(outcomes))].filter((part) => part !== '').join('\n'));
}

function diffOf({ source, original, migrated }: MigratedFile): string {
  const name = source.path.replace(/\p{Cc}/gu, ' ');
  const [before, after] = [prettyJson(original), prettyJson(migrated)];
  const patch = createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after, undefined, undefined, {
    maxEditLength: MAX_EDITS,
    headerOptions: FILE_HEADERS_ONLY,
  });
  return patch ?? `${name}: more than ${MAX_EDITS} lines would change\n`;
}

/** A line a value, however the file is laid out. */
const prettyJson = (text: string): string => `${JSON.stringify(parseExactly(text.replace(/^\uFEFF/, '')), null, 2)}\n`;
