import * as z from 'zod/v4';

import type { ConsumerConfig } from '../contracts/consumer';
import type { Log } from '../contracts/event';
import type { LedgerStore } from '../contracts/ledger/ledger';
import type { Model } from '../contracts/model';
import { MOST_ITERATIONS, TASK_DEFAULTS } from '../contracts/task-options';
import type { AgentDefinition, TenantStore } from '../contracts/tenant';
import type { SkillReader } from '../contracts/tools/skill';
import type { TenantToolSource, Tool } from '../contracts/tools/tool';
import { describeIssues } from '../errors/describe-issues';
import { RuntimeError } from '../errors/runtime-error';
import { readPostgresAddress } from '../util/addresses/postgres-address';
import { readRedisAddress } from '../util/addresses/redis-address';

/** The only place where a default lives. */
export const DEFAULTS = {
  baseUrl: 'https://openrouter.ai/api/v1',
  maxIterations: TASK_DEFAULTS.max_iterations,
  iterationCeiling: MOST_ITERATIONS,
  onMaxIterations: TASK_DEFAULTS.on_max_iterations,
  toolExecution: TASK_DEFAULTS.tool_execution,
  toolChoice: TASK_DEFAULTS.tool_choice,
  timeoutSeconds: TASK_DEFAULTS.timeout_seconds,
  modelSilenceSeconds: TASK_DEFAULTS.model_silence_seconds,
  modelRetries: 2,
  toolTimeoutMs: 30_000,
  maxToolOutputBytes: 64 * 1024,
  maxParallelToolCalls: 8,
  maxToolCallsPerStep: 32,
  maxErrorSteps: 5,
  /** How many levels of runs may work for a task, below its own. */
  levelsOfChildren: 3,
  leaseMs: 60_000,
  settleRetries: 4,
  maxConnections: 10,
  mcpMaxConnections: 200,
  mcpIdleMs: 300_000,
  mcpConnectTimeoutMs: 15_000,
  mcpDiscoveryTimeoutMs: 10_000,
  mcpCallTimeoutMs: 60_000,
  mcpListTtlMs: 300_000,
  rememberedTenants: 1000,
  sqlMaxConnections: 3,
  sqlMaxRows: 200,
  maxIdenticalCalls: TASK_DEFAULTS.max_identical_calls,
  auditRetentionDays: 90,
  sessionDays: 30,
  sessionWindowTokens: 8000,
  taskList: 'elo:tasks:pending',
  failedList: 'elo:tasks:failed',
  workerConcurrency: 10,
  workerAttempts: 8,
  maxTaskBytes: 1024 * 1024,
  callbackKeyPrefixes: ['elo:results:', 'elo:counter:', 'elo:status:'] as string[],
  /** Taken for a reply where neither task nor tier limits its length. */
  assumedCompletionTokens: 4096,
  /** Taken for a prompt at least: providers add their own to it. */
  assumedPromptTokens: 1000,
  /** Taken for the result of a tool call that is yet to come. */
  assumedResultTokens: 4000,
} as const;

const address = (read: (text: string) => unknown): z.ZodType<string, string> =>
  z.string().check(({ value: input, issues }) => {
    const message = misreadIn(input, read);
    if (message !== undefined) issues.push({ code: 'custom', message, input });
  });

const databaseSchema = z.object({
  url: address(readPostgresAddress).optional(),
  host: z.string().min(1).optional(),
  port: z.int().min(1).max(65_535).optional(),
  database: z.string().optional(),
  user: z.string().optional(),
  password: z.string().optional(),
  ssl: z.union([z.boolean(), z.object({ rejectUnauthorized: z.boolean() })]).optional(),
  /** Never more connections than this, however many runs are under way. */
  maxConnections: z.int().min(1).default(DEFAULTS.maxConnections),
});

const reachableDatabase = databaseSchema.refine(
  ({ url, host }) => url !== undefined || host !== undefined,
  'needs url or host',
);

const redisSchema = z.object({
  url: address(readRedisAddress),
  rejectUnauthorized: z.boolean().default(true),
});

