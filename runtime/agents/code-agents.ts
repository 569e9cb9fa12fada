import type { AgentDefinition } from '../contracts/tenant';
import { describeIssues } from '../errors/describe-issues';
import { RuntimeError } from '../errors/runtime-error';
import { agentSchema } from './agent-schema';

/** Agents that a program brings, checked. Throws CONFIG_INVALID. */
export function readCodeAgents(given: readonly AgentDefinition[] = []): readonly AgentDefinition[] {
  const agents = given.map((one, index) => {
    const { data, error } = agentSchema.safeParse(one);
    if (error === undefined) return data;
    throw invalid(describeIssues(error, `plugins.agents[${index}]`));
  });
  const twice = agents.find(({ name }, index) => agents.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw invalid(`plugins.agents has two agents with the name "${twice.name}"`);
  const cyclic = agents.find(({ name }) => below(name, agents).has(name));
  if (cyclic !== undefined) throw invalid(`plugins.agents: "${cyclic.name}" can ask itself through its sub-agents`);
  return agents;
}

/** Names of all agents that one can ask, itself or through others. */
function below(name: string, agents: readonly AgentDefinition[]): ReadonlySet<string> {
  const found = new Set<string>();
  const askable = (of: string): readonly string[] => agents.find((agent) => agent.name === of)?.subAgents ?? [];
  const open = [...askable(name)];
  for (const one of open) {
    if (!found.has(one)) open.push(...askable(one));
    found.add(one);
  }
  return found;
}

function invalid(issues: string): RuntimeError {
  return new RuntimeError('CONFIG_INVALID', { issues });
}
