import { runAgent, type AgentParts, type RunOptions } from './agent';
import { DEFAULTS, parseConfig, type ParsedConfig, type RuntimeConfig } from './config';
import type { LedgerStore } from './contracts/ledger';
import type { AgentResult } from './contracts/result';
import type { TenantStore } from './contracts/tenant';
import { createMcpTransport } from './mcp/mcp-transport';
import { createOpenAiModel } from './models/openai-model';
import { createToolSelector } from './select-tools';
import { createLedgerStore } from './storage/ledger-store';
import { createPostgres, type Postgres } from './storage/postgres';
import { loadTenantStatement } from './storage/sql/load-tenant';
import type { SnapshotColumns } from './tenants/parse-snapshot';
import { createTenantStore } from './tenants/tenant-store';
import { createToolBuilder } from './tools/build-tools';
import { createHookTransport } from './tools/hook-transport';

export interface Runtime {
  /** Runs one task. The task may be the documents' JSON as it is. Rejects with a RuntimeError. */
  readonly run: (task: unknown, options?: RunOptions) => Promise<AgentResult>;
  /** Closes every connection; runs under way should have ended. May be called twice. */
  readonly close: () => Promise<void>;
}

type Close = () => Promise<unknown>;

/** Builds the adapters and wires the ports. Throws CONFIG_INVALID; connects to nothing yet. */
export function createRuntime(config: RuntimeConfig): Runtime {
  const parsed = parseConfig(config);
  const closers: Close[] = [];
  const parts: AgentParts = {
    ...stores(parsed, closers),
    model: model(parsed, closers),
    selectTools: createToolSelector({
      buildTools: createToolBuilder({
        transports: transports(closers),
        defaultTimeoutMs: parsed.limits.toolTimeoutMs,
        maxOutputBytes: parsed.limits.maxToolOutputBytes,
        secrets: knownSecrets(parsed),
      }),
      extraTools: parsed.plugins.tools ?? [],
    }),
  };
  let closing: Promise<void> | undefined;
  return {
    run: (task, options) => runAgent(parts, task, options),
    close: () => (closing ??= Promise.allSettled(closers.map((close) => close())).then(() => undefined)),
  };
}

function stores({ database, plugins }: ParsedConfig, closers: Close[]): { tenants: TenantStore; ledger: LedgerStore } {
  // parseConfig has made sure that what is not plugged in has a database.
  if (database === undefined) return plugins as { tenants: TenantStore; ledger: LedgerStore };
  const postgres = createPostgres(database);
  const ledger = createLedgerStore(postgres.query);
  closers.push(ledger.close, postgres.close);
  return { tenants: plugins.tenants ?? tenantStore(postgres), ledger: plugins.ledger ?? ledger };
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

function transports(closers: Close[]): Parameters<typeof createToolBuilder>[0]['transports'] {
  const hook = createHookTransport();
  const mcp = createMcpTransport({
    maxConnections: DEFAULTS.mcpMaxConnections,
    idleMs: DEFAULTS.mcpIdleMs,
    connectTimeoutMs: DEFAULTS.mcpConnectTimeoutMs,
  });
  closers.push(hook.close, mcp.close);
  return { hook, mcp };
}

/** No tool's server may send these back into an answer. */
function knownSecrets({ database, model: config }: ParsedConfig): readonly string[] {
  const url = database?.url === undefined ? null : URL.parse(database.url);
  const secrets = [config?.apiKey, database?.password, url === null ? undefined : decodeURIComponent(url.password)];
  return secrets.filter((secret) => secret !== undefined);
}
