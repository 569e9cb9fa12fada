import type { OutputFormat } from '../contracts/connected';
import type { Approval, Step, StepRecord } from '../contracts/ledger/journal';
import type { LoopProgress } from '../contracts/ledger/progress';
import type { Message, ToolCallMessage } from '../contracts/message';
import type { Model } from '../contracts/model';
import type { Toolset } from '../contracts/tools/tool';
import type { ToolDefinition } from '../contracts/tools/tool-shapes';
import type { Variables } from '../util/variables/fill';
import type { LoopInput, LoopSettings, PreparedStep } from './loop-contract';
import { createRepeatedCalls, type RepeatedCalls } from './repeated-calls';

/** State of the run's tool calls. */
export interface CallsSoFar {
  readonly ids: Set<string>;
  /** How many were made, by tool. */
  readonly counts: Map<string, number>;
  readonly repeated: RepeatedCalls;
}

/** State kept between steps. */
export interface RunState {
  readonly messages: Message[];
  /** How many of them the task began with, and whether these go on record. */
  readonly opening: { readonly length: number; readonly isKept: boolean };
  /** What the model can call now, and what it is shown of it: the same array while that is the same. */
  asks: {
    readonly toolset: Toolset;
    readonly tools: readonly ToolDefinition[];
    /** Who is asked next, and how. */
    readonly model: Model;
    readonly settings: LoopSettings;
  };
  readonly steps: StepRecord[];
  readonly calls: CallsSoFar;
  readonly approvals: Readonly<Record<string, Approval>>;
  iterations: number;
  /** An answer that did not have the required format, and what the model was told of it. */
  readonly repair: Message[];
  /** The last reply held neither text nor calls. */
  wasEmpty: boolean;
}

/** A model call that ended, and what is left to do of its step. */
export type OpenStep = Omit<NonNullable<LoopProgress['pending']>, 'variables'> & {
  /** Variables for its arguments, if an earlier run began the step. Default: those of now. */
  readonly variables?: Variables;
  readonly calls: readonly ToolCallMessage[];
  /** No model call follows. */
  readonly isLast: boolean;
  /** The answer that is asked for when all steps are used: no tool may be called. */
  readonly isFinal: boolean;
  /** The answer, when it came as the call of a tool. */
  readonly given?: string;
  /** Undefined for a step that an earlier run began. */
  readonly tokens?: { readonly promptTokens: number; readonly completionTokens: number };
};

export function openState(input: LoopInput): RunState {
  const { start, settings, toolset, format } = input;
  const progress = start.progress ?? nothingYet(start.messages);
  const messages = [...transcriptOf(progress)];
  return {
    messages,
    opening: {
      length: progress.openingLength ?? afterUserMessage(messages),
      isKept: start.keepsOpening === true || start.progress?.openingLength !== undefined,
    },
    calls: {
      ids: new Set(toolCallIdsOf(messages)),
      counts: new Map(Object.entries(progress.callCounts)),
      repeated: createRepeatedCalls(settings.limits.maxIdenticalCalls, progress.steps),
    },
    asks: { toolset, tools: offeredTools(toolset, format), ...asksOf(input) },
    repair: [],
    steps: [...progress.steps],
    approvals: progress.approvals,
    iterations: progress.iterations,
    wasEmpty: false,
  };
}

/** The model of the run with its settings, as far as nothing stands in their place. */
export function asksOf(
  { model, settings: all }: LoopInput,
  { model: other, settings, maxIterations }: Omit<PreparedStep, 'toolset'> = {},
): Pick<RunState['asks'], 'model' | 'settings'> {
  if (other === undefined && settings === undefined && maxIterations === undefined) return { model, settings: all };
  const limits = maxIterations === undefined ? all.limits : { ...all.limits, maxIterations };
  return { model: other ?? model, settings: { ...all, ...settings, limits } };
}

/** The tools that a model is shown: those of the run, and the one that takes the answer. */
export function offeredTools({ definitions }: Toolset, format: OutputFormat | undefined): readonly ToolDefinition[] {
  if (format === undefined) return definitions;
  return [...definitions.filter(({ name }) => name !== format.tool.name), format.tool];
}

/** A run at its beginning. */
export function nothingYet(messages: readonly Message[]): LoopProgress {
  return { messages, openingLength: messages.length, steps: [], iterations: 0, callCounts: {}, approvals: {} };
}

/** The place after the first message of the user, which is that of the task where there is no history. */
function afterUserMessage(messages: readonly Message[]): number {
  return messages.findIndex(({ role }) => role === 'user') + 1;
}

function toolCallIdsOf(messages: readonly Message[]): readonly string[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
  return calls.map(({ id }) => id);
}

/** The calls of a step as the model wrote them. */
export function callsOf({ calls, message }: Pick<Step, 'calls' | 'message'>): readonly ToolCallMessage[] {
  return calls ?? message.tool_calls ?? [];
}

/** An id is what the model's server makes it: it may be the name of what every object has. */
export function approvalOf({ id }: ToolCallMessage, { approvals }: Pick<RunState, 'approvals'>): Approval | undefined {
  return Object.hasOwn(approvals, id) ? approvals[id] : undefined;
}

/** The whole transcript so far, with the message of a step that is pending. */
export function transcriptOf({ messages, pending }: LoopProgress): readonly Message[] {
  return pending === undefined ? messages : [...messages, pending.message];
}

/** Returns the part of a step that is recorded. */
export function asWritten(open: OpenStep, state: RunState): Omit<Step, 'spent'> {
  const { step, finishReason, durationMs, message, calls, wereDropped, sent } = open;
  const shown = message.tool_calls ?? [];
  const isSame = shown.length === calls.length && calls.every((call, index) => call === shown[index]);
  return {
    ...{ step, finishReason, durationMs, message, calls: isSame ? undefined : calls, wereDropped, sent },
    ...(state.steps.length === 0 && state.opening.isKept
      ? { opening: state.messages.slice(0, state.opening.length) }
      : {}),
    callCounts: Object.fromEntries(state.calls.counts),
    approvals: state.approvals,
  };
}
