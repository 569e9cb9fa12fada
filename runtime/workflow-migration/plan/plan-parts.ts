import { BUILT_IN_TIERS } from '../../contracts/built-in-tiers';
import type { JsonValue } from '../../util/json';
import { type PlanContext, workflowName } from '../context';
import type { Cluster, Workflow } from '../contract';
import { mergeValues } from '../expressions/merge-values';
import type { Issue } from '../issue';
import { kindOf } from '../parameters';
import { planTools, type ToolsPlan } from '../tools/plan-tools';
import { type MemoryPlan, planMemory } from './plan-memory';
import { type ModelPlan, NOT_CARRIED, planModel } from './plan-model';
import { type ParserPlan, planParser } from './plan-parser';
import type { AgentSettings } from './read-agent';

/** The parts of the new node, each planned by itself. */
export interface NodeParts extends Pick<AgentSettings, 'message' | 'systemPrompt' | 'maxIterations' | 'issues'> {
  readonly model: ModelPlan;
  readonly memory: MemoryPlan;
  readonly parser: ParserPlan;
  readonly tools: ToolsPlan;
  readonly onMaxIterations: JsonValue;
}

export function planParts(cluster: Cluster, settings: readonly AgentSettings[], context: PlanContext): NodeParts {
  const { branches } = cluster;
  const { graph, workflow, options } = context;
  const needsFallback = settings.some((one) => one.needsFallback);
  const names = { known: options.tiers ?? BUILT_IN_TIERS, map: options.tierMap ?? new Map<string, string>() };
  const model = planModel({ branches, needsFallback, workflow: workflowName(context), names });
  const ofBranches = (value: (one: AgentSettings) => JsonValue): JsonValue | undefined =>
    mergeValues(branches.map(({ when }, index) => ({ when, value: value(settings[index] as AgentSettings) })))?.value;
  const carried = {
    message: ofBranches((one) => one.message),
    systemPrompt: ofBranches((one) => one.systemPrompt),
    maxIterations: ofBranches((one) => one.maxIterations),
    onMaxIterations: ofBranches((one) => one.onMaxIterations),
  };
  const isCarried = Object.values(carried).every((value) => value !== undefined);
  return {
    model,
    memory: planMemory(branches, graph, chatTriggerOf(workflow)),
    parser: planParser(branches, settings, graph),
    tools: planTools({ branches, tiers: model.tiers.map(({ code }) => code), options, codes: context.codes, graph }),
    message: carried.message ?? '',
    systemPrompt: carried.systemPrompt ?? '',
    maxIterations: carried.maxIterations ?? 0,
    onMaxIterations: carried.onMaxIterations ?? '',
    issues: [
      ...(isCarried ? [] : [NOT_CARRIED]),
      ...(settings.every((one) => one.needsFallback === needsFallback) ? [] : [MIXED_FALLBACK]),
    ],
  };
}

const MIXED_FALLBACK: Issue = {
  reason: 'fallback-models',
  text: 'Some of the branches have a fallback model and others have none. Make them the same first.',
};

function chatTriggerOf({ nodes }: Workflow): string | undefined {
  const triggers = nodes.filter((node) => kindOf(node) === 'chatTrigger' && node.disabled !== true);
  return triggers.length === 1 ? triggers[0]?.name : undefined;
}
