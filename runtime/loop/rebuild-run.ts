import type { JournalEntry, Step, StepRecord, ToolCallEntry } from '../contracts/ledger/journal';
import type { LoopProgress, Progress } from '../contracts/ledger/progress';
import type { Message } from '../contracts/message';
import type { Agent } from '../contracts/tenant';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import { RuntimeError } from '../errors/runtime-error';
import type { JsonObject } from '../util/json';
import { callsOf } from './run-state';
import { outcomeMessage, withSingleToolReminder } from './transcript';

/** How a task begins. */
interface Beginning {
  /** The transcript, unless the journal has it. */
  readonly opening: readonly Message[];
  readonly variables: JsonObject;
}

/**
 * How far a task is by its journal; undefined when nothing is on record. The transcript is the one that the next model call
 * would have been sent.
 */
export function rebuildRun(
  { opening, variables: given }: Beginning,
  journal: readonly JournalEntry[],
): Progress | undefined {
  const entries = journal.filter(isStep).sort((one, other) => one.step - other.step);
  const last = entries.at(-1);
  if (last === undefined) return undefined;
  const ended = journal.filter(isToolCall);
  const kept = entries[0]?.opening;
  const messages: Message[] = [...(kept ?? opening)];
  const steps: StepRecord[] = [];
  // A step without calls is over; the model is asked again, and not shown its silence.
  const isPending = callsOf(last).length > 0;
  for (const entry of isPending ? entries.slice(0, -1) : entries) {
    const step = endedStep(entry, endedIn(entry, ended));
    steps.push(step);
    messages.push(...messagesOf(entry, step));
  }
  const { callCounts, approvals, spent } = last;
  const variablesOf = (calls: readonly ToolCallEntry[]): JsonObject => changed(given, calls);
  const outcomes = Object.fromEntries(endedIn(last, ended));
  const before = ended.filter(({ step }) => step < last.step);
  const pending = isPending ? { ...stepOf(last), outcomes, variables: variablesOf(before) } : undefined;
  return {
    messages,
    openingLength: kept?.length,
    steps,
    iterations: last.step,
    callCounts,
    pending,
    approvals,
    spent,
    variables: variablesOf(ended),
    agent: entries[0]?.agent,
    changes: Math.max(-1, ...ended.map(placeOf)) + 1,
  };
}

/** The agent that the task began with, null for none; undefined where nothing is on record. */
export function agentOnRecord(journal: readonly JournalEntry[]): Agent | null | undefined {
  const first = journal.filter(isStep).find(({ step }) => step <= 1);
  return first === undefined ? undefined : (first.agent ?? null);
}

function isStep(entry: JournalEntry): entry is Step {
  return !isToolCall(entry);
}

function isToolCall(entry: JournalEntry): entry is ToolCallEntry {
  return 'id' in entry;
}

function stepOf(entry: Step): Omit<NonNullable<LoopProgress['pending']>, 'outcomes'> {
  const { step, finishReason, durationMs, message, calls, wereDropped, sent } = entry;
  return { step, finishReason, durationMs, message, calls, wereDropped, sent };
}

function endedIn({ step }: Step, ended: readonly ToolCallEntry[]): ReadonlyMap<string, ToolCallRecord> {
  const calls = ended.filter((call) => call.step === step);
  return new Map(
    calls.map(({ variables: _kept, removed: _removed, change: _place, ...record }) => [record.id, record]),
  );
}

/** A step that another one follows: its results were written with that one's entry. */
function endedStep(entry: Step, ended: ReadonlyMap<string, ToolCallRecord>): StepRecord {
  const { step, finishReason, durationMs } = entry;
  return {
    step,
    finishReason,
    durationMs,
    toolCalls: callsOf(entry).map(({ id }) => ended.get(id) ?? missing(step, id)),
  };
}

function messagesOf({ message, wereDropped }: Step, { toolCalls }: StepRecord): readonly Message[] {
  if (toolCalls.length === 0) return [];
  const results = toolCalls.map(outcomeMessage);
  return [message, ...(wereDropped ? withSingleToolReminder(results) : results)];
}

function missing(step: number, toolCallId: string): never {
  const reason = `the journal lacks the result of call ${toolCallId} in step ${step}`;
  throw new RuntimeError('INTERNAL_ERROR', { reason });
}

function changed(given: JsonObject, calls: readonly ToolCallEntry[]): JsonObject {
  const inOrder = [...calls].sort((one, other) => one.step - other.step || placeOf(one) - placeOf(other));
  const variables = new Map(Object.entries(given));
  for (const { variables: set = {}, removed = [] } of inOrder) {
    for (const [name, value] of Object.entries(set)) variables.set(name, value);
    for (const name of removed) variables.delete(name);
  }
  return Object.fromEntries(variables);
}

const placeOf = ({ change = -1 }: ToolCallEntry): number => change;
