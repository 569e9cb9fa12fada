import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { RuntimeError } from '../../errors/runtime-error';
import { UsageError } from '../arguments';
import { terminal } from '../terminal';
import { findSources, type Found, type Source } from './find-sources';
import { type FailedFile, failedFile, type FileOutcome } from './migrate-source';
import { printDryEnd, printEnd, reportProgress } from './progress';
import { entriesOfBefore, writeRecords } from './records';
import { markdownName, type MigrateRequest } from './request';
import { applyRows } from './rows/apply-rows';
import { failClashes } from './rows/row-clashes';
import { renderDryRun, runMigrations } from './run-migrations';
import { isFolder, realPlace, refuseOther, writeWhole } from './write-files';

/** Where the workflow of a source goes: a file, or `-` for standard output. */
type Target = (source: Source) => string;

/** Migrates files to files. Gives the exit code: 1 when any failed. Throws what keeps all of them from being written. */
export async function migrateFiles(request: MigrateRequest): Promise<number> {
  const { words, out, sql, report } = request;
  const ours = [report, report && markdownName(report), sql, words.includes(out ?? '') ? undefined : out];
  const found = findSources(
    words,
    ours.filter((place): place is string => place !== undefined && place !== '-'),
  );
  if (request.isDryRun || out === undefined) return dryRun(request, found);
  const target = targetOf(out, found, words);
  refuseLostOriginals(request, found.sources, target);
  const before = entriesOfBefore(request);
  const migrated = await runMigrations(found.sources, request.options);
  const outcomes = [
    ...failuresOf(found),
    ...(await Promise.all(failClashes(migrated, before).map((outcome) => checkTarget(outcome, target, request)))),
  ];
  const people = out === '-' ? terminal().stderr : terminal().stdout;
  await applyRows(request, outcomes, people);
  writeRecords(request, outcomes, before);
  return printEnd(await writeAll(outcomes, target), people);
}

async function dryRun(request: MigrateRequest, found: Found): Promise<number> {
  const outcomes = [...failuresOf(found), ...failClashes(await runMigrations(found.sources, request.options), [])];
  if (request.isDryRun) terminal().stdout.write(renderDryRun(outcomes));
  await applyRows(request, outcomes, terminal().stderr);
  return printDryEnd(outcomes, terminal().stderr);
}

const failuresOf = ({ failures }: Found): readonly FailedFile[] =>
  failures.map(({ label, error }) => ({ kind: 'failed', source: { label }, error }));

function targetOf(out: string, { sources, hasFolder }: Found, words: readonly string[]): Target {
  const isOne = words.length === 1 && !hasFolder;
  if (out === '-') {
    if (!isOne) throw new UsageError('-o - is for one workflow.');
    return () => '-';
  }
  if (isOne && !/[\\/]$/.test(out) && !isFolder(out)) return () => out;
  const labels = new Map<string, string>();
  for (const { path: below, label } of sources) {
    const other = labels.get(below);
    if (other !== undefined) throw new UsageError(`"${other}" and "${label}" would both be written to "${below}".`);
    labels.set(below, label);
  }
  return ({ path: below }) => path.join(out, ...below.split('/'));
}

/** Overwritten in place, originals would be gone: only a report holds them. */
function refuseLostOriginals({ overwrite, report }: MigrateRequest, sources: readonly Source[], target: Target): void {
  if (!overwrite || report !== undefined) return;
  if (sources.some((source) => isInPlace(source, target(source)))) {
    throw new UsageError('To overwrite the workflows themselves, give --report FILE too: it keeps the originals.');
  }
}

function isInPlace({ file }: Source, target: string): boolean {
  return file !== undefined && target !== '-' && realPlace(target) === file;
}

/** The same outcome, or that it may not be written where it belongs. */
async function checkTarget(outcome: FileOutcome, target: Target, { overwrite }: MigrateRequest): Promise<FileOutcome> {
  if (outcome.kind === 'failed' || overwrite) return outcome;
  const place = target(outcome.source);
  if (place === '-') return outcome;
  try {
    refuseOther(place, await contentOf(outcome));
    return outcome;
  } catch (error) {
    return failedFile(outcome.source, error);
  }
}

/** A file that is left is copied as it is. */
async function contentOf(outcome: Exclude<FileOutcome, FailedFile>): Promise<string | Uint8Array> {
  return outcome.kind === 'migrated' ? outcome.migrated : outcome.source.read();
}

/** Writes one file after the other; a signal ends it between two. */
async function writeAll(outcomes: readonly FileOutcome[], target: Target): Promise<readonly FileOutcome[]> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const tell = reportProgress(outcomes.length);
  const written: FileOutcome[] = [];
  try {
    for (const outcome of outcomes) {
      if (stopping.signal.aborted)
        throw new RuntimeError('MIGRATION_STOPPED', { done: written.length, total: outcomes.length });
      written.push(await writeOutcome(outcome, target));
      tell(written.length);
      await nextTurn();
    }
    return written;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

async function writeOutcome(outcome: FileOutcome, target: Target): Promise<FileOutcome> {
  if (outcome.kind === 'failed') return outcome;
  try {
    const place = target(outcome.source);
    const content = await contentOf(outcome);
    if (place === '-') terminal().stdout.write(content);
    else writeWhole(place, content);
    return outcome;
  } catch (error) {
    return failedFile(outcome.source, error);
  }
}
