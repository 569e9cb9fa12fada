import type { AgentDefinition } from '../../contracts/tenant';
import { RuntimeError } from '../../errors/runtime-error';
import { agentsWithRules } from '../../permissions/read-tool-rules';
import { AGENT_ROWS, subAgentsOf, unknownAgents } from '../../storage/sql/admin/manage-agents';
import { readSettings } from '../../storage/sql/admin/manage-tenants';
import { lockName } from '../../storage/sql/admin/write-row';
import type { Query } from '../../storage/statement';
import { parseSettings } from '../../tenants/parse-settings';
import { type ScopedKind, unknownRow } from '../scoped-row';

export const AGENTS: ScopedKind = {
  rows: AGENT_ROWS,
  exists: (agent) => new RuntimeError('AGENT_EXISTS', { agent }),
  unknown: (owner, agent) => new RuntimeError('AGENT_UNKNOWN', { owner, agent }),
};

interface Asking {
  readonly tenantId?: string;
  readonly name: string;
  readonly subAgents?: readonly string[] | null;
}

/**
 * Rejects with AGENT_UNKNOWN, and with AGENT_CYCLE where one of the sub-agents can ask the agent, itself or through others. Of an
 * agent for all tenants each tenant may have agents of its own, which only the depth of a run bounds then.
 */
export async function checkSubAgents(query: Query, asking: Asking, code: readonly AgentDefinition[]): Promise<void> {
  const { tenantId, name, subAgents } = asking;
  if (subAgents === undefined || subAgents === null || subAgents.length === 0) return;
  // Two changes at once could make a cycle that neither of them is.
  await query(lockName({ kind: AGENT_ROWS.table, name: 'sub_agents' }));
  await refuseUnknown(query, { tenantId, subAgents, code });
  const seen = new Set<string>();
  let open = new Map(subAgents.map((one) => [one, one]));
  while (open.size > 0) {
    const subAgent = open.get(name);
    if (subAgent !== undefined) throw new RuntimeError('AGENT_CYCLE', { agent: name, subAgent });
    const askable = await edgesFrom(query, { tenantId, names: [...open.keys()], code });
    for (const one of open.keys()) seen.add(one);
    const next = [...open].flatMap(([one, first]) => (askable.get(one) ?? []).map((other) => [other, first] as const));
    open = new Map(next.filter(([one]) => !seen.has(one)));
  }
}

async function refuseUnknown(
  query: Query,
  {
    tenantId,
    subAgents,
    code,
  }: Pick<Asking, 'tenantId'> & { readonly subAgents: readonly string[]; readonly code: readonly AgentDefinition[] },
): Promise<void> {
  const rows = await query<{ name: string }>(unknownAgents({ tenantId, names: subAgents }));
  const unknown = rows.filter((row) => code.every(({ name }) => name !== row.name));
  if (unknown.length === 0) return;
  const withRules = await namesWithRules(query, tenantId);
  const first = unknown.find(({ name }) => !withRules.includes(name));
  if (first !== undefined) throw unknownRow(AGENTS, { tenantId, name: first.name });
}

/** Returns the agents that each of these can ask. */
async function edgesFrom(
  query: Query,
  {
    tenantId,
    names,
    code,
  }: Pick<Asking, 'tenantId'> & { readonly names: readonly string[]; readonly code: readonly AgentDefinition[] },
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await query<{ name: string; sub_agents: readonly string[] }>(subAgentsOf({ tenantId, names }));
  return new Map([
    ...code.map(({ name, subAgents = [] }) => [name, subAgents] as const),
    ...rows.map((row) => [row.name, row.sub_agents] as const),
  ]);
}

/** The names of agents with rules in the settings of a tenant. */
export async function namesWithRules(query: Query, tenantId: string | undefined): Promise<readonly string[]> {
  if (tenantId === undefined) return [];
  const [row] = await query<{ settings: string | null }>(readSettings({ tenantId }));
  return agentsWithRules(parseSettings(row?.settings ?? null).toolConfig);
}
