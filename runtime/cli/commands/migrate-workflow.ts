import { command } from '../command';
import { MIGRATE_OPTIONS } from '../migrate-workflow/options';

export const migrateWorkflowCommand = command({
  words: 'migrate-workflow',
  names: ['IN...'],
  usage: `migrate-workflow IN... -o OUT --sql FILE [--report FILE] [--dry-run] [--overwrite]
      [--tools database|connected] [--tenant ID|EXPRESSION] [--postgres-credential ID[:NAME]] [--allow NAME,...]
      [--tier-map OURS=THEIRS,...] [--drop-router] [--each] [--v3]
  migrate-workflow IN... -o OUT --apply --tenant ID,...|all [...]
  migrate-workflow ID...|all --n8n-url URL --sql FILE [--n8n-api-key KEY] [...]
  migrate-workflow --undo REPORT -o OUT [--overwrite]`,
  help: `Rewrite exported workflows: one Universal AI Agent in place of AI Agents. IN: files, folders, or - for standard input;
OUT: a file, a folder, or - for standard output (--output). With --n8n-url they are read from a running n8n, and copies
are written back, inactive. --apply writes the rows of tiers and tools into DATABASE_URL, for the tenants.
--each migrates agents behind a router one by one where they cannot become one node.
--v3 takes on what n8n 3 no longer runs, and that alone. --undo restores the originals from the report.`,
  options: MIGRATE_OPTIONS,
  run: async (options, words) => (await import('../migrate-workflow/run')).runMigrateWorkflow(words, options),
});
