import { runAgent, type AgentParts, type RunOptions } from './agent';
import { DEFAULTS, parseConfig, type ParsedConfig, type RuntimeConfig } from './config';
import type { LedgerStore } from './contracts/ledger';
import type { McpStore } from './contracts/mcp';
import type { AgentResult } from './contracts/result';
import type { TenantStore } from './contracts/tenant';
import { createMcpServers, type McpServers } from './mcp/mcp-servers';
import { createOpenAiModel } from './models/openai-model';
import type { BrowserLogin } from './mcp/oauth-provider';
import { createToolSelector } from './select-tools';
import { createLedgerStore } from './storage/ledger-store';
import { createMcpStore } from './storage/mcp-store';
import { createPostgres, type Postgres } from './storage/postgres';
import { loadTenantStatement } from './storage/sql/load-tenant';
import { createTenantTools, type TenantTools } from './tenant-tools';
import type { SnapshotColumns } from './tenants/parse-snapshot';
import { createTenantStore } from './tenants/tenant-store';
import { createServerToolBuilder, createToolBuilder } from './tools/build-tools';
import { createHookTransport } from './tools/hook-transport';
import { createSealer } from './vault/sealer';

export interface Runtime {
  /** Runs one task. The task may be the documents' JSON as it is. Rejects with a RuntimeError. */
  readonly run: (task: unknown, options?: RunOptions) => Promise<AgentResult>;
  /** A tenant's tools outside a run. */
  readonly tools: TenantTools;
  /** Closes every connection; runs under way should have ended. May be called twice. */
  readonly close: () => Promise<void>;
}

type Close = () => Promise<unknown>;

/** Builds the adapters and wires the ports. Throws CONFIG_INVALID or VAULT_KEY_INVALID; connects to nothing yet. */
export function createRuntime(config: RuntimeConfig, people: { readonly login?: BrowserLogin } = {}): Runtime {
  const parsed = parseConfig(config);
  const closers: Close[] = [];
  const { mcpStore, ...kept } = stores(parsed, closers);
  const mcp = mcpServers(parsed, mcpStore, people.login);
  const hook = createHookTransport();
  closers.unshift(mcp.close, hook.close);
  const builder = {
    transports: { hook, mcp: mcp.transport },
    defaultTimeoutMs: parsed.limits.toolTimeoutMs,
    maxOutputBytes: parsed.limits.maxToolOutputBytes,
    secrets: knownSecrets(parsed),
  };
  const selectTools = createToolSelector({
    buildTools: createToolBuilder(builder),
    buildServerTools: createServerToolBuilder(builder),
    mcp,
    extraTools: parsed.plugins.tools ?? [],
  });
  const parts: AgentParts = { ...kept, model: model(parsed, closers), selectTools };
  let closing: Promise<void> | undefined;
  return {
    run: (task, options) => runAgent(parts, task, options),
    tools: createTenantTools({ tenants: kept.tenants, selectTools, mcp, timeoutMs: DEFAULTS.timeoutSeconds * 1000 }),
    close: () => (closing ??= Promise.allSettled(closers.map((close) => close())).then(() => undefined)),
  };
}

interface Stores {
  readonly tenants: TenantStore;
  readonly ledger: LedgerStore;
  readonly mcpStore?: McpStore;
}

function stores({ database, plugins }: ParsedConfig, closers: Close[]): Stores {
  // parseConfig has made sure that what is not plugged in has a database.
  if (database === undefined) return plugins as Stores;
  const postgres = createPostgres(database);
  const ledger = createLedgerStore(postgres.query);
  closers.push(ledger.close, postgres.close);
  return {
    tenants: plugins.tenants ?? tenantStore(postgres),
    ledger: plugins.ledger ?? ledger,
    mcpStore: createMcpStore(postgres.query),
  };
}

function tenantStore(postgres: Postgres): TenantStore {
  return createTenantStore({
    rememberedTenants: DEFAULTS.rememberedTenants,
    query: async (tenantId, modelIds) => {
      const [row] = await postgres.query<SnapshotColumns>(loadTenantStatement(tenantId, modelIds));
      return row;
    },
  });
}

function model({ model: config, plugins }: ParsedConfig, closers: Close[]): AgentParts['model'] {
  if (plugins.model !== undefined || config === undefined) return plugins.model as AgentParts['model'];
  const adapter = createOpenAiModel(config);
  closers.push(adapter.close);
  return adapter;
}

function mcpServers({ vaultKey, mcp }: ParsedConfig, store: McpStore | undefined, login?: BrowserLogin): McpServers {
  return createMcpServers({
    maxConnections: DEFAULTS.mcpMaxConnections,
    idleMs: DEFAULTS.mcpIdleMs,
    connectTimeoutMs: DEFAULTS.mcpConnectTimeoutMs,
    discoveryTimeoutMs: DEFAULTS.mcpDiscoveryTimeoutMs,
    callTimeoutMs: DEFAULTS.mcpCallTimeoutMs,
    listTtlMs: DEFAULTS.mcpListTtlMs,
    store,
    sealer: vaultKey === undefined ? undefined : createSealer(vaultKey),
    stdioCommands: mcp.stdioCommands,
    login,
  });
}

/** No tool's server may send these back into an answer. */
function knownSecrets({ database, vaultKey, model: config }: ParsedConfig): readonly string[] {
  const url = database?.url === undefined ? null : URL.parse(database.url);
  const secrets = [
    config?.apiKey,
    vaultKey,
    database?.password,
    url === null ? undefined : decodeURIComponent(url.password),
  ];
  return secrets.filter((secret) => secret !== undefined);
}
