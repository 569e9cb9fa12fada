import { BUILT_IN_TIERS } from '../contracts/built-in-tiers';
import type { Agent } from '../contracts/tenant';
import type { GivenSkills, SkillEntry, SkillReader } from '../contracts/tools/skill';
import { describeError } from '../errors/runtime-error';
import { createLoadSkill } from './load-skill';
import { NO_TOOLS, type ToolOffer, type ToolSource } from './tool-source';

/** The name of the tool that loads skills. */
export const LOAD_SKILL = 'load_skill';
const MAX_SKILLS = 100;

/**
 * Skills that the task and its agents allow, all of them. An agent that names none has none, unless the task names some. `all` are
 * those of the tenant that one of them names.
 */
export function givenSkills(
  all: readonly SkillEntry[] = [],
  {
    ofTask,
    agents,
  }: { readonly ofTask?: readonly string[]; readonly agents: readonly (Pick<Agent, 'skills'> | undefined)[] },
): GivenSkills {
  const ofAgents = agents.flatMap((agent) =>
    agent === undefined ? [] : [agent.skills ?? (ofTask === undefined ? [] : ['*'])],
  );
  const lists = ofTask === undefined ? ofAgents : [ofTask, ...ofAgents];
  if (lists.length === 0) return NO_SKILLS;
  const isGiven = (name: string): boolean => lists.every((list) => list.includes(name) || list.includes('*'));
  const named = new Set(lists.flat().filter((name) => name !== '*' && isGiven(name)));
  const entries = all.filter(({ name }) => isGiven(name));
  return { entries, missing: [...named].filter((name) => !entries.some((entry) => entry.name === name)) };
}

const NO_SKILLS: GivenSkills = { entries: [], missing: [] };

/** Skills of the tenant, behind the one tool that loads them. */
export function createSkillSource(
  reader: SkillReader | undefined,
  { maxFileBytes, codeTools }: { readonly maxFileBytes: number; readonly codeTools: readonly string[] },
): ToolSource {
  return {
    offer: ({ skills, snapshot }, before) => {
      if (before !== undefined) return before;
      if (skills.entries.length + skills.missing.length === 0) return NO_TOOLS;
      const isTaken = [...snapshot.tools.map(({ code }) => code), ...codeTools].includes(LOAD_SKILL);
      const tiers = [...snapshot.tiers, ...BUILT_IN_TIERS].map(({ code }) => code);
      return offerOf(skills, { reader, maxFileBytes, tiers, isTaken });
    },
  };
}

function offerOf(
  { entries, missing }: GivenSkills,
  {
    reader,
    isTaken,
    ...loading
  }: {
    readonly reader: SkillReader | undefined;
    readonly maxFileBytes: number;
    readonly tiers: readonly string[];
    readonly isTaken: boolean;
  },
): ToolOffer {
  const offered = reader === undefined ? [] : entries.slice(0, MAX_SKILLS);
  const unread = reader === undefined ? entries.map(({ name }) => name) : [];
  const warnings = [...missing, ...unread].map((skill) => describeError('SKILL_NOT_LOADED', { skill }));
  if (entries.length > MAX_SKILLS) warnings.push(describeError('SKILLS_LEFT_OUT', { count: MAX_SKILLS }));
  if (reader === undefined || offered.length === 0) return { tools: [], warnings };
  if (isTaken)
    warnings.push(
      describeError('TOOL_SKIPPED', { tool: LOAD_SKILL, reason: 'skills are loaded with a tool of this name' }),
    );
  return {
    tools: [
      {
        name: LOAD_SKILL,
        type: 'builtin',
        comesWith: 'skills',
        build: (name, toolsOfRun) => createLoadSkill(name, { ...loading, entries: offered, reader, toolsOfRun }),
      },
    ],
    instructions: catalogue(offered),
    warnings,
  };
}

function catalogue(entries: readonly SkillEntry[]): string {
  const skills = entries.map(
    ({ name, description }) =>
      `<skill>\n<name>${escape(name)}</name>\n<description>${escape(description)}</description>\n</skill>`,
  );
  return [
    'Skills are instructions for certain tasks. When a task matches the description of a skill, call load_skill with its name before you do anything else, then follow the instructions that it returns, or use the answer.',
    `<available_skills>\n${skills.join('\n')}\n</available_skills>`,
  ].join('\n');
}

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
