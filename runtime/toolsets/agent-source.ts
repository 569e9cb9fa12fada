import * as z from 'zod/v4';

import { ASK } from '../agents/agent-schema';
import type { Agent, AgentDefinition, SubAgentRow, TenantSnapshot } from '../contracts/tenant';
import type { Tool } from '../contracts/tools/tool';
import { describeError } from '../errors/runtime-error';
import { agentsWithRules } from '../permissions/read-tool-rules';
import { parseWith } from './parse-with';
import { type GivenSubAgents, NO_TOOLS, type ToolSource } from './tool-source';

const NO_SUB_AGENTS: GivenSubAgents = { asking: '', entries: [], missing: [] };

/**
 * Agents that all of `agents` can ask: of two if the agent was changed since the run began. Each is looked up as `findAgent` does,
 * but one that cannot be read is told by its own run.
 */
export function givenSubAgents(
  { agents: rows, tenant }: Pick<TenantSnapshot, 'agents' | 'tenant'>,
  {
    agents,
    code,
  }: { readonly agents: readonly (Partial<Agent> | undefined)[]; readonly code: readonly AgentDefinition[] },
): GivenSubAgents {
  const [first = [], ...others] = agents.flatMap((agent) => (agent === undefined ? [] : [agent.subAgents ?? []]));
  const names = [...new Set(first)].filter((name) => others.every((list) => list.includes(name)));
  if (names.length === 0) return NO_SUB_AGENTS;
  const withRules = agentsWithRules(tenant.settings.toolConfig).map((name) => ({ name }));
  const found = names.map((name) => ({ name, agent: find(name, rows?.below ?? [], [...code, ...withRules]) }));
  return {
    asking: agents.find((agent) => agent?.name !== undefined)?.name ?? '',
    entries: found.flatMap(({ agent }) => agent ?? []),
    missing: found.flatMap(({ name, agent }) => (agent === undefined ? name : [])),
  };
}

function find(
  name: string,
  rows: readonly SubAgentRow[],
  others: readonly Pick<AgentDefinition, 'name' | 'description'>[],
): GivenSubAgents['entries'][number] | undefined {
  const row = rows.find((one) => one.name === name);
  if (row?.isActive === false) return undefined;
  const found = row ?? others.find((one) => one.name === name);
  return found && { name, description: found.description };
}

/** Agents that the agent of the run can ask, each as a tool `ask_<name>`. */
export function createAgentSource(): ToolSource {
  return {
    offer: ({ subAgents }, before) => {
      if (before !== undefined) return before;
      const { asking, entries, missing } = subAgents;
      if (entries.length + missing.length === 0) return NO_TOOLS;
      return {
        tools: entries.map((agent) => ({
          ...{ name: `${ASK}_${agent.name}`, type: 'agent', identity: [agent.name], comesWith: 'sub-agents' },
          build: (name) => askAgent(name, agent),
        })),
        warnings: missing.map((subAgent) => describeError('SUB_AGENT_NOT_LOADED', { agent: asking, subAgent })),
      };
    },
  };
}

const input = z.object({ message: z.string().trim().min(1) });

/** The tool that runs a task of an agent for each call. */
function askAgent(tool: string, { name, description }: Pick<AgentDefinition, 'name' | 'description'>): Tool {
  const does = description === undefined ? '' : ` ${description.split(/\s+/).join(' ')}`;
  return {
    definition: {
      name: tool,
      description: `Asks the agent "${name}" and returns its answer.${does}`,
      inputSchema: {
        type: 'object',
        properties: {
          message: {
            type: 'string',
            description: 'The task or question, with everything that the agent has to know: it sees nothing else',
          },
        },
        required: ['message'],
      },
    },
    parseInput: parseWith(input),
    // A call that is made again finds the task that it has started.
    isRepeatable: true,
    execute: (given, context) => context.run.startChild({ agent: name, ...input.parse(given) }, context),
  };
}
