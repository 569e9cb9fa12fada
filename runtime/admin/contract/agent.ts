import type { ModelRule } from '../../contracts/tenant';
import type { AgentDetails, AgentEntry } from '../../storage/sql/admin/manage-agents';
import type { JsonObject } from '../../util/json';
import type { Scope, ScopeShown } from './scope';

/** Omitted fields of an existing agent keep their value; null clears them. */
export interface AgentChange {
  /** Letters, digits, `_` and `-`, at most 50. */
  readonly name: string;
  readonly description?: string | null;
  readonly systemPrompt?: string | null;
  /** The code of a tier; or a model, one of the two. */
  readonly tier?: string | null;
  readonly model?: string | null;
  /** Take precedence over tier and model; the first that matches decides. */
  readonly modelRules?: readonly ModelRule[] | null;
  readonly temperature?: number | null;
  readonly maxIterations?: number | null;
  /** Names of tools that it may call; null: all of the tenant's. */
  readonly tools?: readonly string[] | null;
  readonly toolPermissions?: JsonObject | null;
  /** Names of skills that it may load, `*` for all; null: none. */
  readonly skills?: readonly string[] | null;
  /** Names of agents that it can ask, each with a tool `ask_<name>`; null: none. */
  readonly subAgents?: readonly string[] | null;
  /** JSON Schema of its answers. */
  readonly outputSchema?: JsonObject | null;
  /** `max_cost_usd`, `max_total_tokens`, `max_tool_calls`, `max_calls_per_tool` of a run. */
  readonly limits?: JsonObject | null;
  readonly isActive?: boolean;
}

type Named = Scope & { readonly name: string };

/**
 * Agents of a tenant, or with `shared` of all tenants. Every method rejects with ADMIN_INPUT_INVALID, POLICY_INVALID, RULE_UNMATCHED,
 * TIER_UNKNOWN, SKILL_UNKNOWN, OUTPUT_FORMAT_INVALID, AGENT_UNKNOWN, AGENT_CYCLE, TENANT_NOT_FOUND or a DB_ code; then nothing has changed.
 */
export interface AgentAdmin {
  /** Rejects with AGENT_EXISTS too. */
  readonly create: (agent: Scope & AgentChange) => Promise<AgentDetails>;
  /** Creates an agent, or updates the one of this name. Idempotent. */
  readonly set: (agent: Scope & AgentChange) => Promise<AgentDetails>;
  readonly get: (agent: Named) => Promise<AgentDetails>;
  /** The tenant's own rows, those of all tenants, those of this process, and names that have rules only. */
  readonly list: (scope: Scope) => Promise<ScopeShown & { readonly agents: readonly AgentEntry[] }>;
  readonly update: (agent: Scope & AgentChange) => Promise<AgentDetails>;
  readonly delete: (agent: Named) => Promise<ScopeShown & { readonly name: string; readonly deleted: true }>;
}
