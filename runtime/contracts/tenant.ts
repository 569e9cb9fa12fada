import type { RuntimeError } from '../errors/runtime-error';
import type { JsonObject } from '../util/json';
import type { ModelPrice } from './ledger/usage';
import type { McpServerRow } from './tools/mcp';
import type { SkillEntry } from './tools/skill';

/** A quality and price label, and the model behind it. */
export interface Tier {
  readonly code: string;
  readonly name: string;
  readonly modelId: string;
  /** Not billed, as long as it runs its own model and that one has no price above zero. */
  readonly isFree?: boolean;
  readonly maxTokens?: number;
  readonly temperature?: number;
  /** Limit of the time without a byte of a reply. */
  readonly modelSilenceSeconds?: number;
  /** Tiers are ranked by this; undefined ranks above every limit. */
  readonly rank?: number;
  /** Rules for tools, for every tenant on this tier, as they stand in the database. */
  readonly toolConfig?: unknown;
}

/** The keys of the tenant's settings that we read. */
export interface TenantSettings {
  readonly defaultTier?: string;
  readonly maxTier?: string;
  readonly maxIterations?: number;
  readonly modelSilenceSeconds?: number;
  /** US dollars of a month, as decimal text. */
  readonly monthlyCostLimitUsd?: string;
  /** Tokens of a month, as decimal text. */
  readonly monthlyTokenLimit?: string;
  /** The limit as text, as it stands in the database. */
  readonly runsPerMinute?: string;
  /** Age at which messages of conversations are deleted. */
  readonly sessionDays?: number;
  /** Tokens of a conversation that a run begins with, at most. */
  readonly sessionWindowTokens?: number;
  /** Name such as `Europe/Berlin`, not validated. */
  readonly timeZone?: string;
  /** Adds the date, language, personality and working hours to system prompts. */
  readonly tellContext?: boolean;
  readonly language?: string;
  /** Sentences for customers in place of the built-in ones, by error code or status. */
  readonly customerMessages?: Readonly<Record<string, string>>;
  readonly agentPersonality?: string;
  /** Information for models, never enforced. */
  readonly workingHours?: string;
  /** Rules for tools, as they stand in the database. */
  readonly toolConfig?: unknown;
  /** The hosts of MCP servers that a workflow may bring with it, as they stand in the database; undefined: any. */
  readonly mcpAllowedHosts?: unknown;
  /** The hosts that webhooks of tasks may go to, as they stand in the database. */
  readonly callbackHosts?: unknown;
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
  /** How a tool of the transports rest, workflow and builtin is called. */
  readonly transportConfig: JsonObject;
  /** The secrets that were put into the fields above in place of their names, for redaction. */
  readonly secrets?: readonly string[];
  /** Why the row's configuration, or a secret that it names, cannot be used; the tool must not be offered then. */
  readonly secretFailure?: string;
  /** The same as an error of the vault, where it is one. */
  readonly vaultError?: RuntimeError;
}

/** A secret as the vault keeps it. */
export interface SealedSecret {
  readonly name: string;
  /** True for a secret of every tenant that has none of its own under this name. */
  readonly isShared: boolean;
  readonly sealed: string;
}

/** A choice of a model by what the task says. */
export interface ModelRule {
  /** Values by path, such as `context.plan` or `meta.client_id`: all of them must be equal. */
  readonly when: Readonly<Record<string, string | number | boolean>>;
  /** Its id; or the code of a tier, one of the two. */
  readonly model?: string;
  readonly tier?: string;
}

