import {
  type Allowance,
  ALLOWANCES,
  type CredentialRef,
  type MigrationOptions,
} from '../../workflow-migration/contract';
import { UsageError } from '../arguments';
import { readN8nKey } from '../environment';
import type { MigrateOptions } from './options';
import { readTenants, readTierMap, type TenantIds } from './request-lists';

const COMMAND = 'migrate-workflow';

export interface N8nAddress {
  readonly url: string;
  readonly apiKey: string;
}

/** What `migrate-workflow` was asked for. */
export interface MigrateRequest {
  /** Files, folders, `-`; with `n8n`: ids, or `all`. */
  readonly words: readonly string[];
  /** A file, a folder, or `-`. Undefined for a dry run and with `n8n`. */
  readonly out?: string;
  readonly sql?: string;
  readonly report?: string;
  readonly isDryRun: boolean;
  readonly overwrite: boolean;
  readonly n8n?: N8nAddress;
  /** The tenants whose rows are written into the database; undefined: none are. */
  readonly apply?: TenantIds;
  readonly options: MigrationOptions;
}

export interface UndoRequest {
  readonly report: string;
  readonly out: string;
  readonly overwrite: boolean;
}

/** Throws a UsageError, or TENANT_ID_INVALID. */
export function readMigrateRequest(words: readonly string[], options: MigrateOptions): MigrateRequest {
  const tenants = readTenants(options);
  const request: MigrateRequest = {
    words,
    out: options.output,
    sql: options.sql,
    report: readReportName(options.report),
    isDryRun: options['dry-run'] === true,
    overwrite: options.overwrite === true,
    n8n: readN8n(options),
    apply: tenants.apply,
    options: readMigrationOptions(options, tenants.parameter),
  };
  checkPlaces(request);
  return request;
}

/** Throws a UsageError. */
export function readUndoRequest(words: readonly string[], { undo, output, overwrite }: MigrateOptions): UndoRequest {
  if (words.length > 0) throw new UsageError('--undo takes no IN: the report names the workflows.');
  if (undo === undefined || output === undefined) throw new UsageError('--undo REPORT needs -o OUT.');
  return { report: undo, out: output, overwrite: overwrite === true };
}

function checkPlaces({ words, out, sql, isDryRun, n8n, apply }: MigrateRequest): void {
  const what = n8n === undefined ? 'files, folders, or - for standard input' : 'ids of workflows, or all';
  if (words.length === 0) throw new UsageError(`${COMMAND} needs IN: ${what}.`);
  if (n8n !== undefined && out !== undefined) {
    throw new UsageError('With --n8n-url the migrated workflows go to n8n: leave -o out.');
  }
  if (isDryRun) return;
  if (n8n === undefined && out === undefined) throw new UsageError(`${COMMAND} needs -o OUT, or --dry-run.`);
  checkSqlPlace({ sql, out, apply });
}

function checkSqlPlace({ sql, out, apply }: Pick<MigrateRequest, 'sql' | 'out' | 'apply'>): void {
  if (sql === undefined) {
    if (apply !== undefined) return;
    throw new UsageError(`${COMMAND} needs --sql FILE for the rows of tiers and tools, or --apply.`);
  }
  if (sql === '-' || sql === out) throw new UsageError('--sql names a file of its own.');
}

function readReportName(name: string | undefined): string | undefined {
  if (name === undefined || name.endsWith('.json')) return name;
  throw new UsageError('--report names a .json file; the Markdown file is put beside it.');
}

/** The Markdown file beside the report. */
export const markdownName = (report: string): string => report.replace(/\.json$/, '.md');

function readN8n(options: MigrateOptions): N8nAddress | undefined {
  const url = options['n8n-url'];
  if (url === undefined) {
    if (options['n8n-api-key'] !== undefined) throw new UsageError('--n8n-api-key needs --n8n-url.');
    return undefined;
  }
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new UsageError('--n8n-url must be an address such as https://n8n.example.com.');
  }
  const apiKey = options['n8n-api-key'] ?? readN8nKey();
  if (apiKey === undefined) throw new UsageError('--n8n-url needs the environment variable N8N_API_KEY.');
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new UsageError('The API key of n8n holds characters that no key has.');
  return { url: `${parsed.origin}${parsed.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}`, apiKey };
}

function readMigrationOptions(options: MigrateOptions, tenant: string): MigrationOptions {
  return {
    tools: readTools(options.tools),
    tenant,
    postgres: readCredential(options['postgres-credential']),
    allow: readAllowances(options.allow ?? []),
    tierMap: readTierMap(options['tier-map'] ?? []),
    dropRouter: options['drop-router'] === true,
    each: options.each === true,
    v3: options.v3 === true,
  };
}

function readTools(tools = 'database'): MigrationOptions['tools'] {
  if (tools === 'database' || tools === 'connected') return tools;
  throw new UsageError('--tools is database or connected.');
}

/** `ID` or `ID:NAME`. */
function readCredential(text: string | undefined): CredentialRef | undefined {
  if (text === undefined) return undefined;
  const [id = '', ...name] = text.split(':');
  if (id === '') throw new UsageError('--postgres-credential is ID or ID:NAME.');
  return { id, name: name.join(':') || 'Postgres' };
}

function readAllowances(texts: readonly string[]): readonly Allowance[] {
  const given = texts.flatMap((text) => text.split(',')).map((name) => name.trim());
  const known: readonly string[] = ALLOWANCES;
  const unknown = given.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new UsageError(`--allow does not know "${unknown.join('", "')}". It knows: ${ALLOWANCES.join(', ')}.`);
  }
  return ALLOWANCES.filter((name) => given.includes(name));
}
