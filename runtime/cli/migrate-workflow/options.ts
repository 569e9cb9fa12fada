import { FLAG, text, texts, type Values } from '../command';

export const MIGRATE_OPTIONS = {
  output: { ...text('OUT'), short: 'o' },
  sql: text('FILE'),
  report: text('FILE'),
  undo: text('REPORT'),
  tools: text('database|connected'),
  tenant: { ...texts('ID,...|all|EXPRESSION'), help: 'tenants by ID' },
  'tier-map': texts('OURS=THEIRS,...'),
  'postgres-credential': text('ID[:NAME]'),
  allow: texts('NAME,...'),
  'n8n-url': text('URL'),
  'n8n-api-key': text('KEY'),
  'dry-run': FLAG,
  overwrite: FLAG,
  'drop-router': FLAG,
  each: FLAG,
  apply: FLAG,
  v3: FLAG,
} as const;

/** The options that the command was given. */
export type MigrateOptions = Values<typeof MIGRATE_OPTIONS>;
