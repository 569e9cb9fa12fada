import type { AgentDefinition, TenantSnapshot } from '../../contracts/tenant';
import type { ToolDefinition } from '../../contracts/tools/tool-shapes';
import type { ErrorSummary } from '../../errors/runtime-error';
import { agentOfTenant } from '../agent-of-tenant';
import type { SelectTools } from '../combine-sources';
import { unattended } from '../unattended';

export interface ToolSelection {
  readonly selectTools: SelectTools;
  /** Agents of this process. */
  readonly agents: readonly AgentDefinition[];
  /** Reports whether a model answers for agents that are asked. */
  readonly hasModel: boolean;
  /** The tier of a run that asks for this one, or for none. Throws what such a run is refused with. */
  readonly tierOf: (snapshot: TenantSnapshot, tier: string | undefined) => string;
}

export interface OfferSettings {
  /** Allow-list of names and patterns, beside all other rules. Default: every tool. */
  readonly allowed?: readonly string[];
  /**
   * False where no person is asked before a call: tools that need an approval are left out, and refused. True where a person has
   * approved the call with these arguments: they must be what the rules let through. Default: a person calls.
   */
  readonly isApproved?: boolean;
}

/** Tenant, agent and tier that tools are for. */
export interface ToolAudience extends OfferSettings {
  readonly snapshot: TenantSnapshot;
  readonly tier?: string;
  readonly agent?: string;
  readonly signal: AbortSignal;
}

export interface OfferedTools {
  readonly tools: readonly ToolDefinition[];
  readonly warnings: readonly ErrorSummary[];
}

/** Tools for a program that calls them itself, but for those that belong to a run, and agents that no model answers for. */
export async function offerTools(parts: ToolSelection, request: ToolAudience): Promise<OfferedTools> {
  const { snapshot, agent, allowed, isApproved, signal } = request;
  const { tier } = asInRun(parts, snapshot, request);
  const rules = allowed === undefined ? [] : [{ enabled_tools: allowed }];
  const { tools, warnings } = await parts.selectTools({ snapshot, tier, agent, rules, servers: [], signal });
  const own = tools.filter(
    ({ comesWith }) => comesWith === undefined || (comesWith === 'sub-agents' && parts.hasModel),
  );
  const { open, unreviewed } = isApproved === false ? unattended(own) : { open: own, unreviewed: [] };
  return { tools: open.map(({ tool }) => tool.definition), warnings: [...warnings, ...unreviewed] };
}

/** Tier and limits that a run of the agent would have. Throws AGENT_NOT_FOUND, TIER_NOT_ALLOWED and the like. */
export function asInRun(
  { agents, tierOf }: ToolSelection,
  snapshot: TenantSnapshot,
  { agent: name, tier }: { readonly agent?: string; readonly tier?: string },
): { readonly tier: string; readonly limits?: AgentDefinition['limits'] } {
  const agent = agentOfTenant({ name }, snapshot, agents);
  return { tier: tierOf(snapshot, tier ?? agent?.tier), limits: agent?.limits };
}
