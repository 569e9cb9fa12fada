import { ASK } from '../../agents/agent-schema';
import type { PlannedStep } from '../../contracts/tools/plan';
import type { Tool, Toolset } from '../../contracts/tools/tool';
import { parametersOf } from '../../tools/schemas/parameters';
import { PLAN_TOOLS } from '../../toolsets/plan-source';
import { isJsonObject } from '../../util/json';
import { clipText } from '../../util/text/clip-text';

const MAX_LISTED_BYTES = 24_000;
const MAX_TOLD_BYTES = 300;

/** Tools, skills and agents that can do the steps of a plan. */
export interface Executors {
  /** Origins of the tools of the run but those that make plans. */
  readonly origins: readonly string[];
  /** The tool whose call does a step; undefined for the run's own loop, and for a name that there is not. */
  readonly toolOf: (step: Pick<PlannedStep, 'executor' | 'name'>) => Tool | undefined;
  /** Returns mistakes in the steps, for the model; undefined if there are none. */
  readonly issuesOf: (steps: readonly PlannedStep[]) => string | undefined;
  /** Names of agents and tools, with what they do and take. */
  readonly listed: () => string;
}

/** Reads a toolset. Skills are listed in the system prompt already. */
export function executorsOf(toolset: Toolset): Executors {
  const all = toolset.definitions.flatMap(({ name }) => toolset.find(name) ?? []);
  const tools = all.filter(({ definition: { name } }) => !PLAN_TOOLS.includes(name));
  const loader = tools.find(({ loadsSkills }) => loadsSkills === true);
  const agents = new Map(tools.flatMap((tool) => (isAgent(tool) ? [[agentName(tool), tool] as const] : [])));
  const plain = new Map(
    tools.flatMap((tool) => (tool === loader || isAgent(tool) ? [] : [[tool.definition.name, tool] as const])),
  );
  const skills = skillsOf(loader);
  const toolOf: Executors['toolOf'] = ({ executor, name = '' }) => {
    if (executor === 'skill') return skills.includes(name) ? loader : undefined;
    if (executor === 'agent') return agents.get(name) ?? agents.get(name.replace(`${ASK}_`, ''));
    return executor === 'tool' ? toolset.find(name) : undefined;
  };
  const namesOf = { skill: skills, agent: [...agents.keys()], tool: [...plain.keys()] };
  return {
    origins: tools.flatMap(({ origin }) => origin ?? []),
    toolOf,
    issuesOf: (steps) => {
      const issues = steps.flatMap(({ executor, name = '' }, index) => {
        if (executor === 'loop') return [];
        const tool = toolOf({ executor, name });
        if (tool !== undefined && tools.includes(tool)) return [];
        const names = namesOf[executor].join(', ') || 'none';
        return [
          `step ${index + 1}: there is no ${executor} "${name}"; available: ${clipText(names, MAX_TOLD_BYTES).text}`,
        ];
      });
      return issues.length === 0 ? undefined : issues.join('; ');
    },
    listed: () => {
      const lines = [
        ...[...agents].map(([name, { definition }]) => `- agent ${name}: ${told(definition.description)}`),
        ...[...plain.values()].map(({ definition: { name, description, inputSchema } }) => {
          const given = parametersOf(inputSchema).map((one) => `${one.name}${one.required ? '' : '?'}: ${one.type}`);
          return `- tool ${name}(${given.join(', ')}): ${told(description)}`;
        }),
      ];
      if (lines.length === 0) return '';
      return `\n\nAgents and tools, of which loop can use all:\n${clipText(lines.join('\n'), MAX_LISTED_BYTES).text}`;
    },
  };
}

const isAgent = ({ origin = '' }: Tool): boolean => origin.startsWith('agent ');
const agentName = ({ definition: { name }, origin = name }: Tool): string => origin.replace(`agent ${ASK}_`, '');
const told = (description: string): string => clipText(description.split(/\s+/).join(' '), MAX_TOLD_BYTES).text;

function skillsOf(loader: Tool | undefined): readonly string[] {
  const properties = loader?.definition.inputSchema.properties;
  const name = isJsonObject(properties) ? properties.name : undefined;
  const names = isJsonObject(name) && Array.isArray(name.enum) ? (name.enum as unknown[]) : [];
  return names.filter((one) => typeof one === 'string');
}
