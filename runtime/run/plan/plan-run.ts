import { applyAgent, modelsOf } from '../../agents/apply-agent';
import { type Budget, readBudget } from '../../billing/budget';
import { DEFAULTS } from '../../config/runtime-config';
import { BUILT_IN_TIERS } from '../../contracts/built-in-tiers';
import type { RunMode, TaskConfig } from '../../contracts/task';
import type { Agent, TenantSnapshot } from '../../contracts/tenant';
import type { Toolset } from '../../contracts/tools/tool';
import { describeError, type ErrorSummary, RuntimeError } from '../../errors/runtime-error';
import type { LoopSettings } from '../../loop/loop-contract';
import { normalizeModelId } from '../../models/select-model';
import { taskWarnings } from '../../tasks/read-task';
import { createToolset } from '../../tools/combine-toolsets';
import { agentOfTenant, nameOfRow } from '../../toolsets/agent-of-tenant';
import type { SelectedTools } from '../../toolsets/combine-sources';
import { isOfPlans, PLAN_TOOLS } from '../../toolsets/plan-source';
import { unattended } from '../../toolsets/unattended';
import type { PlannedRun, Run, RunEnvironment, RunPlan } from '../run';
import { sessionOf } from '../sessions/session-of';
import { chooseModel, type ModelRequirements } from './choose-model';
import { choosePlanning, lackingTools } from './choose-planning';
import { fillVariables } from './fill-variables';
import { askedOf, rulesOfTask, underInherited } from './inherit';
import { needsOf } from './needs';
import { formatOf } from './output-format';
import { resolveLimits } from './resolve-limits';
import { requestToRun } from './saved-request';
import { factsOf } from './tenant-facts';

/** Rejects with a code of the tenant's or the caller's, such as TENANT_INACTIVE, TIER_UNKNOWN, AGENT_NOT_FOUND or POLICY_INVALID. */
export async function planRun(environment: RunEnvironment, given: Run): Promise<PlannedRun> {
  return plan(environment, { ...given, ...(await requestToRun(environment, given)) });
}

/** Plans a run again that goes on with what began under `began`, which is on record. Rejects like `planRun`. */
export function planToGoOn(environment: RunEnvironment, run: PlannedRun, began: Run['began']): Promise<PlannedRun> {
  return plan(environment, { ...run, began });
}

async function plan(environment: RunEnvironment, run: Run): Promise<PlannedRun> {
  const asked = askedOf(run);
  const tenant = await loadTenant(environment, { ...run, asked });
  const decided = await decide(environment, { ...run, asked, tenant });
  const needs = needsOf(run.host, decided.plan.toolset, environment.services);
  return { ...run, tenant, ...decided, needs, redact: environment.redactorFor(tenant) };
}

async function decide(environment: RunEnvironment, run: RunOfTenant): Promise<Pick<PlannedRun, 'plan' | 'toolsOfNow'>> {
  const { request, asked, host, tenant } = run;
  const { connected = {} } = host;
  const { settings } = tenant.tenant;
  const now = agentOfTenant({ name: asked.agent, began: run.began }, tenant, environment.agents);
  const agent = run.began === undefined ? now : (run.began ?? undefined);
  const texts = { asked, redact: environment.redactorFor(tenant) };
  const { config, warnings: textWarnings } = fillVariables(settingsOf(run, now, agent), texts);
  const budget = readBudget(settings, config);
  const required = {
    config,
    asked,
    snapshot: tenant,
    budget,
    models: environment.models,
    connected,
    ...limitAbove(run),
  };
  const { selected, isFree, warnings: modelWarnings, ...chosen } = chooseModel(required);
  const { tier, modelId } = selected;
  const { limits, warnings: limitWarnings } = resolveLimits({ config, settings, tier, defaults: DEFAULTS });
  const tools = await chooseTools(environment, run, { config, tier: tier.code });
  const { billed, warnings: billWarnings } = billing(config, { isFree, budget });
  const facts = factsOf(settings);
  const { session, warnings: sessionWarnings } = sessionOf(environment, run, { config, settings });
  const plan: RunPlan = {
    ...chosen,
    ...choosePlanning(required, { ...chosen, ...tools }),
    config,
    agent,
    selected,
    toolset: tools.toolset,
    instructions: facts.text === undefined ? tools.instructions : [...tools.instructions, facts.text],
    settings: { ...loopSettings(config, modelId, limits), ...(connected.model && ITS_OWN) },
    format: connected.format ?? formatOf(run.parent?.part === undefined ? agent : undefined),
    budget,
    billed,
    session,
    warnings: [
      ...[...limitWarnings, ...modelWarnings, ...tools.warnings, ...billWarnings, ...taskWarnings(request)],
      ...[...textWarnings, ...facts.warnings, ...sessionWarnings],
      ...undefinedAgent(config.agent, now ?? agent),
    ],
  };
  const toolsOfNow = async (): Promise<Toolset> => {
    const reloaded = { ...run, tenant: await loadTenant(environment, run) };
    return (await chooseTools(environment, reloaded, { config, tier: tier.code })).toolset;
  };
  return { plan, toolsOfNow };
}

