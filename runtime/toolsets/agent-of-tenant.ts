import { findAgent } from '../agents/find-agent';
import type { Agent, AgentDefinition, TenantSnapshot } from '../contracts/tenant';
import { agentsWithRules } from '../permissions/read-tool-rules';
import { canonicalJson } from '../util/json';
import type { ToolLists } from './tool-source';

/**
 * The agent that a name stands for now, in a snapshot that was loaded with it; undefined without a name, and for a name that is
 * only a label. Throws AGENT_NOT_FOUND, AGENT_INACTIVE, AGENT_INVALID, POLICY_INVALID.
 */
export function agentOfTenant(
  name: string | undefined,
  snapshot: TenantSnapshot,
  code: readonly AgentDefinition[],
): Agent | undefined {
  if (name === undefined) return undefined;
  return findAgent(name, snapshot, { code, withRules: agentsWithRules(snapshot.tenant.settings.toolConfig) });
}

/** What the definition of an agent allows; of two when it was changed since the run began. */
export function rulesOfAgents(...agents: readonly (Agent | undefined)[]): readonly ToolLists[] {
  const rules = agents.flatMap((agent) =>
    agent?.tools === undefined && agent?.toolPermissions === undefined
      ? []
      : [{ enabled_tools: agent.tools, tool_permissions: agent.toolPermissions }],
  );
  return [...new Map(rules.map((one) => [canonicalJson(one), one])).values()];
}
