import type { AgentDefinition, TenantSnapshot, TenantStore, ToolRow } from '../contracts/tenant';
import { RuntimeError } from '../errors/runtime-error';
import type { JsonObject } from '../util/json';

/** A tenant, with what is not named left empty. */
export interface MemoryTenant extends Partial<Omit<TenantSnapshot, 'tenant' | 'tools' | 'agents'>> {
  /** A UUID. */
  readonly id: string;
  /** Default true. */
  readonly isActive?: boolean;
  readonly settings?: TenantSnapshot['tenant']['settings'];
  readonly tools?: readonly (Partial<ToolRow> & Pick<ToolRow, 'code'>)[];
  readonly agents?: readonly AgentDefinition[];
}

/**
 * Tenants from memory, for tests of whoever builds on the library. Any other id rejects with TENANT_NOT_FOUND.
 *
 * @example
 * createMemoryTenants([{ id, tools: [{ code: 'find_orders', endpoint: 'http://127.0.0.1:8080/orders' }] }])
 */
export function createMemoryTenants(tenants: readonly MemoryTenant[]): TenantStore {
  const known = new Map(
    tenants.map(({ agents = [], ...tenant }) => [tenant.id.toLowerCase(), { agents, snapshot: toSnapshot(tenant) }]),
  );
  return {
    load: ({ tenantId, agent }) => {
      const found = known.get(tenantId.toLowerCase());
      if (found === undefined) return Promise.reject(new RuntimeError('TENANT_NOT_FOUND', { tenantId }));
      const { snapshot, agents } = found;
      return Promise.resolve(agent === undefined ? snapshot : { ...snapshot, agents: rowsOf(tenantId, agents, agent) });
    },
  };
}

function rowsOf(tenantId: string, agents: readonly AgentDefinition[], name: string): TenantSnapshot['agents'] {
  const found = agents.filter((agent) => agent.name === name);
  const rows = found.map((agent) => ({
    ...{ tenantId, isActive: true, version: 1 },
    definition: agent as unknown as JsonObject,
  }));
  const asked = found.flatMap(({ subAgents = [] }) => subAgents);
  const below = agents.filter((agent) => asked.includes(agent.name));
  return {
    ...{ isAny: agents.length > 0, rows },
    below: below.map((agent) => ({ name: agent.name, description: agent.description, isActive: true })),
  };
}

function toSnapshot({
  id,
  isActive = true,
  settings = {},
  tools = [],
  ...rest
}: Omit<MemoryTenant, 'agents'>): TenantSnapshot {
  return {
    tenant: { id, isActive, settings },
    tiers: [],
    prices: [],
    tools: tools.map(toolRow),
    ...rest,
  };
}

/** A row with everything that is not named left empty. */
function toolRow(row: Partial<ToolRow> & Pick<ToolRow, 'code'>): ToolRow {
  return {
    description: `Does ${row.code}`,
    parametersSchema: null,
    endpoint: null,
    authHeader: null,
    timeoutMs: null,
    transport: 'hook',
    mcpTool: null,
    customConfig: {},
    transportConfig: {},
    ...row,
  };
}
