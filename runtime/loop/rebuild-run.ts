import type { JournalEntry, JournalOutcome, JournalStep } from '../contracts/journal';
import type { Message, ToolCallMessage } from '../contracts/message';
import type { EarlierRun, ExecutedToolCall, PendingStep, ResumeState, StepRecord } from '../contracts/outcome';
import { RuntimeError } from '../errors/runtime-error';
import type { JsonObject } from '../util/json';
import { outcomeMessage, singleToolReminder } from './transcript';

/**
 * How far a task is by its journal; undefined when nothing is on record. The transcript is the one that the next model call
 * would have been sent. `opening` is what it begins with, unless the journal has it.
 */
export function rebuildRun(opening: readonly Message[], journal: readonly JournalEntry[]): EarlierRun | undefined {
  const steps = journal.filter(isStep).sort((one, other) => one.step - other.step);
  const last = steps.at(-1);
  if (last === undefined) return undefined;
  const outcomes = journal.filter(isOutcome);
  const kept = steps[0]?.opening;
  const shown = { messages: [...(kept ?? opening)], steps: [] as StepRecord[] };
  // A step without calls is over; the model is asked again, and not shown its silence.
  const isPending = callsOf(last).length > 0;
  for (const step of isPending ? steps.slice(0, -1) : steps) show(step, outcomesOf(step, outcomes), shown);
  if (isPending) shown.messages.push(last.message);
  const resume: ResumeState = {
    ...shown,
    opening: kept?.length,
    iterations: last.step,
    calls: last.counts,
    pending: isPending ? pendingStep(last, outcomesOf(last, outcomes)) : undefined,
    approvals: last.approvals,
    shown: last.shown,
  };
  return { resume, spent: last.spent, variables: lastVariables(outcomes) };
}

function isStep(entry: JournalEntry): entry is JournalStep {
  return !isOutcome(entry);
}

function isOutcome(entry: JournalEntry): entry is JournalOutcome {
  return 'toolCallId' in entry;
}

function callsOf({ calls, message }: JournalStep): readonly ToolCallMessage[] {
  return calls ?? message.tool_calls ?? [];
}

function outcomesOf({ step }: JournalStep, outcomes: readonly JournalOutcome[]): ReadonlyMap<string, ExecutedToolCall> {
  return new Map(outcomes.filter((one) => one.step === step).map(({ toolCallId, outcome }) => [toolCallId, outcome]));
}

function pendingStep(step: JournalStep, outcomes: ReadonlyMap<string, ExecutedToolCall>): PendingStep {
  const { finishReason, durationMs, wereDropped, sent } = step;
  return {
    finishReason,
    durationMs,
    wereDropped,
    sent,
    calls: callsOf(step),
    outcomes: Object.fromEntries(outcomes),
  };
}

/** A step that another one follows: its results were written with that one's entry. */
function show(
  step: JournalStep,
  outcomes: ReadonlyMap<string, ExecutedToolCall>,
  { messages, steps }: { readonly messages: Message[]; readonly steps: StepRecord[] },
): void {
  const { step: callNo, message, finishReason, durationMs, wereDropped } = step;
  const calls = callsOf(step);
  const toolCalls = calls.map(({ id }) => outcomes.get(id) ?? missing(callNo, id));
  steps.push({ callNo, finishReason, durationMs, toolCalls });
  if (calls.length === 0) return;
  messages.push(message, ...calls.map(({ id }, index) => outcomeMessage(id, toolCalls[index] as ExecutedToolCall)));
  if (wereDropped) messages.push(singleToolReminder());
}

function missing(step: number, toolCallId: string): never {
  const reason = `the journal lacks the result of call ${toolCallId} in step ${step}`;
  throw new RuntimeError('INTERNAL_ERROR', { reason });
}

function lastVariables(outcomes: readonly JournalOutcome[]): JsonObject {
  const inOrder = [...outcomes].sort((one, other) => one.step - other.step);
  return Object.fromEntries(inOrder.flatMap(({ variables = {} }) => Object.entries(variables)));
}
