import {
  type AgentResult,
  type LedgerStore,
  type RunProgress,
  RuntimeError,
  type TenantSnapshot,
  type TenantStore,
  type ToolRow,
} from '../../../runtime';
import type { JournalEntry } from '../../../runtime/contracts/step';

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
      return Promise.resolve({ isOurs: true });
    },
  };
}

/** A ledger whose every run is lost as soon as another one claims its task, and whose journal goes through JSON. */
export function journalingLedger(): LedgerStore & { readonly journal: () => readonly JournalEntry[] } {
  let holder = '';
  let attempt = 0;
  let kept = new Map<string, string>();
  let result: AgentResult | undefined;
  const journal = (): JournalEntry[] => [...kept.values()].map((text) => JSON.parse(text) as JournalEntry);
  return {
    journal,
    claim: ({ runId }) => {
      if (result !== undefined) return Promise.resolve({ kind: 'done', result });
      holder = runId;
      return Promise.resolve({ kind: 'claimed', attempt: ++attempt, journal: journal() });
    },
    record: ({ runId, journal: entries = [], end }) => {
      if (runId !== holder) return Promise.resolve({ isOurs: false });
      for (const entry of entries) {
        const [id, value] =
          'id' in entry
            ? [entry.id, entry]
            : ['', { ...entry, sent: [...entry.sent, ...(entry.sending ?? [])], sending: undefined }];
        kept.set(JSON.stringify([entry.step, id]), JSON.stringify(value));
      }
      if (end?.state === 'done') {
        kept = new Map();
        result = end.result;
      }
      return Promise.resolve({ isOurs: true });
    },
  };
}
