import type { AgentTask, TaskConfig } from '../contracts/task';
import type { Agent, ModelRule } from '../contracts/tenant';
import { isJsonObject } from '../util/json';

/** Values that rules for models compare. */
type Facts = Pick<TaskConfig, 'context'> & Pick<AgentTask, 'meta'>;

/**
 * The settings of a task under an agent. What the task says goes before; of limits the lower one holds. An empty prompt or
 * tier counts as not given. `began` is the agent that the run began with: text and model are of that one, and the limits
 * of both hold.
 */
export function applyAgent(
  { config, facts }: Pick<AgentTask, 'config'> & { readonly facts: Facts },
  now: Agent | undefined,
  began: Agent | undefined,
): TaskConfig {
  const agents = [now, began].filter((agent) => agent !== undefined);
  if (agents.length === 0) return config;
  return {
    ...config,
    ...modelOf(began, { config, facts }),
    ...narrowed([config, ...agents.map(({ limits = {} }) => limits)]),
    system_prompt: isEmpty(config.system_prompt) ? began?.systemPrompt : config.system_prompt,
    temperature: config.temperature ?? began?.temperature,
    max_iterations: config.max_iterations ?? lowest(agents.map(({ maxIterations }) => maxIterations)),
  };
}

type Limits = NonNullable<Agent['limits']>;

function narrowed(limits: readonly Limits[]): Limits {
  const costs = limits.flatMap(({ max_cost_usd: cost }) => cost ?? []);
  return {
    max_cost_usd: costs.length === 0 ? undefined : costs.reduce((one, two) => (Number(two) < Number(one) ? two : one)),
    max_total_tokens: lowest(limits.map((limit) => limit.max_total_tokens)),
    max_tool_calls: lowest(limits.map((limit) => limit.max_tool_calls)),
    max_calls_per_tool: lowest(limits.map((limit) => limit.max_calls_per_tool)),
  };
}

/** Every model that an agent may choose. */
export function modelsOf({ model, modelRules = [] }: Pick<Agent, 'model' | 'modelRules'>): readonly string[] {
  return [model, ...modelRules.map((rule) => rule.model)].filter((id) => id !== undefined);
}

/** Nothing where the task itself names a tier; a model that it names is asked in the agent's tier. */
function modelOf(
  { tier, model, modelRules = [] }: Partial<Agent> = {},
  { config, facts }: Pick<AgentTask, 'config'> & { readonly facts: Facts },
): Partial<Pick<TaskConfig, 'agent_tier' | 'model_override'>> {
  if (config.agent_tier !== undefined) return {};
  const rule = modelRules.find((one) => fits(one, facts)) ?? { tier, model };
  return { agent_tier: rule.tier, model_override: config.model_override ?? rule.model };
}

function fits({ when }: ModelRule, facts: Facts): boolean {
  return Object.entries(when).every(([path, wanted]) => valueAt(facts, path) === wanted);
}

function valueAt(facts: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((at: unknown, key) => (isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), facts);
}

function isEmpty(text: string | undefined): boolean {
  return (text ?? '').trim() === '';
}

function lowest(limits: readonly (number | undefined)[]): number | undefined {
  const given = limits.filter((limit) => limit !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}
