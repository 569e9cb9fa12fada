import type { TenantSnapshot, TenantStore, ToolRow } from '../../../runtime';
import { createMemoryLedger, createMemoryTenants, type MemoryLedger } from '../../../runtime/testing';

export const TENANT_ID = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';

/** A tool's row with everything that a test does not name left empty. */
export function toolRow(row: Partial<ToolRow> & Pick<ToolRow, 'code'>): ToolRow {
  return {
    description: `Does ${row.code}`,
    parametersSchema: null,
    endpoint: 'http://127.0.0.1:9/hook',
    authHeader: null,
    timeoutMs: null,
    transport: 'hook',
    mcpTool: null,
    customConfig: {},
    transportConfig: {},
    ...row,
  };
}

/** Tenants from memory: TENANT_ID with these tools, and nobody else. */
export function memoryTenants(
  tools: readonly ToolRow[],
  rest: Partial<Omit<TenantSnapshot, 'agents' | 'skills'>> &
    Pick<Parameters<typeof createMemoryTenants>[0][number], 'agents' | 'skills'> = {},
): TenantStore {
  const prices = [{ modelId: 'openai/gpt-4o-mini', inputPer1M: '0.15', outputPer1M: '0.60' }];
  return createMemoryTenants([{ id: TENANT_ID, tools, prices, ...rest }]);
}

/** A ledger whose every run counts as lost as soon as another one claims its task. */
export function journalingLedger(): MemoryLedger {
  const ledger = createMemoryLedger();
  return {
    ...ledger,
    claim: (request) => ledger.claim({ ...request, leaseMs: -1 }),
    record: (progress) => ledger.record({ ...progress, leaseMs: -1 }),
  };
}