/** Prompt, model, tools and limits of runs, under a name. The task's own settings take precedence; allow-lists, permissions and limits only narrow. */
export interface AgentDefinition {
  /** Letters, digits, `_` and `-`, at most 50. */
  readonly name: string;
  readonly description?: string;
  readonly systemPrompt?: string;
  /** The code of a tier. Default: the tenant's. */
  readonly tier?: string;
  /** The id of a model, within what the tenant may use; not together with `tier`. */
  readonly model?: string;
  /** Take precedence over `tier` and `model`. The first rule that matches decides. */
  readonly modelRules?: readonly ModelRule[];
  readonly temperature?: number;
  readonly maxIterations?: number;
  /** Names of tools that it may call; undefined: all of the tenant's, empty: none. */
  readonly tools?: readonly string[];
  /** Rules by name of the tool, as in `tool_config.tool_permissions`. */
  readonly toolPermissions?: JsonObject;
  /** Names of skills that it may load; `*` means all of the tenant's. Default: none, unless the task names some. */
  readonly skills?: readonly string[];
  /** Names of agents that it can ask, each with a tool `ask_<name>`. Default: none. */
  readonly subAgents?: readonly string[];
  /** JSON Schema of its answers. */
  readonly outputSchema?: JsonObject;
  /** Limits of a run, in the words of a task's config. */
  readonly limits?: {
    /** US dollars, as decimal text. */
    readonly max_cost_usd?: string;
    readonly max_total_tokens?: number;
    readonly max_tool_calls?: number;
    readonly max_calls_per_tool?: number;
  };
}

/** An agent, and where it was found: a row, this process, or nothing but rules in `tool_config.agents`. */
export interface Agent extends AgentDefinition {
  readonly source: 'virtual' | 'code' | 'rules';
  /** How often its row was changed, beginning with 1. */
  readonly version?: number;
}

/** A row of elo_agents. */
export interface AgentRow {
  /** Undefined: the row is for all tenants. */
  readonly tenantId?: string;
  readonly isActive: boolean;
  readonly version: number;
  /** The definition, unchecked. */
  readonly definition: JsonObject;
}

/** The part of a row of elo_agents that another agent needs to ask it. */
export interface SubAgentRow {
  readonly name: string;
  readonly description?: string;
  readonly isActive: boolean;
}

/** Everything that one run needs from the database, from one round trip. */
export interface TenantSnapshot {
  readonly tenant: Tenant;
  readonly tiers: readonly Tier[];
  readonly prices: readonly ModelPrice[];
  readonly tools: readonly ToolRow[];
  /** The MCP servers that the tenant uses; a store that knows none may leave them out. */
  readonly servers?: readonly McpServerRow[];
  /** The secrets that rows may name as `vault:NAME`. */
  readonly sealedSecrets?: readonly SealedSecret[];
  /** The credentials of the tenant's channel accounts, that rows may name as `channel:CODE.KEY`. */
  readonly channels?: JsonObject;
  /** Every secret that was opened for this tenant, for redaction. */
  readonly openedSecrets?: readonly string[];
  /** Changes with everything that decides which tools the tenant may call; undefined where nobody can tell. */
  readonly policyVersion?: string;
  /** Rows of the agent that was asked for. Undefined: no agent was, or the store knows none. */
  readonly agents?: {
    readonly rows: readonly AgentRow[];
    /** The tenant has rows of agents, of whatever name. */
    readonly isAny: boolean;
    /** Agents that it can ask: the tenant's own row, or else the row for all tenants. Default: none. */
    readonly below?: readonly SubAgentRow[];
  };
  /** Active skills that the task or its agent names. Undefined: none was named, or the store knows none. */
  readonly skills?: readonly SkillEntry[];
}

/** Where tenants come from. Rejects with TENANT_NOT_FOUND or a DB_ code. */
export interface TenantStore {
  readonly load: (request: {
    readonly tenantId: string;
    /** Models whose prices may be needed, beside those of tiers and of the agent. */
    readonly modelIds: readonly string[];
    /** The name of the agent whose rows are needed, with the skills that it names. */
    readonly agent?: string;
    /** Names of more skills that are needed; `*` means all. */
    readonly skills?: readonly string[];
    /** Names of agents that it can ask, beside those of its rows. */
    readonly subAgents?: readonly string[];
  }) => Promise<TenantSnapshot>;
}
