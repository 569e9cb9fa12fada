import type { Admin } from '../admin/contract/admin';
import { runAgent, runTask as runBegun } from '../agent';
import { readCodeAgents } from '../agents/code-agents';
import { DEFAULTS, parseConfig, type ParsedConfig, type RuntimeConfig } from '../config/runtime-config';
import type { LedgerStore } from '../contracts/ledger/ledger';
import type { AgentResult } from '../contracts/result';
import type { RunOptions } from '../contracts/run';
import type { TenantSnapshot, TenantStore } from '../contracts/tenant';
import type { McpStore } from '../contracts/tools/mcp';
import type { SkillReader } from '../contracts/tools/skill';
import { customerMessage, type OwnMessages, type Unanswered } from '../errors/customer-messages';
import { createMcpServers, type McpServers, type McpServersOptions } from '../mcp/mcp-servers';
import type { BrowserLogin } from '../mcp/oauth/oauth-provider';
import { selectModel } from '../models/select-model';
import { childrenOfCalls } from '../run/children/children-of-call';
import { createTenantModels, type TenantModels } from '../run/model-calls/tenant-models';
import { REDIS, SQL_ROLE } from '../run/plan/needs';
import type { RunEnvironment } from '../run/run';
import { createLedgerStore } from '../storage/postgres/ledger/ledger-store';
import { createMcpStore } from '../storage/postgres/mcp-store';
import { createPostgres, type Postgres } from '../storage/postgres/pool';
import { createSkillReader } from '../storage/postgres/skill-reader';
import { createRedisConnection } from '../storage/redis/connection';
import { createRedisOutbox } from '../storage/redis/outbox';
import { loadTenantsStatement } from '../storage/sql/load-tenants';
import type { TaskQueue } from '../tasks/enqueue-task';
import type { TaskHandling } from '../tasks/handle-task';
import { refuseOtherTypes } from '../tasks/read-queue-task';
import { readTask, type ReadyTask } from '../tasks/read-task';
import { parseSettings } from '../tenants/parse-settings';
import type { SnapshotColumns } from '../tenants/parse-snapshot';
import { createTenantStore } from '../tenants/tenant-store';
import { compileInputSchema } from '../tools/schemas/validate-input';
import { createTenantTools, type TenantTools } from '../toolsets/single-calls/tenant-tools';
import { readPostgresAddress } from '../util/addresses/postgres-address';
import { readRedisAddress } from '../util/addresses/redis-address';
import { createRedactor, type Redact, redactBoth } from '../util/redaction/redact';
import { redactForms } from '../util/redaction/redact-forms';
import { plainInCustomConfig } from '../vault/find-plaintext';
import { withVault } from '../vault/open-secrets';
import { createSealer, type Sealer } from '../vault/sealer';
import { MCP_SERVER_DEFAULTS } from './mcp-defaults';
import { createProviders } from './providers';
import { createRuntimeAdmin } from './runtime-admin';
import { type StreamEvent, streamRun } from './stream-run';
import { takeTurn, type TurnResult } from './take-turn';
import { createTaskParts } from './tasks';
import { createToolSources } from './tool-sources';

export interface Runtime extends TaskHandling, TaskQueue {
  /**
   * Runs one task of an agent, a `TaskInput`. It may be the documents' JSON as it is; its callback is not written. Rejects
   * with a RuntimeError.
   */
  readonly run: (task: unknown, options?: RunOptions) => Promise<AgentResult>;
  /**
   * The same, as an iterator of what happens, piece by piece; the last event is `run-end`, with the result. Throws the
   * RuntimeError of a run that fails. Whoever leaves before the end cancels the run.
   * @example for await (const event of runtime.stream(task)) if (event.type === 'text-delta') print(event.text);
   */
  readonly stream: (task: unknown, options?: RunOptions) => AsyncGenerator<StreamEvent, void, undefined>;
  /**
   * Runs one step of a task, which must have an id: one model call with its tool calls. The same task continues, in this process or
   * another one, until `requires_followup` is false. Rejects like `run`.
   * @example let turn; do { turn = await runtime.turn(task); } while (turn.requires_followup);
   */
  readonly turn: (task: unknown, options?: RunOptions) => Promise<TurnResult>;
  /** A tenant's tools outside a task. */
  readonly tools: TenantTools;
  /** A tenant's models outside a task. */
  readonly models: TenantModels;
  /**
   * The sentence that a customer reads in place of an answer, in the tenant's language and by the tenant's `customer_messages`;
   * then by `own`, by error code or status. Never rejects: if the tenant cannot be loaded, it is in English.
   * @example const output = await runtime.customerMessage({ tenantId, code: error.code, status: error.result?.status });
   */
  readonly customerMessage: (
    about: Unanswered & { readonly tenantId?: string; readonly own?: OwnMessages },
  ) => Promise<string>;
  /** Administration of the database; its methods reject with CONFIG_INVALID where plug-ins stand in its place. */
  readonly admin: Admin;
  /** Closes every connection; runs under way should have ended. May be called twice. */
  readonly close: () => Promise<void>;
}

