import {
  RuntimeError,
  type LedgerStore,
  type RunProgress,
  type TenantSnapshot,
  type TenantStore,
  type ToolRow,
} from '../../runtime';

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
export function memoryTenants(tools: readonly ToolRow[], rest: Partial<TenantSnapshot> = {}): TenantStore {
  const snapshot: TenantSnapshot = {
    tenant: { id: TENANT_ID, isActive: true, settings: {} },
    tiers: [],
    prices: [{ modelId: 'openai/gpt-4o-mini', inputPer1M: '0.15', outputPer1M: '0.60' }],
    tools,
    ...rest,
  };
  return {
    load: ({ tenantId }) =>
      tenantId === TENANT_ID
        ? Promise.resolve(snapshot)
        : Promise.reject(new RuntimeError('TENANT_NOT_FOUND', { tenantId })),
  };
}

/** A ledger that lets everybody run and keeps what is written. */
export function memoryLedger(): LedgerStore & { readonly written: readonly RunProgress[] } {
  const written: RunProgress[] = [];
  return {
    written,
    claim: () => Promise.resolve({ kind: 'claimed', attempt: 1 }),
    record: (progress) => {
      written.push(progress);
      return Promise.resolve({ held: true });
    },
  };
}