const configSchema = z.object({
  database: reachableDatabase.optional(),
  sqlQuery: z
    .object({ database: reachableDatabase, maxRows: z.int().min(1).max(1000).default(DEFAULTS.sqlMaxRows) })
    .optional(),
  model: z
    .object({
      apiKey: z.string().default(''),
      baseUrl: z.url({ protocol: /^https?$/ }).default(DEFAULTS.baseUrl),
      headers: z.record(z.string(), z.string()).default({}),
      maxRetries: z.int().min(0).max(10).default(DEFAULTS.modelRetries),
    })
    .optional(),
  limits: z
    .object({
      toolTimeoutMs: z.number().positive().default(DEFAULTS.toolTimeoutMs),
      maxToolOutputBytes: z.int().min(256).default(DEFAULTS.maxToolOutputBytes),
      leaseMs: z.int().min(1000).default(DEFAULTS.leaseMs),
    })
    .prefault({}),
  queue: z
    .object({
      list: z.string().min(1).default(DEFAULTS.taskList),
      failedList: z.string().min(1).default(DEFAULTS.failedList),
      forwardList: z.string().min(1).optional(),
    })
    .prefault({}),
  callbacks: z
    .object({
      keyPrefixes: z.array(z.string().min(1)).default(DEFAULTS.callbackKeyPrefixes),
      hosts: z.array(z.string().min(1)).default([]),
      webhookSecret: z.string().min(1).optional(),
    })
    .prefault({}),
  vaultKey: z.string().min(1).optional(),
  audit: z.object({ retentionDays: z.int().min(1).default(DEFAULTS.auditRetentionDays) }).prefault({}),
  redis: redisSchema.optional(),
  mcp: z.object({ stdioCommands: z.array(z.array(z.string()).min(1)).default([]) }).prefault({}),
});

/** What may replace a part, or be added to it. */
export interface RuntimePlugins {
  readonly model?: Model;
  /** Offered to every tenant, after the tenant's own. */
  readonly tools?: readonly Tool[];
  /** Tools that depend on the tenant, after those. */
  readonly toolSources?: readonly TenantToolSource[];
  /** Agents for every tenant; a row of the same name goes before. */
  readonly agents?: readonly AgentDefinition[];
  /** Texts of the skills that `tenants` names. */
  readonly skills?: SkillReader;
  readonly tenants?: TenantStore;
  readonly ledger?: LedgerStore;
}

export interface DatabaseConfig {
  /** `postgres://user:password@host:port/database`; else the parts below. */
  readonly url?: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
  readonly user?: string;
  readonly password?: string;
  readonly ssl?: boolean | { readonly rejectUnauthorized: boolean };
  /** Never more connections than this, however many runs are under way. Default 10. */
  readonly maxConnections?: number;
}

