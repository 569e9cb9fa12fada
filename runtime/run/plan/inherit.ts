import type { AgentResult } from '../../contracts/result';
import type { TaskConfig } from '../../contracts/task';
import { MOST_ITERATIONS } from '../../contracts/task-options';
import type { RunPart } from '../../contracts/tools/tool-run';
import { describeError, type ErrorSummary } from '../../errors/runtime-error';
import { least } from '../../permissions/read-tool-rules';
import { MAKE_PLAN } from '../../toolsets/plan-source';
import type { ToolLists } from '../../toolsets/tool-source';
import { parseExactly } from '../../util/exact-integer';
import { canonicalJson, type JsonObject, type JsonValue } from '../../util/json';
import { storeVariable } from '../../util/variables/store';
import { readable } from '../build-result';
import type { ClaimedRun, Inherited, Run } from '../run';

/** Returns what a run hands to its children: of its task, and of the tasks above. */
export function handedDown({ request: { config }, plan, parent, variables }: ClaimedRun): Inherited {
  const { rules = [], isUnattended, isCostLimited, ...above }: Partial<Inherited> = parent?.inherited ?? {};
  return {
    rules: [...rules, rulesOfTask(config)],
    // A part may ask a model of another tier; what it asks is of that of its run.
    tier: parent?.part === undefined ? plan.selected.tier.code : parent.inherited.tier,
    // A copy, with integers beyond 2^53: tools may change values in place.
    variables: parseExactly(JSON.stringify(Object.fromEntries(variables))) as JsonObject,
    context: config.context ?? above.context,
    isUnattended,
    isCostLimited: plan.budget.maxCostUsd !== undefined || isCostLimited === true,
    ...atMost(config, above),
  };
}

/** Variables that a run has ended with: as they are, or as the result of before shows them where it has not run again. */
interface EndedVariables {
  readonly now?: ReadonlyMap<string, JsonValue>;
  readonly result?: AgentResult;
}

/** Changes the variables of the run as a step of its plan has changed its copy. Returns warnings of those that do not fit. */
export function takeVariables(
  { variables, redact }: ClaimedRun,
  { variables: before = {} }: Inherited,
  { now, result }: EndedVariables,
): readonly ErrorSummary[] {
  const after = now ?? shownIn(result);
  if (after === undefined) return [];
  const known = new Map(Object.entries(now === undefined ? (readable(before, redact) as JsonObject) : before));
  for (const name of known.keys()) if (!after.has(name)) variables.delete(name);
  const changed = [...after].filter(([name, value]) => !isSame(known.get(name), value));
  return changed.flatMap(([name, value]) => {
    const reason = storeVariable(variables, name, value);
    return reason === undefined ? [] : describeError('VARIABLE_NOT_STORED', { tool: MAKE_PLAN, name, reason });
  });
}

/** A run that waits has not ended. */
function shownIn({ awaiting, variables }: Partial<AgentResult> = {}): ReadonlyMap<string, JsonValue> | undefined {
  return awaiting !== undefined || variables === undefined ? undefined : new Map(Object.entries(variables));
}

function isSame(known: JsonValue | undefined, value: JsonValue): boolean {
  return known !== undefined && canonicalJson(known) === canonicalJson(value);
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
