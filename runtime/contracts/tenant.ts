import type { JsonObject } from '../util/json';
import type { McpServerRow } from './mcp';
import type { ModelPrice } from './usage';

/** A quality and price label, and the model behind it. */
export interface Tier {
  readonly code: string;
  readonly name: string;
  readonly modelId: string;
  readonly maxTokens?: number;
  readonly temperature?: number;
  /** Tiers are ranked by this; undefined ranks above every limit. */
  readonly rank?: number;
}

/** The keys of the tenant's settings that we read. */
export interface TenantSettings {
  readonly defaultTier?: string;
  readonly maxTier?: string;
  readonly maxIterations?: number;
  readonly monthlyCostLimitUsd?: string;
}

export interface Tenant {
  readonly id: string;
  readonly isActive: boolean;
  readonly settings: TenantSettings;
}

/** One row of elo_agent_tools joined with the tenant's own row; private fields never reach the model. */
export interface ToolRow {
  readonly code: string;
  readonly description: string;
  readonly parametersSchema: unknown;
  readonly endpoint: string | null;
  readonly authHeader: string | null;
  readonly timeoutMs: number | null;
  readonly transport: string;
  /** The tool's name on its MCP server, when it differs from the code. */
  readonly mcpTool: string | null;
  /** Undefined means every tier. */
  readonly allowedTiers?: readonly string[];
  readonly customConfig: JsonObject;
}

/** Everything that one run needs from the database, from one round trip. */
export interface TenantSnapshot {
  readonly tenant: Tenant;
  readonly tiers: readonly Tier[];
  readonly prices: readonly ModelPrice[];
  readonly tools: readonly ToolRow[];
  /** The MCP servers that the tenant uses; a store that knows none may leave them out. */
  readonly servers?: readonly McpServerRow[];
}

/** Where tenants come from. Rejects with TENANT_NOT_FOUND or a DB_ code. */
export interface TenantStore {
  readonly load: (request: { tenantId: string; modelIds: readonly string[] }) => Promise<TenantSnapshot>;
}
