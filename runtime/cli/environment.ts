import { createRuntime, type Runtime } from '../compose/create-runtime';
import { DEFAULTS, parseDatabase, type RuntimeConfig } from '../config/runtime-config';
import type { BrowserLogin } from '../mcp/oauth/oauth-provider';
import { createPostgres, type Postgres } from '../storage/postgres/pool';
import { isList, tryParseJson } from '../util/json';
import type { ConsumerConfig, Log } from '../worker';
import { UsageError } from './arguments';
import { terminal } from './terminal';
import { LOG_LEVELS, type LogLevel } from './worker-log';

const GRACE_SECONDS = 30;
const START_SECONDS = 60;
const WORKER_PORT = 9464;
/** A run needs one for a moment at a time, and servers have a hundred for everybody. */
const MOST_CONNECTIONS = 20;

/** The only place that reads environment variables. */
function required(name: string): string {
  const value = optional(name);
  if (value === undefined) throw new UsageError(`The environment variable ${name} is not set.`);
  return value;
}

function optional(name: string): string | undefined {
  const value = terminal().env[name];
  return value === '' ? undefined : value;
}

/** The database that DATABASE_URL names, for as long as `work` takes. No time limit: an index on a large table takes minutes. */
export async function withDatabase<T>(work: (postgres: Postgres) => Promise<T>): Promise<T> {
  const postgres = createPostgres({
    ...parseDatabase({ url: required('DATABASE_URL') }),
    maxConnections: DEFAULTS.maxConnections,
    queryTimeoutMs: 0,
  });
  try {
    return await work(postgres);
  } finally {
    await postgres.close();
  }
}

/** The key for a running n8n's public API: N8N_API_KEY. */
export function readN8nKey(): string | undefined {
  return optional('N8N_API_KEY');
}

/** A runtime from DATABASE_URL, OPENROUTER_API_KEY and OPENROUTER_BASE_URL. The caller closes it. */
export function openRuntime(): Runtime {
  return createRuntime({ ...sharedConfig(), model: modelConfig() });
}

/** The same where a key for the provider need not be there, and is used where it is. The caller closes it. */
export function openInstallation(): Runtime {
  return createRuntime({ ...sharedConfig(), model: { ...address(), apiKey: optional('OPENROUTER_API_KEY') } });
}

function modelConfig(): RuntimeConfig['model'] {
  return { ...address(), apiKey: required('OPENROUTER_API_KEY') };
}

const address = (): { readonly baseUrl?: string } => {
  const baseUrl = optional('OPENROUTER_BASE_URL');
  return baseUrl === undefined ? {} : { baseUrl };
};

/** The same for commands that ask no model, and so need no key for one. The caller closes it. */
export function openToolRuntime(login?: BrowserLogin): Runtime {
  return createRuntime({ ...sharedConfig(), model: {} }, { login });
}

/** Runs `work` with such a runtime, and closes it. */
export async function withToolRuntime<T>(work: (runtime: Runtime) => Promise<T>, login?: BrowserLogin): Promise<T> {
  const runtime = openToolRuntime(login);
  try {
    return await work(runtime);
  } finally {
    await runtime.close();
  }
}

/** The ID of the only tenant of this name. */
export function findTenant(name: string): Promise<string> {
  return withToolRuntime(async ({ admin }) => (await admin.tenant.get({ name })).id);
}

type SharedConfig = Pick<
  RuntimeConfig,
  'database' | 'sqlQuery' | 'redis' | 'vaultKey' | 'mcp' | 'queue' | 'callbacks' | 'limits'
>;

function sharedConfig(): SharedConfig {
  const sqlUrl = optional('AGENT_SQL_DATABASE_URL');
  const redisUrl = optional('REDIS_URL');
  return {
    sqlQuery: sqlUrl === undefined ? undefined : { database: { url: sqlUrl } },
    database: { url: required('DATABASE_URL') },
    redis: redisUrl === undefined ? undefined : { url: redisUrl },
    vaultKey: optional('AGENT_VAULT_KEY'),
    mcp: { stdioCommands: readStdioCommands(optional('AGENT_MCP_STDIO')) },
    queue: { ...readLists(), forwardList: optional('AGENT_FORWARD_LIST') },
    callbacks: {
      keyPrefixes: wordsOf('AGENT_CALLBACK_KEY_PREFIXES'),
      hosts: wordsOf('AGENT_CALLBACK_HOSTS'),
      webhookSecret: optional('AGENT_WEBHOOK_SECRET'),
    },
    limits: { leaseMs: leaseMs() },
  };
}

