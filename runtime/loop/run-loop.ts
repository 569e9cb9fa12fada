import type { LoopProgress } from '../contracts/ledger/progress';
import type { StepRecord } from '../contracts/ledger/step';
import type { Message } from '../contracts/message';
import type { ToolChoice } from '../contracts/model';
import type { LoopOutcome } from '../contracts/outcome';
import { describeError, RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { offeredTools, outputInvalid } from './formatted-answer';
import type { LoopInput, LoopSettings } from './loop-contract';
import { createRepeatedCalls } from './repeated-calls';
import { callsOf, type RunState, transcriptOf } from './run-state';
import { finishStep, runStep, type StepResult } from './run-step';
import { answerText, withFinalAnswerRequest } from './transcript';

/**
 * Steps until the model answers or something ends the run. Never rejects: what went wrong is in `error`,
 * and the steps made so far are always there.
 */
export async function runLoop(input: LoopInput): Promise<LoopOutcome> {
  const state = openState(input);
  const before = state.iterations;
  const end = (rest: Partial<LoopOutcome> & Pick<LoopOutcome, 'status'>): LoopOutcome => ({
    text: '',
    truncated: false,
    iterations: state.iterations - before,
    lastStep: state.iterations,
    steps: state.steps,
    said: state.messages.slice(state.openingLength),
    ...rest,
  });
  try {
    return end(await stepUntilDone(input, state));
  } catch (thrown) {
    const error = endingError(input, thrown);
    return end({ status: STATUS[error.code] ?? 'failed', error });
  }
}

/**
 * A run that was stopped while it waited for the ledger ends for that reason; one that waited for room in vain, for
 * want of it.
 */
function endingError(input: LoopInput, thrown: unknown): RuntimeError {
  const error = toRuntimeError(thrown);
  const stop = input.stop.error();
  const isStop =
    thrown === input.stop.signal.reason || (error.code === 'BUDGET_EXCEEDED' && stop?.code === 'RUN_CANCELLED');
  return isStop ? (stop ?? error) : error;
}

const STATUS: Readonly<Record<string, LoopOutcome['status']>> = {
  RUN_CANCELLED: 'cancelled',
  BUDGET_EXCEEDED: 'budget_exceeded',
};

function openState({ start, settings, toolset, format }: LoopInput): RunState {
  const progress = start.progress ?? nothingYet(start.messages);
  const messages = [...transcriptOf(progress)];
  return {
    messages,
    openingLength: progress.openingLength ?? afterUserMessage(messages),
    keepsOpening: start.keepsOpening === true || start.progress?.openingLength !== undefined,
    calls: {
      ids: new Set(toolCallIdsOf(messages)),
      counts: new Map(Object.entries(progress.callCounts)),
      repeated: createRepeatedCalls(settings.limits.maxIdenticalCalls, progress.steps),
    },
    tools: offeredTools(toolset, format),
    repair: [],
    steps: [...progress.steps],
    approvals: progress.approvals,
    iterations: progress.iterations,
  };
}

function nothingYet(messages: readonly Message[]): LoopProgress {
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

type Ending = Pick<
  LoopOutcome,
  'status' | 'text' | 'truncated' | 'structured' | 'warnings' | 'awaiting' | 'progress'
> & {
  readonly error?: RuntimeError;
};

async function stepUntilDone(input: LoopInput, state: RunState): Promise<Ending> {
  let last = input.start.progress === undefined ? undefined : await goOn(input, state, input.start.progress);
  const waiting = last === undefined ? undefined : endOf(input, state, last);
  if (waiting !== undefined) return waiting;
  while (state.iterations < input.settings.limits.maxIterations) {
    throwIfStopped(input, state);
    const emptyBefore = last?.kind === 'empty';
    last = await runStep(input, state, stepOptions(input.settings, state.iterations));
    const ending = endOf(input, state, last);
    if (ending !== undefined) return ending;
    refuseSilence(last, emptyBefore);
    // An empty assistant message is refused by some providers, so the second try does not show it.
    if (last.kind === 'empty') state.messages.pop();
  }
  if (last !== undefined && input.settings.onMaxIterations !== 'finalAnswer') refuseSilence(last, true);
  return endAtLimit(input, state, last);
}

function throwIfStopped(input: LoopInput, { steps }: RunState): void {
  const stop = input.stop.error() ?? repeatedErrors(input, steps);
  if (stop !== undefined) throw stop;
}

/** A model that fails in every call for several steps is stuck; more steps only cost more. */
function repeatedErrors(input: LoopInput, steps: readonly StepRecord[]): RuntimeError | undefined {
  const count = input.settings.limits.maxErrorSteps;
  const last = steps.slice(-count);
  if (last.length < count) return undefined;
  if (
    !last.every((step) => step.toolCalls.length > 0 && step.toolCalls.every(({ outcome }) => outcome?.isError === true))
  )
    return undefined;
  const lastCode = last.at(-1)?.toolCalls.at(-1)?.outcome?.code;
  return new RuntimeError('TOOL_ERRORS_REPEATED', { count, lastCode });
}

/** An answer ends the run, and so does a call that waits for a person. */
function endOf(input: LoopInput, state: RunState, step: StepResult): Ending | undefined {
  if (step.kind === 'answer') return { status: 'completed', ...answerOf(step) };
  if (step.kind === 'refused') return { status: 'failed', ...answerOf(step), error: outputInvalid(step.issues) };
  return step.kind === 'ask' ? wait(input, state, step) : undefined;
}

function answerOf({ text, truncated, structured }: StepResult): Pick<Ending, 'text' | 'truncated' | 'structured'> {
  return { text, truncated, structured };
}

/** What an earlier run left undone of its last step. */
async function goOn(input: LoopInput, state: RunState, { pending }: LoopProgress): Promise<StepResult | undefined> {
  const { settings, observer } = input;
  const isLast = state.iterations >= settings.limits.maxIterations && settings.onMaxIterations !== 'finalAnswer';
  if (pending !== undefined) return finishStep(input, state, { ...pending, calls: callsOf(pending), isLast });
  if (!isLast) await observer.beforeToolCalls({ next: state.iterations + 1, calls: [] });
  return undefined;
}

/** Ends the run until a person has decided. */
function wait(input: LoopInput, state: RunState, { asked }: StepResult): Ending {
  if (asked === undefined) throw new RuntimeError('INTERNAL_ERROR', { reason: 'nothing is asked' });
  const { id, tool, arguments: shown, pending } = asked;
  const call = { step: state.iterations, id, tool, arguments: shown, durationMs: 0 };
  input.observer.toolCallEnded({ ...call, decision: 'ask', isRepeatable: true, wasSent: false });
  return {
    status: 'awaiting_input',
    text: '',
    truncated: false,
    awaiting: { tool, arguments: shown, reason: `The rules ask for a decision before ${tool} is called.` },
    progress: {
      messages: state.messages.slice(0, -1),
      openingLength: state.keepsOpening ? state.openingLength : undefined,
      steps: state.steps,
      iterations: state.iterations,
      callCounts: Object.fromEntries(state.calls.counts),
      pending,
      approvals: { ...state.approvals, [id]: { arguments: shown } },
    },
  };
}

/** A reply without text or calls is asked for once more, then it ends the run. */
function refuseSilence({ kind }: StepResult, emptyBefore: boolean): void {
  if (kind === 'filtered') throw new RuntimeError('LLM_CONTENT_FILTERED', { reason: 'it gives no reason.' });
  if (kind === 'empty' && emptyBefore) throw new RuntimeError('LLM_EMPTY_REPLY');
}

function stepOptions(settings: LoopSettings, made: number): { toolChoice: ToolChoice; isLast: boolean } {
  return {
    // `required` holds for the first step only: forced for ever, the model could never answer.
    toolChoice: settings.toolChoice === 'required' && made > 0 ? 'auto' : settings.toolChoice,
    isLast: made + 1 >= settings.limits.maxIterations && settings.onMaxIterations !== 'finalAnswer',
  };
}

async function endAtLimit(input: LoopInput, state: RunState, last: StepResult | undefined): Promise<Ending> {
  const stop = input.stop.error();
  if (stop !== undefined) throw stop;
  const { onMaxIterations, limits } = input.settings;
  if (onMaxIterations === 'finalAnswer') return answerAtLast(input, state);
  const ending = { status: 'max_iterations', text: last?.text ?? '', truncated: last?.truncated ?? false } as const;
  if (onMaxIterations === 'partial') return ending;
  return { ...ending, error: new RuntimeError('MAX_ITERATIONS_REACHED', { maxIterations: limits.maxIterations }) };
}

async function answerAtLast(input: LoopInput, state: RunState): Promise<Ending> {
  state.messages.push(...withFinalAnswerRequest(state.messages.splice(-1), input.format?.tool.name));
  const final = await runStep(input, state, { toolChoice: 'none', isLast: true });
  if (final.kind === 'answer') return { status: 'max_iterations', ...answerOf(final) };
  if (input.format === undefined) return withLastText(state, final);
  return { status: 'failed', ...answerOf(final), error: outputInvalid(final.issues) };
}

/** A model that calls tools once more, or says nothing, has often said something on the way. */
function withLastText({ messages, openingLength }: RunState, { truncated }: StepResult): Ending {
  const texts = messages
    .slice(openingLength)
    .map((message) => (message.role === 'assistant' ? answerText(message) : ''));
  const text = texts.findLast((said) => said !== '') ?? '';
  return { status: 'max_iterations', text, truncated, warnings: [describeError('FINAL_ANSWER_MISSING')] };
}
