import type { StepRecord } from '../../contracts/ledger/journal';
import type { LoopProgress } from '../../contracts/ledger/progress';
import type { ToolCallMessage } from '../../contracts/message';
import type { ToolCallRecord } from '../../contracts/tools/tool-call';
import { RuntimeError } from '../../errors/runtime-error';
import { callsOf } from '../../loop/run-state';
import { PLAN_TOOLS } from '../../toolsets/plan-source';
import { lackingTools } from '../plan/choose-planning';
import type { ClaimedRun, RunPlan } from '../run';

/** The calls of a step that is not over. */
export function pendingCalls({ pending }: Partial<LoopProgress> = {}): readonly ToolCallMessage[] {
  return pending === undefined ? [] : callsOf(pending);
}

/**
 * The reason why a run cannot continue: it follows a plan, and the rules of now take the tools for that away. Undefined where it can.
 */
export function blockedPlan(
  { planning, toolset, config }: Pick<RunPlan, 'planning' | 'toolset' | 'config'>,
  earlier: LoopProgress | undefined,
): RuntimeError | undefined {
  const isPlanned = config.mode === 'plan' || config.mode === 'auto';
  if (earlier === undefined || planning !== undefined || !isPlanned) return undefined;
  const ended = earlier.steps.flatMap(({ toolCalls }) =>
    toolCalls.filter(({ outcome }) => outcome?.code === undefined),
  );
  const sent = pendingCalls(earlier).filter((_call, index) => earlier.pending?.sent.includes(index));
  const names = [...ended.map(({ tool }) => tool), ...sent.map((call) => call.function.name)];
  if (!names.some((name) => PLAN_TOOLS.includes(name))) return undefined;
  return new RuntimeError('PLAN_BLOCKED', { tools: lackingTools(toolset).join(' and no ') });
}

/** Step that an earlier run has left open. */
interface ResumedStep {
  /** Calls of it that have ended, as long as it is none of these steps. */
  readonly endedAfter: (steps: readonly StepRecord[]) => readonly ToolCallRecord[];
  /** Reports whether a call of it may have been sent. */
  readonly isSent: (toolCallId: string) => boolean;
}

/** Reads what the run continues. */
export function resumedStep({ earlier }: ClaimedRun): ResumedStep {
  const { pending } = earlier ?? {};
  const calls = pendingCalls(earlier);
  const { outcomes: known = {} } = pending ?? {};
  const outcomes = calls.flatMap(({ id }) => (Object.hasOwn(known, id) ? (known[id] ?? []) : []));
  const sent = new Set(calls.filter((_call, index) => pending?.sent.includes(index)).map(({ id }) => id));
  return {
    endedAfter: (steps) => (steps.some(({ step }) => step === pending?.step) ? [] : outcomes),
    isSent: (id) => sent.has(id),
  };
}
