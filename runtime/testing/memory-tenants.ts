import type { TenantSnapshot, TenantStore, ToolRow } from '../contracts/tenant';
import { RuntimeError } from '../errors/runtime-error';

/** A tenant, with what is not named left empty. */
export interface MemoryTenant extends Partial<Omit<TenantSnapshot, 'tenant' | 'tools'>> {
  /** A UUID. */
  readonly id: string;
  /** Default true. */
  readonly isActive?: boolean;
  readonly settings?: TenantSnapshot['tenant']['settings'];
  readonly tools?: readonly (Partial<ToolRow> & Pick<ToolRow, 'code'>)[];
}

/**
 * Tenants from memory, for tests of whoever builds on the library. Any other id rejects with TENANT_NOT_FOUND.
 *
 * @example
 * createMemoryTenants([{ id, tools: [{ code: 'find_orders', endpoint: 'http://127.0.0.1:8080/orders' }] }])
 */
export function createMemoryTenants(tenants: readonly MemoryTenant[]): TenantStore {
  const known = new Map(tenants.map((tenant) => [tenant.id.toLowerCase(), toSnapshot(tenant)]));
  return {
    load: ({ tenantId }) => {
      const snapshot = known.get(tenantId.toLowerCase());
      if (snapshot === undefined) return Promise.reject(new RuntimeError('TENANT_NOT_FOUND', { tenantId }));
      return Promise.resolve(snapshot);
    },
  };
}

function toSnapshot({ id, isActive = true, settings = {}, tools = [], ...rest }: MemoryTenant): TenantSnapshot {
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
