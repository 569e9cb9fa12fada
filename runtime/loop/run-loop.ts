import type { LoopOutcome } from '../contracts/outcome';
import { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { untilAborted } from '../util/abort';
import type { AdmittedToolCall } from './admit-tool-call';
import { askModel } from './ask-model';
import { askPerson, closeStep, endAtLimit, type Ending, endOf, pause, waitBelow } from './endings';
import { executeToolCalls } from './execute-tool-calls';
import type { LoopInput } from './loop-contract';
import { prepareToolCalls, ruleToolCalls } from './prepare-tool-calls';
import { isEnd, type ReadReply, readReply } from './read-reply';
import { asksOf, asWritten, callsOf, offeredTools, openState, type OpenStep, type RunState } from './run-state';

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
    said: state.messages.slice(state.opening.length),
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

/** One model call after the other, each with the tool calls that it asked for. */
async function stepUntilDone(input: LoopInput, state: RunState): Promise<Ending> {
  await prepareStep(input, state);
  let step = await pendingStep(input, state);
  let reply: ReadReply | undefined;
  while (step !== undefined || mayAsk(state)) {
    const isAsked = step === undefined;
    step ??= await askModel(input, state);
    reply = await readReply(input, state, step);
    const ending = await finishStep(input, state, { step, reply });
    if (ending !== undefined) return ending;
    const isPause = input.start.pauses === true && reply.kind === 'tools' && (isAsked || hasMadeCalls(state, step));
    step = undefined;
    if (!mayAsk(state)) break;
    if (isPause) return pause(reply);
    await prepareStep(input, state);
  }
  return endAtLimit(input, state, reply);
}

/** Reports whether this run has sent calls of a step that an earlier one began. A call that is refused is no work. */
function hasMadeCalls({ steps }: RunState, { outcomes }: OpenStep): boolean {
  const made = steps.at(-1)?.toolCalls ?? [];
  return made.some(({ id, wasSent }) => wasSent && !Object.hasOwn(outcomes, id));
}

/** Makes what a reply asked for. Returns an ending unless another step follows. */
async function finishStep(
  input: LoopInput,
  state: RunState,
  { step, reply }: { readonly step: OpenStep; readonly reply: ReadReply },
): Promise<Ending | undefined> {
  const written = asWritten(step, state);
  if (!isEnd(reply)) input.observer.stepOpened(written);
  const { calls, asked } = await prepareToolCalls(input, state, step);
  input.stop.signal.throwIfAborted();
  const waits =
    asked === undefined
      ? await makeCalls(input, state, { step, reply, written, calls })
      : askPerson(input, state, { step, written, asked });
  if (step.tokens !== undefined) input.emit({ type: 'step-end', step: step.step, ...step.tokens });
  return waits ?? endOf(input, state, { step, reply });
}

/** Makes the calls of a step. Returns an ending where one of them waits for a person. */
async function makeCalls(
  input: LoopInput,
  state: RunState,
  {
    step,
    reply,
    written,
    calls,
  }: {
    readonly step: OpenStep;
    readonly reply: ReadReply;
    readonly written: ReturnType<typeof asWritten>;
    readonly calls: readonly AdmittedToolCall[];
  },
): Promise<Ending | undefined> {
  const ruled = await ruleToolCalls(input, state, { calls, written, isLast: step.isLast || isEnd(reply) });
  const { variables: given = input.scope.variables } = step;
  const variables = given.size === 0 ? undefined : Object.fromEntries(given);
  const { ended, open } = await executeToolCalls(input, state, { step: step.step, calls: ruled });
  if (open.length > 0) return waitBelow(input, state, { step, written, variables, ended, open });
  closeStep(state, { step, reply, ended });
  return undefined;
}

/** Returns what an earlier run left undone of its last step. Where it left nothing, the next model call needs room. */
async function pendingStep(input: LoopInput, state: RunState): Promise<OpenStep | undefined> {
  const { progress } = input.start;
  if (progress === undefined) return undefined;
  const { pending } = progress;
  const isLast = !mayAsk(state);
  if (pending !== undefined) {
    const variables = pending.variables && new Map(Object.entries(pending.variables));
    return { ...pending, variables, calls: callsOf(pending), isLast, isFinal: false };
  }
  if (!isLast) await input.observer.beforeToolCalls({ next: state.iterations + 1, calls: [] });
  return undefined;
}

function mayAsk({ iterations, asks: { settings } }: RunState): boolean {
  const { limits, onMaxIterations } = settings;
  return iterations < limits.maxIterations || onMaxIterations === 'finalAnswer';
}

async function prepareStep(input: LoopInput, state: RunState): Promise<void> {
  const { observer, stop, toolset: all, format } = input;
  if (observer.prepareStep === undefined) return;
  const { iterations, steps } = state;
  const given = observer.prepareStep({ iterations, steps });
  if (given === undefined) return;
  const prepared = Promise.resolve(given);
  const { toolset = all, ...overrides } = (await untilAborted(prepared, stop.signal)) ?? {};
  const { asks } = state;
  const tools = toolset === asks.toolset ? asks.tools : offeredTools(toolset, format);
  state.asks = { toolset, tools, ...asksOf(input, overrides) };
}