type Close = () => Promise<unknown>;

/** Limit of calls outside a task. */
const CALL_TIMEOUT_MS = DEFAULTS.timeoutSeconds * 1000;

/** Builds the adapters and wires the ports. Throws CONFIG_INVALID or VAULT_KEY_INVALID; connects to nothing yet. */
export function createRuntime(config: RuntimeConfig, people: { readonly login?: BrowserLogin } = {}): Runtime {
  const parsed = parseConfig(config);
  const sealer = parsed.vaultKey === undefined ? undefined : createSealer(parsed.vaultKey);
  const closers: Close[] = [];
  const { mcpStore, skills, postgres, ...plain } = stores(parsed, closers, sealer);
  const kept = { ...plain, tenants: withVault(plain.tenants, sealer) };
  const mcp = mcpServers(parsed, { store: mcpStore, sealer, login: people.login });
  const redis = parsed.redis && createRedisConnection(parsed.redis);
  if (redis !== undefined) closers.push(redis.close);
  const secrets = knownSecrets(parsed);
  const agents = readCodeAgents(parsed.plugins.agents);
  const { selectTools, close: closeTools } = createToolSources(parsed, { mcp, redis, secrets, agents, skills });
  closers.unshift(mcp.close, closeTools);
  const outbox = redis && createRedisOutbox(redis, { ledger: kept.ledger, sealer });
  if (outbox !== undefined) closers.unshift(outbox.close);
  const { models, close: closeModels } = createProviders(parsed);
  closers.push(closeModels);
  const environment: RunEnvironment = {
    ...kept,
    models,
    agents,
    selectTools,
    redactorFor: createRunRedactor(secrets),
    leaseMs: parsed.limits.leaseMs,
    outbox,
    services: [...(parsed.sqlQuery === undefined ? [] : [SQL_ROLE]), ...(redis === undefined ? [] : [REDIS])],
  };
  const tasks = createTaskParts({ config: parsed, redis, tenants: kept.tenants });
  const run = (task: ReadyTask, options?: RunOptions): Promise<AgentResult> => {
    outbox?.look();
    return runAgent(environment, task, { ...options, logger: options?.logger ?? parsed.logger });
  };
  const tools = toolsOutsideTasks(parsed, environment, mcp);
  const runTask: Runtime['run'] = async (task, options) => {
    refuseOtherTypes(task);
    return run(readTask(task), options);
  };
  return {
    ...tasks.handling(run),
    ...tasks.queue,
    run: runTask,
    stream: (task, options) => streamRun((given) => runTask(task, given), options),
    turn: (task, options) => takeTurn(runTask, task, options),
    tools,
    models: createTenantModels(environment, CALL_TIMEOUT_MS),
    customerMessage: (about) => tellCustomer(kept.tenants, about),
    admin: createRuntimeAdmin(parsed, { postgres, tenantTools: tools, sealer, redis, run: runTask }),
    close: closeOnce(closers),
  };
}

function closeOnce(closers: readonly Close[]): Runtime['close'] {
  let closing: Promise<void> | undefined;
  return () => (closing ??= Promise.allSettled(closers.map((close) => close())).then(() => undefined));
}

async function tellCustomer(
  tenants: TenantStore,
  { tenantId, own = {}, ...about }: Parameters<Runtime['customerMessage']>[0],
): Promise<string> {
  // A database that has just failed is not waited for again.
  const isReachable = about.code?.startsWith('DB_') !== true && tenantId !== undefined;
  const loaded = isReachable ? await tenants.load({ tenantId, modelIds: [] }).catch(() => undefined) : undefined;
  const { language, customerMessages = {} } = loaded?.tenant.settings ?? {};
  return customerMessage(about, { language, own: [customerMessages, own] });
}

