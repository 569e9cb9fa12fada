import { createHash } from 'node:crypto';

import { ASK } from '../agents/agent-schema';
import type { ConnectedTool } from '../contracts/connected';
import type { TaskConfig } from '../contracts/task';
import type { Agent, AgentDefinition, TenantSnapshot, ToolRow } from '../contracts/tenant';
import type { GivenSkills } from '../contracts/tools/skill';
import type { TenantTool, Toolset } from '../contracts/tools/tool';
import { describeError, type ErrorSummary } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import type { TenantServer } from '../mcp/mcp-servers';
import { allowedTools, type OtherNames, type Policy, unmatchedWarnings } from '../permissions/allowed-tools';
import { agentLevel, readToolRules, rulesOfNearAgent, tenantLevels } from '../permissions/read-tool-rules';
import { createToolset } from '../tools/combine-toolsets';
import { offeredNames, plainName } from '../tools/offered-names';
import { turn } from '../util/turn';
import { agentOfTenant, rulesOfAgents } from './agent-of-tenant';
import { givenSubAgents } from './agent-source';
import { PLAN_TOOLS } from './plan-source';
import { givenSkills, LOAD_SKILL } from './skill-source';
import type { OfferedTool, ToolLists, ToolOffer, ToolSource } from './tool-source';

export interface SelectedTools {
  readonly toolset: Toolset;
  /** The same tools, with where they come from. */
  readonly tools: readonly TenantTool[];
  /** What the sources have to say to the model, in their order. */
  readonly instructions: readonly string[];
  /** Rows that cannot be offered, servers that did not answer, and listed names that do not exist. */
  readonly warnings: readonly ErrorSummary[];
}

interface SelectToolsRequest {
  readonly snapshot: TenantSnapshot;
  /** Undefined: whatever the tier. */
  readonly tier?: string;
  /** The name of the agent, which `snapshot` was loaded with: its own rules hold, and those in the tenant's settings. */
  readonly agent?: string;
  /** The agent that a run goes on from, null for none: its rules hold too. */
  readonly began?: Agent | null;
  /** Rules of the task or the caller, and before them those of the tasks that it works for; they can only narrow. */
  readonly rules: readonly ToolLists[];
  /** Skills that the task names, of which those of the agent are left, and its mode. */
  readonly task?: Pick<TaskConfig, 'skills' | 'mode'>;
  /** Servers given with the run, beside the tenant's own. */
  readonly servers: readonly TenantServer[];
  /** What the host has connected to this run. */
  readonly connected?: readonly ConnectedTool[];
  readonly signal: AbortSignal;
}

/** Rejects with POLICY_INVALID when rules cannot be read: none of them may fall away; and with whatever a source refuses. */
export type SelectTools = (request: SelectToolsRequest) => Promise<SelectedTools>;

interface Remembered {
  readonly policy: Policy;
  readonly offers: readonly ToolOffer[];
  readonly selected: SelectedTools;
}

/** More sets of rules than this for the same rows, and all are forgotten. */
const REMEMBERED_RULES = 50;

/**
 * Which tools a run has: those of every source in the order given, named, filtered by policy, each with its rules around it.
 * While no source has changed its offer, the same rules give the same toolset object, so that its definitions are serialised once.
 */
export function combineSources(
  sources: readonly ToolSource[],
  codeAgents: readonly AgentDefinition[] = [],
): SelectTools {
  const remembered = new WeakMap<readonly ToolRow[], Map<string, Remembered>>();
  return async (request) => {
    const { snapshot, agent, began, servers, connected = [], signal } = request;
    const ofRows = remembered.get(snapshot.tools) ?? new Map<string, Remembered>();
    remembered.set(snapshot.tools, ofRows);
    const now = agentOfTenant({ name: agent, began }, snapshot, codeAgents);
    const ofAgents = rulesOfAgents(now, began ?? undefined);
    const given = givenWith(request, { now, codeAgents });
    const key = keyOf(request, ofAgents, given);
    const before = ofRows.get(key);
    const policy = before?.policy ?? readPolicy(request, ofAgents);
    const asked = { snapshot, servers, connected, policy, ...given, signal };
    const offers = await Promise.all(sources.map(async (source, index) => source.offer(asked, before?.offers[index])));
    if (before !== undefined && offers.every((offer, index) => offer === before.offers[index])) return before.selected;
    const selected = await select(offers, policy, otherNames(request, policy));
    if (offers.some(({ isOfRun }) => isOfRun === true)) return selected;
    if (ofRows.size >= REMEMBERED_RULES) ofRows.clear();
    ofRows.set(key, { policy, offers, selected });
    return selected;
  };
}

/** The same text for what the same tools come of, as long as no source has changed its offer. */
function keyOf(
  { snapshot, tier, agent, rules }: SelectToolsRequest,
  ofAgents: readonly ToolLists[],
  { skills, subAgents, mode }: Given,
): string {
  const given = [versionOf(skills), subAgents, mode];
  return JSON.stringify([rulesVersion(snapshot), tier, agent, ofAgents, rules, ...given]);
}

type Given = Pick<Parameters<ToolSource['offer']>[0], 'skills' | 'subAgents' | 'mode'>;

/** Skills, sub-agents and mode of a run: one that began without an agent began without its skills and sub-agents. */
function givenWith(
  { snapshot, task, began }: SelectToolsRequest,
  { now, codeAgents }: { readonly now: Agent | undefined; readonly codeAgents: readonly AgentDefinition[] },
): Given {
  const agents = [now, began === null ? {} : began];
  return {
    skills: givenSkills(snapshot.skills, { ofTask: task?.skills, agents }),
    subAgents: givenSubAgents(snapshot, { agents, code: codeAgents }),
    mode: task?.mode ?? 'direct',
  };
}

