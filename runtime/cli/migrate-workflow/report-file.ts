import { readFileSync } from 'node:fs';

import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { isJsonObject, type JsonObject, tryParseJson } from '../../util/json';
import type { MigrationReport } from '../../workflow-migration/contract';
import { renderMarkdown } from '../../workflow-migration/rewrite/render-report';
import { type FileOutcome, type MigratedFile, sha256 } from './migrate-source';

/** The JSON report: by file what was done, and what it takes to undo it. No times, so that it is the same every time. */
interface ReportFile {
  readonly version: 1;
  readonly files: readonly ReportEntry[];
}

export type ReportEntry = MigratedEntry | LeftEntry;

export interface MigratedEntry {
  readonly status: 'migrated';
  /** Below OUT, with forward slashes. */
  readonly path: string;
  readonly reports: readonly MigrationReport[];
  readonly sql: string;
  readonly original: { readonly sha256: string; readonly text: string };
  readonly migrated: { readonly sha256: string };
}

interface LeftEntry {
  readonly status: 'left';
  readonly path: string;
  readonly reports: readonly MigrationReport[];
}

/** The entries of a run; files that failed have none. */
export function reportEntries(outcomes: readonly FileOutcome[]): readonly ReportEntry[] {
  return outcomes.flatMap((outcome): readonly ReportEntry[] => {
    if (outcome.kind === 'failed') return [];
    if (outcome.kind === 'migrated') return [migratedEntry(outcome)];
    return [{ status: 'left', path: outcome.source.path, reports: outcome.reports }];
  });
}

function migratedEntry({ source, reports, sql, original, migrated }: MigratedFile): MigratedEntry {
  return {
    status: 'migrated',
    path: source.path,
    reports,
    sql,
    original: { sha256: sha256(original), text: original },
    migrated: { sha256: sha256(migrated) },
  };
}

/**
 * True for a file that was migrated in place before, and now again, since more was allowed: what counts as its original
 * now is what the run of before made of it.
 */
export function isContinued(before: MigratedEntry, originalNow: string): boolean {
  return before.migrated.sha256 === originalNow;
}

/**
 * The entries of before and of now, in the order of their paths. A file that is left now because it was migrated before
 * keeps its entry: it holds the original. One that was migrated in place twice keeps its first original, and all rows.
 */
export function mergeEntries(before: readonly ReportEntry[], now: readonly ReportEntry[]): readonly ReportEntry[] {
  const byPath = new Map(before.map((entry) => [entry.path, entry]));
  for (const entry of now) {
    const old = byPath.get(entry.path);
    if (entry.status === 'migrated') byPath.set(entry.path, continued(old, entry));
    else if (old?.status !== 'migrated') byPath.set(entry.path, entry);
  }
  return [...byPath.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}

function continued(old: ReportEntry | undefined, now: MigratedEntry): MigratedEntry {
  if (old?.status !== 'migrated' || !isContinued(old, now.original.sha256)) return now;
  const sql = [old.sql, now.sql].filter((text) => text !== '').join('\n');
  return { ...now, original: old.original, sql, reports: [...old.reports, ...now.reports] };
}

/** The originals that the entries of now would push out of the report, by path. */
export function lostOriginals(before: readonly ReportEntry[], now: readonly ReportEntry[]): readonly string[] {
  const originals = new Map(
    now.flatMap((entry) => (entry.status === 'migrated' ? [[entry.path, entry] as const] : [])),
  );
  return before.flatMap((entry) => {
    const later = originals.get(entry.path);
    if (entry.status !== 'migrated' || later === undefined) return [];
    const isKept = later.original.sha256 === entry.original.sha256 || isContinued(entry, later.original.sha256);
    return isKept ? [] : [entry.path];
  });
}

export function writeReport(files: readonly ReportEntry[]): string {
  const report: ReportFile = { version: 1, files };
  return `${JSON.stringify(report, null, 2)}\n`;
}

export function writeMarkdownReport(files: readonly ReportEntry[]): string {
  return renderMarkdown(files.flatMap(({ path: file, reports }) => reports.map((report) => ({ file, report }))));
}

/** The rows that all migrated workflows need, as one file of statements; empty when they need none. */
export function writeSql(files: readonly ReportEntry[]): string {
  const parts = files.flatMap((entry) =>
    entry.status === 'migrated' && entry.sql !== '' ? [`-- ${asComment(entry.path)}\n${entry.sql}\n`] : [],
  );
  return parts.join('\n');
}

/** A name with a line break in it must not become a statement. */
const asComment = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ');

/** A report that was written before. Undefined: there is none. Throws REPORT_INVALID. */
export function readReport(file: string): ReportFile | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw invalid(file, errorText(error), error);
  }
  const parsed = tryParseJson(text, Infinity);
  if (!parsed.ok) throw invalid(file, parsed.reason);
  const { value } = parsed;
  if (!isJsonObject(value) || value.version !== 1 || !Array.isArray(value.files)) {
    throw invalid(file, 'it has no version and files as this version writes them');
  }
  const wrong = value.files.findIndex((entry: unknown) => !isEntry(entry));
  if (wrong >= 0) throw invalid(file, `its entry ${wrong + 1} is incomplete, or was changed`);
  return value as unknown as ReportFile;
}

function isEntry(value: unknown): boolean {
  if (!isJsonObject(value) || !isPathBelow(value.path) || !Array.isArray(value.reports)) return false;
  return value.status === 'left' || (value.status === 'migrated' && isMigrated(value));
}

function isMigrated({ original, migrated, sql }: JsonObject): boolean {
  if (!isJsonObject(original) || !isJsonObject(migrated) || typeof sql !== 'string') return false;
  if (typeof original.text !== 'string' || typeof migrated.sha256 !== 'string') return false;
  return sha256(original.text) === original.sha256;
}

/** A path that leads out of OUT would let a report write anywhere. */
function isPathBelow(value: unknown): boolean {
  if (typeof value !== 'string' || value === '' || /^\/|^[A-Za-z]:|\\|\0/.test(value)) return false;
  return value.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

function invalid(file: string, reason: string, cause?: unknown): RuntimeError {
  return new RuntimeError('REPORT_INVALID', { file, reason }, { cause });
}