/** The lists of the queue that AGENT_TASK_LIST and AGENT_FAILED_LIST name. */
function readLists(): { readonly list?: string; readonly failedList?: string } {
  return { list: optional('AGENT_TASK_LIST'), failedList: optional('AGENT_FAILED_LIST') };
}

function leaseMs(): number | undefined {
  const seconds = wholeNumber('AGENT_LEASE_SECONDS', { least: 1 });
  return seconds && seconds * 1000;
}

export interface WorkerSettings {
  readonly consumer: ConsumerConfig & { readonly concurrency: number };
  readonly host: string;
  /** Undefined: no health and no metrics are served. 0 is any free one. */
  readonly port?: number;
  /** The least urgent lines of the log. */
  readonly logLevel: LogLevel;
  readonly graceMs: number;
  /** How long to wait at the start for a database or Redis that is away. */
  readonly startMs: number;
}

/** Reads AGENT_WORKER_…, AGENT_TENANT_CONCURRENCY, AGENT_FORWARD_LIST and AGENT_LOG_LEVEL. */
export function readWorker(): WorkerSettings {
  const grace = wholeNumber('AGENT_WORKER_GRACE_SECONDS', { least: 0 }) ?? GRACE_SECONDS;
  const start = wholeNumber('AGENT_WORKER_START_SECONDS', { least: 0 }) ?? START_SECONDS;
  return {
    consumer: {
      ...readQueue(),
      forwardList: optional('AGENT_FORWARD_LIST'),
      concurrency: wholeNumber('AGENT_WORKER_CONCURRENCY', { least: 1 }) ?? DEFAULTS.workerConcurrency,
      tenantConcurrency: wholeNumber('AGENT_TENANT_CONCURRENCY', { least: 1 }),
      attempts: wholeNumber('AGENT_WORKER_ATTEMPTS', { least: 1 }),
      leaseMs: leaseMs(),
      processMetrics: true,
    },
    host: optional('AGENT_WORKER_HOST') ?? '127.0.0.1',
    port: optional('AGENT_WORKER_PORT') === 'off' ? undefined : readPort(),
    logLevel: readLogLevel(),
    graceMs: grace * 1000,
    startMs: start * 1000,
  };
}

function readLogLevel(): LogLevel {
  const given = optional('AGENT_LOG_LEVEL') ?? 'info';
  const level = LOG_LEVELS.find((one) => one === given);
  if (level !== undefined) return level;
  throw new UsageError(`The environment variable AGENT_LOG_LEVEL is none of ${LOG_LEVELS.join(', ')}.`);
}

function readPort(): number {
  const port = wholeNumber('AGENT_WORKER_PORT', { least: 0 }) ?? WORKER_PORT;
  if (port > 65_535) throw new UsageError('The environment variable AGENT_WORKER_PORT is not a port.');
  return port;
}

/** The queue that REDIS_URL and AGENT_TASK_LIST name. */
export function readQueue(): Pick<ConsumerConfig, 'redis' | 'list' | 'failedList'> {
  return { redis: { url: required('REDIS_URL') }, ...readLists() };
}

/** A runtime with enough database connections for this many tasks at a time. */
export function openWorkerRuntime({ consumer: { concurrency } }: WorkerSettings, logger: Log): Runtime {
  const { database, ...config } = sharedConfig();
  const maxConnections = Math.min(MOST_CONNECTIONS, Math.max(DEFAULTS.maxConnections, Math.ceil(concurrency / 2)));
  return createRuntime({ ...config, database: { ...database, maxConnections }, model: modelConfig(), logger });
}

function wholeNumber(name: string, { least }: { readonly least: number }): number | undefined {
  const text = optional(name);
  if (text === undefined) return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : -1;
  if (value < least || !Number.isSafeInteger(value)) {
    throw new UsageError(`The environment variable ${name} is not a whole number from ${least} on.`);
  }
  return value;
}

/** What stands between commas. */
function wordsOf(name: string): readonly string[] | undefined {
  const words = optional(name)
    ?.split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  return words?.length === 0 ? undefined : words;
}

/** `[["npx", "some-server"], …]`: what MCP servers of the transport stdio may be started with. */
function readStdioCommands(text: string | undefined): readonly (readonly string[])[] {
  if (text === undefined) return [];
  const parsed = tryParseJson(text);
  const isCommand = (value: unknown): value is string[] =>
    isList(value) && value.length > 0 && value.every((word) => typeof word === 'string');
  if (parsed.ok && isList(parsed.value) && parsed.value.every(isCommand)) return parsed.value;
  throw new UsageError('The environment variable AGENT_MCP_STDIO is not a JSON list of lists of words.');
}
