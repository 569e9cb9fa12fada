import { ASK } from '../../agents/agent-schema';
import type { PlannedStep, StepAttempt } from '../../contracts/tools/plan';
import type { Tool } from '../../contracts/tools/tool';
import type { PlanCall, RunPart } from '../../contracts/tools/tool-run';
import { MAKE_PLAN } from '../../toolsets/plan-source';
import { LOAD_SKILL } from '../../toolsets/skill-source';
import { isDeeperThan, type JsonObject, type JsonValue, MAX_JSON_DEPTH } from '../../util/json';
import type { ClaimedRun } from '../run';
import type { Executors } from './executors';
import { type PlanState, presentPlan, triesOf } from './plan-state';
import { messageToAgent, stepMessage } from './step-message';

/** Does the present step. Never rejects: a step that fails is for the supervisor to judge. */
export async function doStep(
  run: ClaimedRun,
  { state, executors, call }: { readonly state: PlanState; readonly executors: Executors; readonly call: PlanCall },
): Promise<StepAttempt> {
  const step = presentPlan(state).steps[state.at] as PlannedStep;
  const { run: family, toolCallId, signal } = call;
  // The task that does it is told apart by what the model wrote.
  const place = [state.plans.length, state.at + 1, triesOf(state).length + 1, step];
  const task = { agent: run.plan.config.agent, message: `${MAKE_PLAN} ${JSON.stringify(place)}` };
  const part = partFor(run, { state, step, executors });
  const output = await family.startChild(task, { toolCallId, signal, part });
  return { status: output.isError ? 'error' : 'ok', result: flat(output.value) };
}

/** Levels that are around a result where it is shown. */
const AROUND = 10;

/** A result that is nested nearly as deep as can be, as text. */
function flat(value: JsonValue): JsonValue {
  return isDeeperThan(value, MAX_JSON_DEPTH - AROUND) ? JSON.stringify(value) : value;
}

/** The place of the present step, for the model. */
export function placeOf({ plans, at }: PlanState): JsonObject {
  const { steps } = presentPlan({ plans });
  return { plan: plans.length, step: at + 1, of: steps.length, task: steps[at]?.task ?? '' };
}

function partFor(
  { plan: { config, planning } }: ClaimedRun,
  { state, step, executors }: { readonly state: PlanState; readonly step: PlannedStep; readonly executors: Executors },
): RunPart {
  const { executor, task } = step;
  const part = { message: stepMessage(state, config), tools: executors.origins, tier: planning?.stepTier };
  if (executor === 'loop') return part;
  const found = executors.toolOf(step);
  const call = firstCall(step, state, found);
  if (executor === 'skill' && found !== undefined) return { ...part, call };
  // Without its skill or its tool, the call fails, and with it the step.
  return { message: task, tools: found?.origin === undefined ? [] : [found.origin], call, maxTurns: 0 };
}

function firstCall(
  { executor, name = '', arguments: given = {}, task }: PlannedStep,
  state: PlanState,
  found: Tool | undefined,
): NonNullable<RunPart['call']> {
  const origin = found?.origin;
  const tool = found?.definition.name;
  if (executor === 'skill') return { tool: LOAD_SKILL, origin, arguments: { name, arguments: task } };
  if (executor === 'tool') return { tool: tool ?? name, origin, arguments: given };
  return { tool: tool ?? `${ASK}_${name}`, origin, arguments: { message: messageToAgent(state) } };
}
