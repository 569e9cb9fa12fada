import { terminal } from '../terminal';
import { migrateFiles } from './migrate-files';
import { migrateInN8n } from './n8n/migrate-in-n8n';
import type { MigrateOptions } from './options';
import { readMigrateRequest, readUndoRequest } from './request';
import { readDatabase } from './rows/apply-rows';
import { undoMigration } from './undo';

/** `migrate-workflow IN... -o OUT --sql FILE`, from and to a running n8n with `--n8n-url`, and back with `--undo`. */
export async function runMigrateWorkflow(words: readonly string[], options: MigrateOptions): Promise<number> {
  // Whoever reads the output, `head` for one, may be gone before the last file is written.
  terminal().stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  if (options.undo !== undefined) return undoMigration(readUndoRequest(words, options));
  const request = await readDatabase(readMigrateRequest(words, options));
  return request.n8n === undefined ? migrateFiles(request) : migrateInN8n(request, request.n8n);
}
