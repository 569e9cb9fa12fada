import type { TaskConfig } from '../../contracts/task';
import { least } from '../../permissions/read-tool-rules';
import type { ToolLists } from '../../toolsets/tool-source';
import type { ClaimedRun, Inherited } from '../run';

/** What a run hands to those that work for it: of its task, and of the tasks above. */
export function handedDown(
  { request: { config }, plan, parent, variables }: ClaimedRun,
  skill: string | undefined,
): Inherited {
  const above = parent?.inherited;
  return {
    rules: [...(above?.rules ?? []), rulesOfTask(config)],
    tier: plan.selected.tier.code,
    // A skill is another part of the same agent.
    model_override: skill === undefined ? undefined : plan.config.model_override,
    // A copy: tools may change values in place.
    variables: structuredClone(Object.fromEntries(variables)),
    context: config.context ?? above?.context,
    ...atMost(config, above),
  };
}

/** The settings of a run under what it has inherited. */
export function underInherited(config: TaskConfig, inherited: Inherited | undefined): TaskConfig {
  if (inherited === undefined) return config;
  return {
    ...config,
    agent_tier: config.agent_tier ?? inherited.tier,
    model_override: config.model_override ?? (config.agent_tier === undefined ? inherited.model_override : undefined),
    variables: config.variables ?? inherited.variables,
    ...atMost(config, inherited),
  };
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
