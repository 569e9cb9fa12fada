import type { Approval, ApprovalBelow, Step } from '../contracts/ledger/journal';
import type { LoopProgress } from '../contracts/ledger/progress';
import type { Message } from '../contracts/message';
import type { LoopOutcome } from '../contracts/outcome';
import { describeError, RuntimeError } from '../errors/runtime-error';
import type { JsonObject } from '../util/json';
import type { RunnableCall } from './admit-tool-call';
import type { EndedToolCalls, OpenToolCall } from './execute-tool-calls';
import type { LoopInput } from './loop-contract';
import type { ReadReply } from './read-reply';
import type { OpenStep, RunState } from './run-state';
import { answerText, withSingleToolReminder } from './transcript';

/** Outcome of a run that was not interrupted. */
export type Ending = Pick<
  LoopOutcome,
  'status' | 'text' | 'truncated' | 'structured' | 'warnings' | 'isPaused' | 'awaiting' | 'progress' | 'error'
>;

/** Adds the results of a step to the transcript, and asks once more for an answer that was not of the required form. */
export function closeStep(
  state: RunState,
  { step, reply, ended }: { readonly step: OpenStep; readonly reply: ReadReply; readonly ended: EndedToolCalls },
): void {
  const { finishReason, durationMs, message } = step;
  const results = ended.map((call) => call.message);
  state.messages.push(...(step.wereDropped ? withSingleToolReminder(results) : results));
  if (reply.kind === 'repair') {
    const request = repairRequest(reply.issues);
    state.messages.push(request);
    state.repair.push(message, request);
  }
  state.steps.push({ step: step.step, finishReason, durationMs, toolCalls: ended.map(({ record }) => record) });
}

/**
 * The end of the run after a step; undefined where another one follows. Throws LLM_CONTENT_FILTERED, and LLM_EMPTY_REPLY for
 * a reply without text or calls that is not asked for again.
 */
export function endOf(
  input: LoopInput,
  state: RunState,
  { step, reply }: { readonly step: OpenStep; readonly reply: ReadReply },
): Ending | undefined {
  const { kind, issues } = reply;
  if (kind === 'answer') return { status: step.isFinal ? 'max_iterations' : 'completed', ...answerOf(reply) };
  if (kind === 'refused') return { status: 'failed', ...answerOf(reply), error: outputInvalid(issues) };
  if (step.isFinal) return withoutAnswer(input, state, reply);
  if (kind === 'filtered') throw new RuntimeError('LLM_CONTENT_FILTERED', { reason: 'it gives no reason.' });
  const isAgain = kind === 'empty' && (state.wasEmpty || step.isLast);
  state.wasEmpty = kind === 'empty';
  // An empty assistant message is refused by some providers, so the second try does not show it.
  if (state.wasEmpty) state.messages.pop();
  if (isAgain) throw new RuntimeError('LLM_EMPTY_REPLY');
  return undefined;
}

function answerOf({ text, truncated, structured }: ReadReply): Pick<Ending, 'text' | 'truncated' | 'structured'> {
  return { text, truncated, structured };
}

/** A model that calls tools once more, or says nothing, has often said something on the way. */
function withoutAnswer({ format }: LoopInput, { messages, opening }: RunState, reply: ReadReply): Ending {
  if (format !== undefined) return { status: 'failed', ...answerOf(reply), error: outputInvalid(reply.issues) };
  const texts = messages
    .slice(opening.length)
    .map((message) => (message.role === 'assistant' ? answerText(message) : ''));
  const text = texts.findLast((said) => said !== '') ?? '';
  return {
    status: 'max_iterations',
    text,
    truncated: reply.truncated,
    warnings: [describeError('FINAL_ANSWER_MISSING')],
  };
}

/** Ends a run whose steps are used. Throws where it was stopped. */
export function endAtLimit({ stop }: LoopInput, { asks }: RunState, last: ReadReply | undefined): Ending {
  const stopped = stop.error();
  if (stopped !== undefined) throw stopped;
  const { onMaxIterations, limits } = asks.settings;
  const ending = { status: 'max_iterations', text: last?.text ?? '', truncated: last?.truncated ?? false } as const;
  if (onMaxIterations === 'partial') return ending;
  return { ...ending, error: new RuntimeError('MAX_ITERATIONS_REACHED', { maxIterations: limits.maxIterations }) };
}

/** Ends the run after a step that another one follows. */
export function pause({ text, truncated }: ReadReply): Ending {
  return { status: 'max_iterations', text, truncated, isPaused: true };
}

