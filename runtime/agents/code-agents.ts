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
  return agents;
}

function invalid(issues: string): RuntimeError {
  return new RuntimeError('CONFIG_INVALID', { issues });
}
