import type { LoopOutcome } from '../contracts/outcome';
import type { ToolChoice } from '../contracts/model';
import { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import type { LoopInput, LoopSettings } from './loop-contract';
import { runStep, type RunState, type StepResult } from './run-step';
import { stopBetweenSteps } from './stop-conditions';
import { finalAnswerRequest } from './transcript';

/**
 * Steps until the model answers or something ends the run. Never rejects: what went wrong is in `error`,
 * and the steps made so far are always there.
 */
export async function runLoop(input: LoopInput): Promise<LoopOutcome> {
  const state: RunState = { messages: [...input.messages], steps: [], toolCallIds: new Set(), iterations: 0 };
  const end = (rest: Partial<LoopOutcome> & Pick<LoopOutcome, 'status'>): LoopOutcome => ({
    text: '',
    truncated: false,
    iterations: state.iterations,
    steps: state.steps,
    ...rest,
  });
  try {
    return end(await stepUntilDone(input, state));
  } catch (thrown) {
    const error = toRuntimeError(thrown);
    return end({ status: error.code === 'RUN_CANCELLED' ? 'cancelled' : 'failed', error, text: '' });
  }
}

type Ending = Pick<LoopOutcome, 'status' | 'text' | 'truncated'> & { readonly error?: RuntimeError };

async function stepUntilDone(input: LoopInput, state: RunState): Promise<Ending> {
  let last: StepResult | undefined;
  while (state.iterations < input.settings.maxIterations) {
    const stop = stopBetweenSteps(input, state.steps);
    if (stop !== undefined) throw stop;
    const emptyBefore = last?.kind === 'empty';
    last = await runStep(input, state, stepOptions(input.settings, state.iterations));
    if (last.kind === 'answer') return { status: 'completed', text: last.text, truncated: last.truncated };
    refuseSilence(last, emptyBefore);
    // An empty assistant message is refused by some providers, so the second try does not show it.
    if (last.kind === 'empty') state.messages.pop();
  }
  if (last !== undefined && input.settings.onMaxIterations !== 'finalAnswer') refuseSilence(last, true);
  return endAtLimit(input, state, last);
}

/** A reply without text or calls is asked for once more, then it ends the run. */
function refuseSilence({ kind }: StepResult, emptyBefore: boolean): void {
  if (kind === 'filtered') throw new RuntimeError('LLM_CONTENT_FILTERED');
  if (kind === 'empty' && emptyBefore) throw new RuntimeError('LLM_EMPTY_REPLY');
}

function stepOptions(settings: LoopSettings, made: number): { toolChoice: ToolChoice; isLast: boolean } {
  return {
    // `required` holds for the first step only: forced for ever, the model could never answer.
    toolChoice: settings.toolChoice === 'required' && made > 0 ? 'auto' : settings.toolChoice,
    isLast: made + 1 >= settings.maxIterations && settings.onMaxIterations !== 'finalAnswer',
  };
}

async function endAtLimit(input: LoopInput, state: RunState, last: StepResult | undefined): Promise<Ending> {
  const stop = input.stopError();
  if (stop !== undefined) throw stop;
  const { onMaxIterations, maxIterations } = input.settings;
  if (onMaxIterations === 'finalAnswer') {
    state.messages.push(finalAnswerRequest());
    const final = await runStep(input, state, { toolChoice: 'none', isLast: true });
    return { status: 'max_iterations', text: final.text, truncated: final.truncated };
  }
  const ending = { status: 'max_iterations', text: last?.text ?? '', truncated: last?.truncated ?? false } as const;
  if (onMaxIterations === 'partial') return ending;
  return { ...ending, error: new RuntimeError('MAX_ITERATIONS_REACHED', { maxIterations }) };
}