/** Ends the run until a person has decided on a call of it. */
export function askPerson(
  { observer }: LoopInput,
  state: RunState,
  { asked, ...open }: Open & { readonly asked: RunnableCall },
): Ending {
  const { id, function: fn } = asked.call;
  const call = { step: state.iterations, id, tool: fn.name, arguments: asked.input, durationMs: 0 };
  observer.toolCallEnded({ ...call, decision: 'ask', isRepeatable: true, wasSent: false });
  const reason = `The rules ask for a decision before ${fn.name} is called.`;
  const ending = wait(state, open, {
    asked: id,
    approvals: { [id]: { arguments: asked.input, origin: asked.tool.origin } },
  });
  return { ...ending, awaiting: { tool: fn.name, arguments: asked.input, reason }, warnings: asked.warnings };
}

/**
 * Ends the run until a person has decided on a run that works for one of its calls. Throws where the run was stopped, or such a run
 * could not go on.
 */
export function waitBelow(
  { stop, observer }: LoopInput,
  state: RunState,
  { ended, open, ...rest }: Open & { readonly ended: EndedToolCalls; readonly open: readonly OpenToolCall[] },
): Ending {
  const known = rest.written.approvals;
  const waiting = open.flatMap(({ id, input, origin, below }): [string, Approval][] =>
    below.kind === 'waits'
      ? [[id, { arguments: input, origin, ...(Object.hasOwn(known, id) ? known[id] : {}), below: placeOf(below) }]]
      : [],
  );
  const approvals = { ...known, ...Object.fromEntries(waiting) };
  const written = { ...rest.written, approvals, sent: sentOf(rest, { ended, open }) };
  // For a run that goes on from here although it did not wait.
  observer.stepOpened(written);
  stop.signal.throwIfAborted();
  const [asked] = open.map((call) => {
    if (call.below.kind === 'broken') throw call.below.error;
    return { id: call.id, awaiting: call.below.awaiting };
  });
  if (asked === undefined) throw new RuntimeError('INTERNAL_ERROR', { reason: 'no call waits' });
  const outcomes = Object.fromEntries(ended.map(({ record }) => [record.id, record]));
  const step = { ...rest.step, outcomes: { ...rest.step.outcomes, ...outcomes } };
  return { ...wait(state, { ...rest, written, step }, { asked: asked.id, approvals }), awaiting: asked.awaiting };
}

function placeOf({ taskId, runId }: ApprovalBelow): ApprovalBelow {
  return { taskId, runId };
}

/** The places of the calls that may have been sent: in sequence, none after one that waits. */
function sentOf(
  { step, written }: Open,
  { ended, open }: { readonly ended: EndedToolCalls; readonly open: readonly OpenToolCall[] },
): readonly number[] {
  const sent = ended.filter(({ record }) => record.wasSent).map(({ record }) => record.id);
  const ids = new Set([...sent, ...open.map(({ id }) => id)]);
  const now = step.calls.flatMap(({ id }, place) => (ids.has(id) ? [place] : []));
  return [...new Set([...written.sent, ...now])];
}

interface Open {
  readonly step: OpenStep;
  readonly written: Omit<Step, 'spent'>;
  /** Variables before the calls of the step. Default: those of now. */
  readonly variables?: JsonObject;
}

function wait(
  state: RunState,
  { step, written, variables }: Open,
  { asked, approvals: added }: Required<Pick<LoopProgress, 'asked' | 'approvals'>>,
): Ending {
  const { opening: _kept, callCounts, approvals, ...pending } = written;
  return {
    status: 'awaiting_input',
    text: '',
    truncated: false,
    progress: {
      messages: state.messages.slice(0, -1),
      openingLength: state.opening.isKept ? state.opening.length : undefined,
      steps: state.steps,
      iterations: state.iterations,
      callCounts,
      pending: { ...pending, outcomes: step.outcomes, ...(variables && { variables }) },
      approvals: { ...approvals, ...added },
      asked,
    },
  };
}

/** Asks once more for an answer that was not of the required form. */
function repairRequest(issues = 'it cannot be read'): Message {
  return {
    role: 'user',
    content: `Your answer does not have the required format: ${issues}\n\nGive the whole answer again, in the required format.`,
  };
}

function outputInvalid(issues = 'there is no answer'): RuntimeError {
  return new RuntimeError('OUTPUT_INVALID', { issues });
}
