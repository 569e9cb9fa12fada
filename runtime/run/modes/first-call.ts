import { NOTHING_SPENT } from '../../billing/budget';
import type { Progress } from '../../contracts/ledger/progress';
import type { AssistantMessage, Message } from '../../contracts/message';
import type { LoopOutcome } from '../../contracts/outcome';
import type { Toolset } from '../../contracts/tools/tool';
import type { RunPart } from '../../contracts/tools/tool-run';
import { RuntimeError } from '../../errors/runtime-error';
import { isJsonObject, type JsonValue } from '../../util/json';
import type { PlannedRun } from '../run';

/**
 * Where a run stands that begins with a tool call: as if its model had asked for it in a step before the first one. Undefined for a run
 * that begins with its model.
 */
export function beginsWithCall({ parent, plan }: PlannedRun, opening: readonly Message[]): Progress | undefined {
  const call = parent?.part?.call;
  if (call === undefined) return undefined;
  const { config } = plan;
  const name = nameIn(plan.toolset, call);
  const message: AssistantMessage = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'first', type: 'function', function: { name, arguments: JSON.stringify(call.arguments) } }],
  };
  const pending = {
    step: 0,
    finishReason: 'tool-calls' as const,
    durationMs: 0,
    message,
    wereDropped: false,
    sent: [],
  };
  return {
    ...{ messages: opening, openingLength: opening.length, steps: [], iterations: 0, callCounts: {}, approvals: {} },
    ...{ pending: { ...pending, outcomes: {} }, spent: NOTHING_SPENT, variables: config.variables ?? {} },
  };
}

/** The name of the tool here. Two connected tools may have one origin, and rules may have taken the tool away. */
function nameIn({ definitions, find }: Toolset, { tool, origin }: NonNullable<RunPart['call']>): string {
  if (find(tool)?.origin === origin) return tool;
  return definitions.find(({ name }) => find(name)?.origin === origin)?.name ?? tool;
}

/** The outcome of a run whose answer is the output of the one call that it has made. */
export function answerOfCall(outcome: LoopOutcome): LoopOutcome {
  const call = outcome.steps.at(-1)?.toolCalls.at(-1);
  if (outcome.status !== 'max_iterations' || call?.outcome === undefined) return outcome;
  const { isError, value } = call.outcome;
  if (!isError) return { ...outcome, status: 'completed', text: textOf(value), structured: value };
  const reason = isJsonObject(value) && typeof value.message === 'string' ? value.message : textOf(value);
  const details = { tool: call.tool, reason: reason.replace(/\.$/, '') };
  return { ...outcome, status: 'failed', error: new RuntimeError('PLAN_STEP_FAILED', details) };
}

const textOf = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value));