function limitAbove({ parent }: Run): Pick<ModelRequirements, 'isLimitedAbove'> {
  return { isLimitedAbove: parent?.inherited.isCostLimited };
}

/** The task's settings under its agent's and under those of the tasks that it works for. */
function settingsOf(
  { request, asked, parent }: AskingRun,
  now: Agent | undefined,
  began: Agent | undefined,
): TaskConfig {
  const facts = { context: asked.context ?? parent?.inherited.context, meta: request.meta };
  return underInherited(applyAgent({ config: asked, facts }, now, began), parent?.inherited);
}

type AskingRun = Run & { readonly asked: TaskConfig };
type RunOfTenant = AskingRun & Pick<PlannedRun, 'tenant'>;

/** The warning for a name that is only a label. */
function undefinedAgent(name: string | undefined, agent: Agent | undefined): readonly ErrorSummary[] {
  return name !== undefined && agent === undefined ? [describeError('AGENT_UNDEFINED', { agent: name })] : [];
}

/** The tools of a run under the rules of this moment. */
async function chooseTools(
  { selectTools }: RunEnvironment,
  { host, tenant, deadline, began, parent }: RunOfTenant,
  { config, tier }: { readonly config: TaskConfig; readonly tier: string },
): Promise<SelectedTools> {
  const { agent, skills, tool_choice, mode } = config;
  const { part, inherited } = parent ?? {};
  const select = async (of: RunMode | undefined): Promise<SelectedTools> => {
    const selected = await selectTools({
      snapshot: tenant,
      // A part may ask a model of another tier, and stays under the rules of its run.
      tier: part === undefined ? tier : inherited?.tier,
      agent,
      began,
      rules: [...(inherited?.rules ?? []), rulesOfTask(config)],
      task: { skills, mode: of },
      servers: host.mcpServers ?? [],
      connected: host.connected?.tools,
      signal: deadline.signal,
    });
    return inherited?.isUnattended === true ? withoutApprovals(selected) : selected;
  };
  if (part !== undefined) return onlyOf(await select(mode), part.tools);
  if (mode === undefined || mode === 'direct') return select(mode);
  // A model that must not call tools cannot make a plan.
  const selected = await select(mode);
  return tool_choice === 'none' || lackingTools(selected.toolset).length > 0 ? withoutPlans(selected) : selected;
}

/** Both names stay those of plans: another tool of the tenant with one of them must not be taken for it. */
function withoutPlans(selected: SelectedTools): SelectedTools {
  const { instructions, warnings } = selected;
  const tools = selected.tools.filter(({ tool: { definition } }) => !PLAN_TOOLS.includes(definition.name));
  const lacking = lackingTools(selected.toolset).join(' and no ') || 'calls of tools';
  return {
    tools,
    toolset: createToolset(tools.map(({ tool }) => tool)),
    instructions: instructions.filter((text) => !isOfPlans(text)),
    warnings: [...warnings, describeError('PLAN_UNAVAILABLE', { tools: lacking })],
  };
}

function onlyOf(selected: SelectedTools, origins: readonly string[]): SelectedTools {
  const tools = selected.tools.filter(({ origin }) => origin !== undefined && origins.includes(origin));
  return { ...selected, tools, toolset: createToolset(tools.map(({ tool }) => tool)) };
}

