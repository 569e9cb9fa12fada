import { createRuntime, type Runtime } from '../compose';
import { DEFAULTS, parseDatabase, type RuntimeConfig } from '../config';
import { RuntimeError } from '../errors/runtime-error';
import type { BrowserLogin } from '../mcp/oauth-provider';
import { createPostgres, type Postgres } from '../storage/postgres';
import { tryParseJson } from '../util/json';
import { UsageError } from './arguments';

/** The only place that reads environment variables. */
function required(name: string): string {
  const value = optional(name);
  if (value === undefined) throw new UsageError(`The environment variable ${name} is not set.`);
  return value;
}

function optional(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}

/** The database that DATABASE_URL names. Without a time limit: an index on a large table takes minutes. The caller closes it. */
export function openDatabase(): Postgres {
  return createPostgres({
    ...parseDatabase({ url: required('DATABASE_URL') }),
    maxConnections: DEFAULTS.maxConnections,
    queryTimeoutMs: 0,
  });
}

/** The key or keys of AGENT_VAULT_KEY. Throws VAULT_KEY_MISSING. */
export function readVaultKey(): string {
  const key = optional('AGENT_VAULT_KEY');
  if (key === undefined) throw new RuntimeError('VAULT_KEY_MISSING');
  return key;
}

/** A runtime from DATABASE_URL, OPENROUTER_API_KEY and OPENROUTER_BASE_URL. The caller closes it. */
export function openRuntime(): Runtime {
  const baseUrl = optional('OPENROUTER_BASE_URL');
  return createRuntime({
    ...sharedConfig(),
    model: { apiKey: required('OPENROUTER_API_KEY'), ...(baseUrl === undefined ? {} : { baseUrl }) },
  });
}

/** The same for commands that ask no model, and so need no key for one. */
export function openToolRuntime(login?: BrowserLogin): Runtime {
  return createRuntime({ ...sharedConfig(), model: {} }, { login });
}

function sharedConfig(): Pick<RuntimeConfig, 'database' | 'sqlQuery' | 'redis' | 'vaultKey' | 'mcp'> {
  const sqlUrl = optional('AGENT_SQL_DATABASE_URL');
  const redisUrl = optional('REDIS_URL');
  return {
    sqlQuery: sqlUrl === undefined ? undefined : { database: { url: sqlUrl } },
    database: { url: required('DATABASE_URL') },
    redis: redisUrl === undefined ? undefined : { url: redisUrl },
    vaultKey: optional('AGENT_VAULT_KEY'),
    mcp: { stdioCommands: readStdioCommands(optional('AGENT_MCP_STDIO')) },
  };
}

/** `[["npx", "some-server"], …]`: what MCP servers of the transport stdio may be started with. */
function readStdioCommands(text: string | undefined): readonly (readonly string[])[] {
  if (text === undefined) return [];
  const parsed = tryParseJson(text);
  const isList = (value: unknown): value is unknown[] => Array.isArray(value);
  const isCommand = (value: unknown): value is string[] =>
    isList(value) && value.length > 0 && value.every((word) => typeof word === 'string');
  if (parsed.ok && isList(parsed.value) && parsed.value.every(isCommand)) return parsed.value;
  throw new UsageError('The environment variable AGENT_MCP_STDIO is not a JSON list of lists of words.');
}