/** The same text for the same skills. Their descriptions are long, and there may be a hundred. */
function versionOf(skills: GivenSkills): string {
  if (skills.entries.length === 0) return skills.missing.join();
  return createHash('sha256').update(JSON.stringify(skills)).digest('base64');
}

/** Two snapshots with the same one have the same rules. */
function rulesVersion({ policyVersion, tenant, tiers }: TenantSnapshot): unknown {
  return policyVersion ?? [tenant.settings.toolConfig, tiers.map(({ toolConfig }) => toolConfig)];
}

/** Rules of the tier, the tenant, the agent and the task. */
function readPolicy({ snapshot, tier, agent, rules }: SelectToolsRequest, ofAgents: readonly ToolLists[]): Policy {
  const ofTier = snapshot.tiers.find(({ code }) => code === tier)?.toolConfig;
  return {
    tier,
    levels: [
      readToolRules(ofTier, 'elo_agent_tiers.tool_config'),
      ...tenantLevels(snapshot.tenant.settings.toolConfig, agent),
      ...ofAgents.map((own) => agentLevel(own, agent ?? '')),
      ...rules.map((one, index) => ({
        ...{ ...readToolRules(one, 'config'), granted: [] },
        ofTask: index === rules.length - 1 ? ('own' as const) : ('above' as const),
      })),
    ],
    nearAgent: rulesOfNearAgent(snapshot.tenant.settings.toolConfig, agent),
    asked: rules.at(-1)?.enabled_tools,
  };
}

function otherNames({ snapshot, servers }: SelectToolsRequest, policy: Policy): OtherNames {
  const own = snapshot.servers ?? [];
  const ofServers = own.flatMap(({ name, tools, excludeTools }) =>
    [...tools.map((tool) => tool.name), ...excludeTools].flatMap((tool) => [
      `${name}.${tool}`,
      plainName(`${name}_${tool}`),
    ]),
  );
  return {
    codes: [...snapshot.tools.map(({ code }) => code), ...ofServers, LOAD_SKILL, ...PLAN_TOOLS, ...asksIn(policy)],
    servers: [...own, ...servers].map(({ name }) => name),
  };
}

/** Names in rules for many runs that may be those of tools of other agents; they were compared when they were saved. */
function asksIn({ levels }: Policy): readonly string[] {
  const shared = levels.filter(({ ofTask }) => ofTask === undefined);
  const names = shared.flatMap(({ enabled = [], disabled, permissions }) => [
    ...[...enabled, ...disabled],
    ...permissions.map(({ name }) => name),
  ]);
  return names.filter((name) => name.startsWith(`${ASK}_`));
}

async function select(offers: readonly ToolOffer[], policy: Policy, others: OtherNames): Promise<SelectedTools> {
  const named = withNames(offers);
  let chosen: readonly TenantTool[] = [];
  const { tools, warnings } = await build(named, () => chosen);
  const allowed = allowedTools(tools, policy);
  chosen = allowed.tools;
  const unmatched = await unmatchedWarnings(tools, policy, others);
  return {
    tools: allowed.tools,
    toolset: createToolset(allowed.tools.map(({ tool }) => tool)),
    instructions: instructionsOf(named, allowed.tools),
    warnings: [...offers.flatMap((offer) => offer.warnings), ...warnings, ...allowed.warnings, ...unmatched],
  };
}

/** Words of the offers of which at least one tool is allowed. */
function instructionsOf(named: readonly NamedOffer[], allowed: readonly TenantTool[]): readonly string[] {
  const names = new Set(allowed.map(({ tool }) => tool.definition.name));
  const offers = new Set(named.filter(({ name }) => names.has(name)).map(({ offer }) => offer));
  return [...offers].flatMap(({ instructions = [] }) => instructions);
}

interface NamedOffer {
  readonly offer: ToolOffer;
  readonly offered: OfferedTool;
  readonly name: string;
}

/** Fixed names are given first; then each source makes way for those that stand before it. */
function withNames(offers: readonly ToolOffer[]): readonly NamedOffer[] {
  const taken = new Set(offers.flatMap(({ tools }) => tools.filter(hasFixedName).map(({ name }) => name)));
  return offers.flatMap((offer) => {
    const { tools } = offer;
    const wanted = tools.flatMap(({ name, identity }) => (identity === undefined ? [] : [{ name, identity }]));
    const names = offeredNames(wanted, taken);
    for (const name of names) taken.add(name);
    const next = names.values();
    return tools.map((offered) => ({
      ...{ offer, offered },
      name: hasFixedName(offered) ? offered.name : (next.next().value as string),
    }));
  });
}

function hasFixedName({ identity }: OfferedTool): boolean {
  return identity === undefined;
}

async function build(
  named: readonly NamedOffer[],
  toolsOfRun: () => readonly TenantTool[],
): Promise<Pick<SelectedTools, 'tools' | 'warnings'>> {
  const tools: TenantTool[] = [];
  const warnings: ErrorSummary[] = [];
  for (const { offered, name } of named) {
    await turn();
    const { name: wanted, identity, build: make, unusable, ...facts } = offered;
    try {
      const tool = make(name, toolsOfRun);
      const origin = `${facts.type} ${facts.code ?? facts.alias ?? wanted}`;
      const built = { ...facts, tool, origin };
      tools.push(identity === undefined ? built : { ...built, formerName: plainName(wanted) });
    } catch (error) {
      const reason = errorText(error);
      warnings.push(unusable?.(reason) ?? describeError('TOOL_SKIPPED', { tool: wanted, reason }));
    }
  }
  return { tools, warnings };
}
