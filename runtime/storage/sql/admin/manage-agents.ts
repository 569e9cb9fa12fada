import type { JsonValue } from '../../../util/json';
import { named } from '../named';
import { OF_OWNER, type RowOwner, scopedRows } from './scoped-rows';

/** An agent in a list: a row, one of this process, or a name with nothing but rules. */
export interface AgentEntry {
  readonly name: string;
  readonly source: 'virtual' | 'code' | 'rules';
  /** Owner of the row; null for an entry that is not a row. */
  readonly scope: 'tenant' | 'shared' | null;
  readonly description: string | null;
  readonly tier: string | null;
  readonly model: string | null;
  readonly version: number | null;
  readonly is_active: boolean;
}

/** The whole row of an agent. */
export interface AgentDetails extends AgentEntry {
  readonly system_prompt: string | null;
  readonly model_rules: JsonValue;
  readonly temperature: number | null;
  readonly max_iterations: number | null;
  readonly tools: readonly string[] | null;
  readonly tool_permissions: JsonValue;
  readonly skills: readonly string[] | null;
  readonly sub_agents: readonly string[] | null;
  readonly output_schema: JsonValue;
  readonly limits: JsonValue;
  readonly updated_at: string;
}

const ENTRY = `
agent.name, 'virtual' AS source, CASE WHEN agent.tenant_id IS NULL THEN 'shared' ELSE 'tenant' END AS scope, agent.description,
  agent.tier, agent.model, agent.version, agent.is_active`;

/** A tenant's own agents and those of all tenants; or only the latter. */
export const listAgentRows = named<Omit<RowOwner, 'name'>>(`
SELECT ${ENTRY} FROM elo_agents AS agent
WHERE agent.tenant_id = :tenantId::uuid OR agent.tenant_id IS NULL
ORDER BY agent.name, agent.tenant_id NULLS LAST`);

export const readAgentRow = named<RowOwner>(`
SELECT ${ENTRY}, agent.system_prompt, agent.model_rules, agent.temperature::float8 AS temperature, agent.max_iterations,
  agent.tools, agent.tool_permissions, agent.skills, agent.sub_agents, agent.output_schema, agent.limits, agent.updated_at::text AS updated_at
FROM elo_agents AS agent WHERE ${OF_OWNER}`);

/** Names without an agent: of the tenant and of all tenants, or, without a tenant, of anybody. */
export const unknownAgents = named<Omit<RowOwner, 'name'> & { readonly names: readonly string[] }>(`
SELECT given.name FROM unnest(:names::text[]) AS given (name)
WHERE NOT EXISTS (
  SELECT FROM elo_agents AS agent
  WHERE agent.name = given.name AND (:tenantId::uuid IS NULL OR agent.tenant_id IS NULL OR agent.tenant_id = :tenantId::uuid)
)`);

/** The sub-agents of the agents that these names stand for, for a tenant or, without one, for all. */
export const subAgentsOf = named<Omit<RowOwner, 'name'> & { readonly names: readonly string[] }>(`
SELECT DISTINCT ON (agent.name) agent.name, coalesce(agent.sub_agents, '{}') AS sub_agents FROM elo_agents AS agent
WHERE agent.name = ANY (:names::text[]) AND (agent.tenant_id IS NULL OR agent.tenant_id = :tenantId::uuid)
ORDER BY agent.name, agent.tenant_id NULLS LAST`);

export const AGENT_ROWS = scopedRows('elo_agents');
