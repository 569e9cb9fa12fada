import type { Step } from '../contracts/ledger/journal';
import type { Message } from '../contracts/message';
import type { LoopOutcome } from '../contracts/outcome';
import { describeError, RuntimeError } from '../errors/runtime-error';
import type { RunnableCall } from './admit-tool-call';
import type { EndedToolCalls } from './execute-tool-calls';
import type { LoopInput } from './loop-contract';
import type { ReadReply } from './read-reply';
import type { OpenStep, RunState } from './run-state';
import { answerText, withSingleToolReminder } from './transcript';

/** Outcome of a run that was not interrupted. */
export type Ending = Pick<
  LoopOutcome,
  'status' | 'text' | 'truncated' | 'structured' | 'warnings' | 'awaiting' | 'progress' | 'error'
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
export function endAtLimit({ stop, settings }: LoopInput, last: ReadReply | undefined): Ending {
  const stopped = stop.error();
  if (stopped !== undefined) throw stopped;
  const { onMaxIterations, limits } = settings;
  const ending = { status: 'max_iterations', text: last?.text ?? '', truncated: last?.truncated ?? false } as const;
  if (onMaxIterations === 'partial') return ending;
  return { ...ending, error: new RuntimeError('MAX_ITERATIONS_REACHED', { maxIterations: limits.maxIterations }) };
}

/** Ends the run until a person has decided. */
export function waitForPerson(
  { observer }: LoopInput,
  state: RunState,
  {
    step,
    written,
    asked,
  }: { readonly step: OpenStep; readonly written: Omit<Step, 'spent'>; readonly asked: RunnableCall },
): Ending {
  const { id, function: fn } = asked.call;
  const { opening: _kept, callCounts, approvals, ...pending } = written;
  const call = { step: state.iterations, id, tool: fn.name, arguments: asked.input, durationMs: 0 };
  observer.toolCallEnded({ ...call, decision: 'ask', isRepeatable: true, wasSent: false });
  const reason = `The rules ask for a decision before ${fn.name} is called.`;
  return {
    status: 'awaiting_input',
    text: '',
    truncated: false,
    awaiting: { tool: fn.name, arguments: asked.input, reason },
    warnings: asked.warnings,
    progress: {
      messages: state.messages.slice(0, -1),
      openingLength: state.opening.isKept ? state.opening.length : undefined,
      steps: state.steps,
      iterations: state.iterations,
      callCounts,
      pending: { ...pending, outcomes: step.outcomes },
      approvals: { ...approvals, [id]: { arguments: asked.input } },
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