/** The tools for which no person is asked. */
function withoutApprovals(selected: SelectedTools): SelectedTools {
  const { open, unreviewed } = unattended(selected.tools);
  const warnings = [...selected.warnings, ...unreviewed];
  return { ...selected, tools: open, toolset: createToolset(open.map(({ tool }) => tool)), warnings };
}

/** What a tenant with a limit uses is always written down, since the limit is counted there. */
function billing(
  config: TaskConfig,
  { isFree, budget }: { readonly isFree: boolean; readonly budget: Budget },
): Pick<RunPlan, 'billed' | 'warnings'> {
  const isLimited = budget.monthly !== undefined;
  if (config.record_usage !== false)
    return { billed: isFree && !isLimited ? 'what-costs' : 'everything', warnings: [] };
  if (!isLimited) return { billed: 'nothing', warnings: [] };
  return { billed: 'everything', warnings: isFree ? [] : [describeError('USAGE_RECORDED')] };
}

function loopSettings(
  config: TaskConfig,
  modelId: string,
  { maxIterations, ...sampling }: ReturnType<typeof resolveLimits>['limits'],
): LoopSettings {
  return {
    modelId,
    ...sampling,
    limits: {
      maxIterations,
      maxParallelToolCalls: DEFAULTS.maxParallelToolCalls,
      maxToolCallsPerStep: DEFAULTS.maxToolCallsPerStep,
      maxErrorSteps: DEFAULTS.maxErrorSteps,
      maxIdenticalCalls: config.max_identical_calls ?? DEFAULTS.maxIdenticalCalls,
      maxToolCalls: config.max_tool_calls,
      maxCallsPerTool: config.max_calls_per_tool,
    },
    onMaxIterations: config.on_max_iterations ?? DEFAULTS.onMaxIterations,
    toolExecution: config.tool_execution ?? DEFAULTS.toolExecution,
    toolChoice: config.tool_choice ?? DEFAULTS.toolChoice,
  };
}

/** What a connected model has in its own hands. */
const ITS_OWN = { temperature: undefined, maxTokens: undefined };

/** The tenant of a run, with the prices that may be needed. Rejects with TENANT_INACTIVE. */
async function loadTenant(environment: RunEnvironment, run: AskingRun): Promise<TenantSnapshot> {
  const request = {
    tenantId: run.request.meta.tenant_id,
    modelIds: candidateModels(environment, run),
    agent: nameOfRow(run.asked.agent),
    skills: namedSkills(environment, run),
    subAgents: namedSubAgents(environment, run),
  };
  const loaded = await environment.tenants.load(request);
  if (!loaded.tenant.isActive) throw new RuntimeError('TENANT_INACTIVE', { tenantId: loaded.tenant.id });
  return loaded;
}

/** The skills that the task names, and those of its agent where that is no row. */
function namedSkills({ agents }: RunEnvironment, { asked, began }: AskingRun): readonly string[] | undefined {
  const ofCode = agents.find(({ name }) => name === asked.agent);
  const names = [asked.skills, ofCode?.skills, began?.skills].flatMap((list) => list ?? []);
  return names.length === 0 ? undefined : [...new Set(names)];
}

/** The agents that the agent of the run can ask, as far as its row does not say it. */
function namedSubAgents({ agents }: RunEnvironment, { asked, began }: AskingRun): readonly string[] | undefined {
  const ofCode = agents.find(({ name }) => name === asked.agent);
  const names = [ofCode?.subAgents, began?.subAgents].flatMap((list) => list ?? []);
  return names.length === 0 ? undefined : [...new Set(names)];
}

/** The models whose prices may be needed, beside those of the tenant's tiers and of its agent. */
function candidateModels({ agents }: RunEnvironment, { asked, host, began }: AskingRun): readonly string[] {
  const { connected = {} } = host;
  const given = asked.model_override === undefined ? undefined : normalizeModelId(asked.model_override);
  const more = [given, connected.model?.name, connected.fallback?.name].filter((id) => id !== undefined);
  const ofAgents = [began ?? undefined, agents.find(({ name }) => name === asked.agent)].flatMap((agent) =>
    agent === undefined ? [] : modelsOf(agent).map(normalizeModelId),
  );
  return [...BUILT_IN_TIERS.map((tier) => tier.modelId), ...more, ...ofAgents];
}
