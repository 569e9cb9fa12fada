import { createHash } from 'node:crypto';
import path from 'node:path';

import type { ErrorSummary } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import type { JsonValue } from '../../util/json';
import type { MigrationOptions, MigrationReport } from '../../workflow-migration/contract';
import { migrateWorkflow } from '../../workflow-migration/migrate-workflow';
import type { Source } from './find-sources';
import { decodeWorkflow, parseWorkflowText, writeJson } from './read-workflow';

/** What became of one file. */
export type FileOutcome = MigratedFile | LeftFile | FailedFile;

export interface MigratedFile {
  readonly kind: 'migrated';
  readonly source: Source;
  readonly original: string;
  readonly migrated: string;
  /** Empty when no rows are needed. */
  readonly sql: string;
  /** One for each workflow in the file. */
  readonly reports: readonly MigrationReport[];
}

interface LeftFile {
  readonly kind: 'left';
  readonly source: Source;
  readonly reports: readonly MigrationReport[];
}

export interface FailedFile {
  readonly kind: 'failed';
  readonly source: Pick<Source, 'label'>;
  readonly error: ErrorSummary;
}

/** Migrates one file, which holds a workflow or, as `n8n export:workflow` writes it, a list of them. Never rejects. */
export async function migrateSource(source: Source, options: MigrationOptions): Promise<FileOutcome> {
  try {
    const original = decodeWorkflow(source.label, await source.read());
    const { value, layout } = parseWorkflowText(source.label, original);
    const workflows: readonly JsonValue[] = isList(value) ? value : [value];
    const names = fallbackNames(source, workflows.length);
    const migrations = workflows.map((workflow, index) =>
      migrateWorkflow(workflow, { ...options, fallbackName: names[index] }),
    );
    const reports = migrations.map(({ report }) => report);
    const results = migrations.map((one, index) => (one.kind === 'migrated' ? one.workflow : workflows[index]));
    if (migrations.every(({ kind }) => kind === 'unchanged')) return { kind: 'left', source, reports };
    return {
      kind: 'migrated',
      source,
      original,
      migrated: writeJson(isList(value) ? results : results[0], layout),
      sql: migrations
        .map((one) => (one.kind === 'migrated' ? one.sql.trim() : ''))
        .filter((sql) => sql !== '')
        .join('\n'),
      reports,
    };
  } catch (error) {
    return failedFile(source, error);
  }
}

/** Names of the workflows of a file that have none: the file's name, with a number where it holds several. */
function fallbackNames({ file, path: place }: Source, count: number): readonly (string | undefined)[] {
  const name = file === undefined ? undefined : path.posix.basename(place).replace(/\.json$/i, '');
  return Array.from({ length: count }, (_, index) =>
    name === undefined || count === 1 ? name : `${name} ${index + 1}`,
  );
}

export function failedFile(source: Pick<Source, 'label'>, error: unknown): FailedFile {
  return { kind: 'failed', source, error: toRuntimeError(error).toSummary() };
}

/** An empty list is no workflow either: the parser of workflows says so. */
function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value) && value.length > 0;
}

export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
