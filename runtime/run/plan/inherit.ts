import type { TaskConfig } from '../../contracts/task';
import { MOST_ITERATIONS } from '../../contracts/task-options';
import type { RunPart } from '../../contracts/tools/tool-run';
import { least } from '../../permissions/read-tool-rules';
import type { ToolLists } from '../../toolsets/tool-source';
import { canonicalJson, type JsonObject } from '../../util/json';
import { storeVariable } from '../../util/variables/store';
import { readable } from '../build-result';
import type { ClaimedRun, Inherited, Run } from '../run';

/** Returns what a run hands to its children: of its task, and of the tasks above. */
export function handedDown({ request: { config }, plan, parent, variables }: ClaimedRun): Inherited {
  const above = parent?.inherited;
  return {
    rules: [...(above?.rules ?? []), rulesOfTask(config)],
    // A part may ask a model of another tier; what it asks is of that of its run.
    tier: parent?.part === undefined ? plan.selected.tier.code : parent.inherited.tier,
    // A copy: tools may change values in place.
    variables: structuredClone(Object.fromEntries(variables)),
    context: config.context ?? above?.context,
    isCostLimited: plan.budget.maxCostUsd !== undefined || above?.isCostLimited === true,
    ...atMost(config, above),
  };
}

/** Sets the variables that a part of the run has changed. */
export function takeVariables({ variables, redact }: ClaimedRun, before: Inherited, now: JsonObject = {}): void {
  const shown = readable(before.variables ?? {}, redact) as JsonObject;
  for (const [name, value] of Object.entries(now)) {
    const isSame = Object.hasOwn(shown, name) && canonicalJson(shown[name] ?? null) === canonicalJson(value);
    if (!isSame) storeVariable(variables, name, value);
  }
}

/** The settings of a run under what it has inherited. */
export function underInherited(config: TaskConfig, inherited: Inherited | undefined): TaskConfig {
  if (inherited === undefined) return config;
  return {
    ...config,
    agent_tier: config.agent_tier ?? inherited.tier,
    variables: config.variables ?? inherited.variables,
    ...atMost(config, inherited),
  };
}

/** The settings that a run is asked for: those of its task, and in their place those of a part. */
export function askedOf({ request: { config }, parent }: Run): TaskConfig {
  return { ...config, ...parent?.part?.settings };
}

/** The settings of a part of a run: those of the run whose agent it is, and its own. */
export function settingsOfPart(
  { plan: { config, selected } }: ClaimedRun,
  { message, skills = config.skills, tier, model, maxTurns }: RunPart,
): Partial<TaskConfig> {
  const { system_prompt, temperature, max_tokens, tool_execution, max_identical_calls, model_silence_seconds } = config;
  return {
    ...{
      message,
      skills: skills && [...skills],
      system_prompt,
      temperature,
      max_tokens,
      tool_execution,
      max_identical_calls,
    },
    model_silence_seconds,
    // It is filled already.
    system_prompt_is_template: false,
    agent_tier: tier ?? selected.tier.code,
    model_override: model ?? (tier === undefined ? config.model_override : undefined),
    ...turnsOf(config, maxTurns),
  };
}

/** The last model call of a part with a limit is for the answer, if there is more than one. */
function turnsOf(
  { max_iterations, on_max_iterations }: TaskConfig,
  maxTurns: number | undefined,
): Pick<TaskConfig, 'max_iterations' | 'on_max_iterations'> {
  if (maxTurns === undefined) return { max_iterations, on_max_iterations };
  const turns = Math.min(maxTurns, max_iterations ?? Infinity);
  if (turns <= 1) return { max_iterations: turns, on_max_iterations: 'partial' };
  return { max_iterations: Math.min(turns - 1, MOST_ITERATIONS), on_max_iterations: 'finalAnswer' };
}

/** The rules for tools that a task brings. */
export function rulesOfTask({ tools, disabled_tools, tool_permissions }: TaskConfig): ToolLists {
  return { enabled_tools: tools, disabled_tools, tool_permissions };
}

type CallLimits = Pick<TaskConfig, 'max_tool_calls' | 'max_calls_per_tool'>;

function atMost(one: CallLimits, other: Partial<CallLimits> = {}): CallLimits {
  return {
    max_tool_calls: least(one.max_tool_calls, other.max_tool_calls),
    max_calls_per_tool: least(one.max_calls_per_tool, other.max_calls_per_tool),
  };
}