function toolsOutsideTasks(
  { model, plugins, logger }: ParsedConfig,
  environment: RunEnvironment,
  mcp: McpServers,
): TenantTools {
  const startBelow = childrenOfCalls((child) => runBegun(environment, child), logger);
  const hasModel = (model ?? plugins.model) !== undefined;
  return createTenantTools({ ...environment, mcp, tierOf, hasModel, startBelow, timeoutMs: CALL_TIMEOUT_MS });
}

interface Stores {
  readonly postgres?: Postgres;
  readonly tenants: TenantStore;
  readonly ledger: LedgerStore;
  readonly mcpStore?: McpStore;
  readonly skills?: SkillReader;
}

function stores({ database, plugins, audit }: ParsedConfig, closers: Close[], sealer?: Sealer): Stores {
  // parseConfig has made sure that what is not plugged in has a database.
  if (database === undefined) return plugins as Stores;
  const postgres = createPostgres(database);
  const ledger = createLedgerStore(postgres.query, { auditRetentionDays: audit.retentionDays, sessionDays, sealer });
  closers.push(ledger.close, postgres.close);
  return {
    postgres,
    tenants: plugins.tenants ?? tenantStore(postgres),
    ledger: plugins.ledger ?? ledger,
    mcpStore: createMcpStore(postgres.query),
    skills: plugins.skills ?? createSkillReader(postgres.query),
  };
}

function tierOf({ tenant: { settings }, tiers }: TenantSnapshot, tier: string | undefined): string {
  return selectModel({ tier, settings, tierRows: tiers }).tier.code;
}

function sessionDays(settings: string | null): number {
  return parseSettings(settings).sessionDays ?? DEFAULTS.sessionDays;
}

function tenantStore(postgres: Postgres): TenantStore {
  return createTenantStore({
    rememberedTenants: DEFAULTS.rememberedTenants,
    query: (tenantIds, asked) => postgres.query<SnapshotColumns>(loadTenantsStatement({ tenantIds, ...asked })),
  });
}

function mcpServers({ mcp }: ParsedConfig, parts: Pick<McpServersOptions, 'store' | 'sealer' | 'login'>): McpServers {
  return createMcpServers({
    maxConnections: DEFAULTS.mcpMaxConnections,
    idleMs: DEFAULTS.mcpIdleMs,
    connectTimeoutMs: DEFAULTS.mcpConnectTimeoutMs,
    ...MCP_SERVER_DEFAULTS,
    stdioCommands: mcp.stdioCommands,
    checkSchema: (schema) => void compileInputSchema(schema),
    ...parts,
  });
}

/** Every secret of the tenant and of the configuration, and whatever looks like one; made once for each snapshot. */
function createRunRedactor(configured: readonly string[]): RunEnvironment['redactorFor'] {
  const known = new WeakMap<TenantSnapshot, Redact>();
  return (snapshot) => {
    const redact =
      known.get(snapshot) ??
      redactBoth(createRedactor([...configured, ...(snapshot.openedSecrets ?? [])]), redactForms);
    known.set(snapshot, redact);
    return redact;
  };
}

/**
 * The values of headers whose names promise a secret: others, such as an application's title, may be ordinary words.
 */
function secretHeaders(headers: Readonly<Record<string, string>> = {}): readonly string[] {
  return plainInCustomConfig({ headers }).map(({ value }) => value);
}

/** No tool's server may send these back into an answer. */
function knownSecrets(parsed: ParsedConfig): readonly string[] {
  const { database, sqlQuery, redis, vaultKey, callbacks, model } = parsed;
  const secrets = [
    model?.apiKey,
    ...secretHeaders(model?.headers),
    ...(vaultKey?.split(',').map((key) => key.trim()) ?? []),
    passwordOf(database),
    passwordOf(sqlQuery?.database),
    redis && readRedisAddress(redis.url).password,
    callbacks.webhookSecret,
  ];
  return secrets.filter((secret) => secret !== undefined);
}

function passwordOf(database: ParsedConfig['database']): string | undefined {
  return database?.url === undefined ? database?.password : readPostgresAddress(database.url).password;
}