export interface RuntimeConfig {
  /** May be left out only when `plugins` brings tenants and ledger. */
  readonly database?: DatabaseConfig;
  /**
   * May be left out when `plugins` brings a model, or each run a connected one; without any, runs fail with
   * MODEL_MISSING.
   */
  readonly model?: {
    readonly apiKey?: string;
    /** Any OpenAI-compatible API, up to and with `/v1`. Default OpenRouter. */
    readonly baseUrl?: string;
    /** Sent with every request, beside the key. */
    readonly headers?: Readonly<Record<string, string>>;
    /** After time-outs, lost connections, HTTP 408, 409, 429 and 5xx. Default 2. */
    readonly maxRetries?: number;
  };
  readonly limits?: {
    /** The time-out of tools whose row says nothing, in milliseconds. Default 30 000. */
    readonly toolTimeoutMs?: number;
    /** Longer answers of tools are cut. Default 64 KiB. */
    readonly maxToolOutputBytes?: number;
    /** A run whose process has been silent for so long counts as lost. Default 60 000. */
    readonly leaseMs?: number;
  };
  /** The Redis lists of tasks. */
  readonly queue?: {
    /** Where producers push tasks. Default `elo:tasks:pending`. */
    readonly list?: string;
    /** Where tasks go that will not be tried again. Default `elo:tasks:failed`. */
    readonly failedList?: string;
    /** Where consumers put tasks of other types, so that no callback may name it. Default none. */
    readonly forwardList?: string;
  };
  /** Where answers of tasks may be sent that name a callback. */
  readonly callbacks?: {
    /** Default `elo:results:`, `elo:counter:`, `elo:status:`. */
    readonly keyPrefixes?: readonly string[];
    /**
     * The hosts that webhooks may go to, beside those of the tenant's `callback_hosts`; with none in either, any public
     * one.
     */
    readonly hosts?: readonly string[];
    /** Signs webhooks. Default: a key derived from the vault key. */
    readonly webhookSecret?: string;
  };
  /**
   * 32 bytes as base64. Secrets and OAuth tokens of MCP servers are kept encrypted under it. Several keys may stand here
   * with commas between: the first one encrypts, all of them decrypt.
   */
  readonly vaultKey?: string;
  /** The lines of elo_tool_executions, one a tool call. */
  readonly audit?: {
    /** Default 90. */
    readonly retentionDays?: number;
  };
  /** What the built-in tool sql_query works with; it is not offered without. */
  readonly sqlQuery?: {
    /** The same server as above, under a role made with `sql-role set`: row-level security must hold for it. */
    readonly database: DatabaseConfig;
    /** The rows of an answer, for tools whose row says nothing; at most 1000. Default 200. */
    readonly maxRows?: number;
  };
  /** Where tasks are queued and answered, and where the built-in tool `redis_get` reads. */
  readonly redis?: ConsumerConfig['redis'];
  readonly mcp?: {
    /** The command lines that MCP servers of the transport `stdio` may be started with, word for word. Default none. */
    readonly stdioCommands?: readonly (readonly string[])[];
  };
  /**
   * Takes a line for each step, each tool call and the end of a run. Default none.
   * @example (level, message, facts) => console.log(JSON.stringify({ level, message, ...facts }))
   */
  readonly logger?: Log;
  readonly plugins?: RuntimePlugins;
}

/** What the schema takes. RuntimeConfig says the same in words that ship without zod; a test holds the two together. */
export type ConfigInput = z.input<typeof configSchema>;

export type ParsedConfig = z.output<typeof configSchema> & { readonly plugins: RuntimePlugins; readonly logger?: Log };

/** Throws CONFIG_INVALID that names the fields; never their values, which may be secrets. */
export function parseConfig({ plugins = {}, logger, ...config }: RuntimeConfig): ParsedConfig {
  const parsed = readBy(configSchema, config);
  if (logger !== undefined && typeof logger !== 'function') {
    throw new RuntimeError('CONFIG_INVALID', { issues: 'logger is not a function of level, message and facts' });
  }
  if (parsed.database === undefined && (plugins.tenants === undefined || plugins.ledger === undefined)) {
    throw new RuntimeError('CONFIG_INVALID', { issues: 'database is missing' });
  }
  return { ...parsed, plugins, logger };
}

/** Why an address cannot be read, as a sentence goes on after its name. */
export function misreadIn(text: string, read: (text: string) => unknown): string | undefined {
  try {
    read(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Throws CONFIG_INVALID. */
export function parseDatabase(database: DatabaseConfig): z.output<typeof databaseSchema> {
  return readBy(databaseSchema, database);
}

/** The part of the configuration that pushing and answering tasks takes. */
export type QueueConfig = Required<Pick<RuntimeConfig, 'redis'>> & Pick<RuntimeConfig, 'queue' | 'callbacks'>;

const queueSchema = configSchema.pick({ queue: true, callbacks: true }).extend({ redis: redisSchema });

/** Throws CONFIG_INVALID. */
export function parseQueueConfig(config: QueueConfig): z.output<typeof queueSchema> {
  return readBy(queueSchema, config);
}

/** Throws CONFIG_INVALID. */
export function readBy<T extends z.ZodType>(schema: T, config: unknown): z.output<T> {
  const { data, error } = schema.safeParse(config);
  if (error !== undefined) throw new RuntimeError('CONFIG_INVALID', { issues: describeIssues(error) });
  return data;
}
