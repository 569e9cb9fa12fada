import { agentNameField } from '../agents/agent-schema';
import { findAgent, hasAgents } from '../agents/find-agent';
import type { Agent, AgentDefinition, TenantSnapshot } from '../contracts/tenant';
import { RuntimeError } from '../errors/runtime-error';
import { agentsWithRules } from '../permissions/read-tool-rules';
import { canonicalJson } from '../util/json';
import type { ToolLists } from './tool-source';

const SHOWN_NAME = 60;

/**
 * The agent that a name stands for now, in a snapshot that was loaded with it; undefined without a name, and for a name that is
 * only a label. `began` is the agent that the run goes on from, null for none: such a run needs none now. Throws
 * AGENT_NOT_FOUND, AGENT_INACTIVE, AGENT_INVALID, POLICY_INVALID.
 */
export function agentOfTenant(
  { name, began }: { readonly name: string | undefined; readonly began?: Agent | null },
  snapshot: TenantSnapshot,
  code: readonly AgentDefinition[],
): Agent | undefined {
  if (name === undefined) return undefined;
  const elsewhere = { code, withRules: agentsWithRules(snapshot.tenant.settings.toolConfig) };
  const agent = findAgent(name, snapshot, elsewhere);
  const isLabel = began === undefined ? !hasAgents(snapshot, elsewhere) : began === null || began.source === 'rules';
  if (agent !== undefined || isLabel) return agent;
  throw new RuntimeError('AGENT_NOT_FOUND', { agent: name.slice(0, SHOWN_NAME) });
}

/** The name as far as a row can have it: the tenant's rows are looked up all the same. */
export const nameOfRow = (name: string | undefined): string | undefined =>
  name === undefined || agentNameField.safeParse(name).success ? name : '';

/** Returns the tool rules of agents: of two if the agent was changed since the run began. */
export function rulesOfAgents(...agents: readonly (Agent | undefined)[]): readonly ToolLists[] {
  const rules = agents.flatMap((agent) =>
    agent?.tools === undefined && agent?.toolPermissions === undefined
      ? []
      : [{ enabled_tools: agent.tools, tool_permissions: agent.toolPermissions }],
  );
  return [...new Map(rules.map((one) => [canonicalJson(one), one])).values()];
}
