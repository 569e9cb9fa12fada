import { isRuntimeError } from '../../../errors/runtime-error';
import { parseExactly } from '../../../util/exact-integer';
import { isJsonObject, type JsonObject } from '../../../util/json';
import { showName } from '../../../workflow-migration/show-name';
import { UsageError } from '../../arguments';
import { terminal } from '../../terminal';
import type { Source } from '../find-sources';
import { type FailedFile, failedFile, type FileOutcome, type MigratedFile } from '../migrate-source';
import { printDryEnd, printEnd, reportProgress } from '../progress';
import { entriesOfBefore, writeRecords } from '../records';
import type { MigrateRequest, N8nAddress } from '../request';
import { applyRows } from '../rows/apply-rows';
import { failClashes } from '../rows/row-clashes';
import { renderDryRun, runMigrations } from '../run-migrations';
import { type N8nApi, openN8n } from './n8n-api';
import { copyName, copyOf, isCopy, textOf } from './n8n-copy';

const ALL = 'all';

interface StoredWorkflow {
  readonly id: string;
  readonly workflow: JsonObject;
}

/**
 * Reads workflows from a running n8n, and writes what was migrated back as new, inactive ones; the originals are never
 * changed. A copy that is there already is not made again. Gives the exit code.
 */
export async function migrateInN8n(request: MigrateRequest, address: N8nAddress): Promise<number> {
  const api = openN8n(address);
  const { stored, failures } = await readWorkflows(api, request.words);
  const byPath = new Map(stored.map((entry) => [pathOf(entry.id), entry]));
  const before = request.isDryRun ? [] : entriesOfBefore(request);
  const migrated = await runMigrations(stored.map(sourceOf), request.options);
  const outcomes = [...failures, ...failClashes(migrated, before)];
  if (request.isDryRun) {
    terminal().stdout.write(renderDryRun(outcomes));
    await applyRows(request, outcomes, terminal().stderr);
    return printDryEnd(outcomes, terminal().stderr);
  }
  await applyRows(request, outcomes, terminal().stdout);
  writeRecords(request, outcomes, before);
  const tell = reportProgress(outcomes.length);
  const written: FileOutcome[] = [];
  for (const outcome of outcomes) {
    const entry = outcome.kind === 'migrated' ? byPath.get(outcome.source.path) : undefined;
    written.push(outcome.kind === 'migrated' && entry !== undefined ? await writeCopy(api, entry, outcome) : outcome);
    tell(written.length);
  }
  return printEnd(written, terminal().stdout);
}

async function readWorkflows(
  api: N8nApi,
  words: readonly string[],
): Promise<{ readonly stored: readonly StoredWorkflow[]; readonly failures: readonly FailedFile[] }> {
  if (words.includes(ALL)) {
    if (words.length > 1) throw new UsageError('Give ids, or all, not both.');
    const found = (await api.workflows()).filter((workflow) => workflow.isArchived !== true && !isCopy(workflow));
    return { stored: found.map((workflow) => ({ id: textOf(workflow.id), workflow })), failures: [] };
  }
  const stored: StoredWorkflow[] = [];
  const failures: FailedFile[] = [];
  for (const id of new Set(words)) {
    try {
      stored.push({ id, workflow: await api.workflow(id) });
    } catch (error) {
      // Whatever else it is, the next one would fail alike.
      if (!isRuntimeError(error) || error.code !== 'N8N_WORKFLOW_NOT_FOUND') throw error;
      failures.push(failedFile({ label: id }, error));
    }
  }
  return { stored, failures };
}

const pathOf = (id: string): string => `${id.replace(/[^\w-]/g, '_')}.json`;

function sourceOf({ id, workflow }: StoredWorkflow): Source {
  const text = `${JSON.stringify(workflow, null, 2)}\n`;
  return { path: pathOf(id), label: id, read: () => Promise.resolve(Buffer.from(text)) };
}

async function writeCopy(api: N8nApi, { id, workflow }: StoredWorkflow, outcome: MigratedFile): Promise<FileOutcome> {
  try {
    const name = copyName(textOf(workflow.name));
    const existing = (await api.workflows(name)).find(
      (other) => other.name === name && other.isArchived !== true && isCopy(other, id),
    );
    const copy = existing ?? (await api.create(copyOf(workflow, migratedWorkflow(outcome), id)));
    terminal().stdout.write(
      `${showName(id)} -> ${showName(textOf(copy.id))} ${showName(name)}${existing === undefined ? '' : ' (was there already)'}\n`,
    );
    return outcome;
  } catch (error) {
    return failedFile({ label: id }, error);
  }
}

function migratedWorkflow({ migrated }: MigratedFile): JsonObject {
  const value = parseExactly(migrated);
  return isJsonObject(value) ? value : {};
}
