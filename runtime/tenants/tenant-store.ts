import { LRUCache } from 'lru-cache';

import type { TenantSnapshot, TenantStore } from '../contracts/tenant';
import { RuntimeError } from '../errors/runtime-error';
import { inBatches } from './in-batches';
import { parseServerTools, parseSnapshot, type ServerTools, type SnapshotColumns } from './parse-snapshot';

interface Loaded {
  readonly columns: SnapshotColumns;
  readonly snapshot: TenantSnapshot;
  readonly serverTools: ServerTools | undefined;
}

const COLUMNS = [
  'settings',
  'tiers',
  'prices',
  'tools',
  'servers',
  'server_tools',
  'secrets',
  'channels',
  'policy_version',
  'agents',
  'skills',
] as const satisfies (keyof SnapshotColumns)[];

/** The most tenants that are loaded together. */
const MAX_TENANTS = 20;
/** Sets of models and agents that runs have asked for lately; a task may name some of its own. */
const MAX_SETS = 200;

/**
 * Loads tenants, always from the database. What came unchanged since the last run keeps its identity,
 * so that tools are parsed, compiled and serialised once and not once a run.
 */
export function createTenantStore(options: {
  readonly query: (tenantIds: readonly string[], asked: Asked) => Promise<readonly SnapshotColumns[]>;
  readonly rememberedTenants: number;
}): TenantStore {
  const remembered = new LRUCache<string, Loaded>({ max: 2 * options.rememberedTenants });
  const loaders = new LRUCache<string, (tenantId: string) => Promise<SnapshotColumns | undefined>>({
    max: MAX_SETS,
  });
  const loaderOf = (asked: Asked): ((tenantId: string) => Promise<SnapshotColumns | undefined>) => {
    const key = JSON.stringify(asked);
    const load = loaders.get(key) ?? inBatches(loadAll(options.query, asked), MAX_TENANTS);
    loaders.set(key, load);
    return load;
  };
  return {
    load: async ({ tenantId, ...asked }) => {
      const columns = await loaderOf(asked)(tenantId.toLowerCase());
      if (columns === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
      // Each agent by itself: the prices that come with it are others.
      const key = JSON.stringify([tenantId, asked.agent, asked.skills, asked.subAgents]);
      const loaded = refresh(remembered.get(key) ?? remembered.get(tenantId), columns);
      remembered.set(key, loaded);
      remembered.set(tenantId, loaded);
      return loaded.snapshot;
    },
  };
}

type Asked = Omit<Parameters<TenantStore['load']>[0], 'tenantId'>;

function loadAll(
  query: Parameters<typeof createTenantStore>[0]['query'],
  asked: Asked,
): (tenantIds: readonly string[]) => Promise<ReadonlyMap<string, SnapshotColumns>> {
  return async (tenantIds) => new Map((await query(tenantIds, asked)).map((row) => [row.id, row]));
}

function refresh(before: Loaded | undefined, columns: SnapshotColumns): Loaded {
  if (before === undefined) {
    const serverTools = parseServerTools(columns.server_tools);
    return { columns, serverTools, snapshot: parseSnapshot(columns, serverTools) };
  }
  const isSame = (...names: (typeof COLUMNS)[number][]): boolean =>
    names.every((name) => before.columns[name] === columns[name]);
  if (isSame(...COLUMNS) && before.columns.is_active === columns.is_active) return before;
  const serverTools = isSame('server_tools') ? before.serverTools : parseServerTools(columns.server_tools);
  const snapshot = parseSnapshot(columns, serverTools);
  const { tools, servers, skills } = before.snapshot;
  return {
    columns,
    serverTools,
    snapshot: {
      ...snapshot,
      ...(isSame('tools', 'secrets', 'channels') ? { tools } : {}),
      ...(isSame('servers', 'server_tools', 'secrets', 'channels') ? { servers } : {}),
      ...(isSame('skills') ? { skills } : {}),
    },
  };
}
