import { parseArgs } from 'node:util';

import { RuntimeError } from '../errors/runtime-error';

/** Wrong use of the command line: exit code 2, with this text. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Every option of every command; all take a value but those listed as flags. */
const OPTIONS = {
  task: { type: 'string' },
  entry: { type: 'string' },
  tenant: { type: 'string' },
  tier: { type: 'string' },
  message: { type: 'string' },
  'system-prompt': { type: 'string' },
  'tool-server': { type: 'string' },
  'mcp-server': { type: 'string' },
  server: { type: 'string' },
  tool: { type: 'string', multiple: true },
  arguments: { type: 'string' },
  meta: { type: 'string' },
  transport: { type: 'string' },
  bearer: { type: 'string' },
  auth: { type: 'string' },
  'on-tool-change': { type: 'string' },
  from: { type: 'string' },
  input: { type: 'string' },
  'cached-input': { type: 'string' },
  'cache-write': { type: 'string' },
  'cache-write-1h': { type: 'string' },
  reasoning: { type: 'string' },
  provider: { type: 'string' },
  port: { type: 'string' },
  name: { type: 'string' },
  table: { type: 'string', multiple: true },
  password: { type: 'string' },
  shared: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  update: { type: 'boolean' },
  drain: { type: 'boolean' },
  output: { type: 'string', short: 'o' },
  sql: { type: 'string' },
  report: { type: 'string' },
  undo: { type: 'string' },
  tools: { type: 'string' },
  'postgres-credential': { type: 'string' },
  allow: { type: 'string', multiple: true },
  'n8n-url': { type: 'string' },
  'n8n-api-key': { type: 'string' },
  overwrite: { type: 'boolean' },
  events: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Parsed = ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>>;

export type Options = Parsed['values'];

/** Splits `run --tier pro` into words and options. Throws a UsageError for an unknown option or a missing value. */
export function readArguments(argv: readonly string[]): { words: readonly string[]; options: Options } {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
    return { words: positionals, options: values };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id after --tenant. Throws a UsageError without one, TENANT_ID_INVALID for one that is no UUID. */
export function readTenant({ tenant }: Options, command: string): string {
  if (tenant === undefined) throw new UsageError(`${command} needs --tenant ID.`);
  if (!UUID.test(tenant)) throw new RuntimeError('TENANT_ID_INVALID', { tenantId: tenant });
  // As Postgres writes it: what is sealed for a tenant is sealed for this text.
  return tenant.toLowerCase();
}
