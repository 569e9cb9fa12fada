import { LRUCache } from 'lru-cache';

import type { TenantSnapshot, TenantStore } from '../contracts/tenant';
import { RuntimeError } from '../errors/runtime-error';
import { parseSnapshot, type SnapshotColumns } from './parse-snapshot';

interface Loaded {
  readonly columns: SnapshotColumns;
  readonly snapshot: TenantSnapshot;
}

const COLUMNS = ['settings', 'tiers', 'prices', 'tools'] as const satisfies (keyof SnapshotColumns)[];

/**
 * Loads tenants, always from the database. What came unchanged since the last run keeps its identity,
 * so that tools are parsed, compiled and serialised once and not once a run.
 */
export function createTenantStore(options: {
  readonly query: (tenantId: string, modelIds: readonly string[]) => Promise<SnapshotColumns | undefined>;
  readonly rememberedTenants: number;
}): TenantStore {
  const remembered = new LRUCache<string, Loaded>({ max: options.rememberedTenants });
  return {
    load: async ({ tenantId, modelIds }) => {
      const columns = await options.query(tenantId, modelIds);
      if (columns === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
      const before = remembered.get(tenantId);
      const snapshot = before === undefined ? parseSnapshot(columns) : refresh(before, columns);
      remembered.set(tenantId, { columns, snapshot });
      return snapshot;
    },
  };
}

function refresh(before: Loaded, columns: SnapshotColumns): TenantSnapshot {
  const isSame = COLUMNS.every((name) => before.columns[name] === columns[name]);
  if (isSame && before.columns.is_active === columns.is_active) return before.snapshot;
  const snapshot = parseSnapshot(columns);
  return before.columns.tools === columns.tools ? { ...snapshot, tools: before.snapshot.tools } : snapshot;
}
