import type { StepRecord } from '../contracts/ledger/step';
import { RuntimeError } from '../errors/runtime-error';
import type { LoopInput } from './loop-contract';

/** The error that ends a run between two steps, or undefined to go on. */
export function stopBetweenSteps(input: LoopInput, steps: readonly StepRecord[]): RuntimeError | undefined {
  return input.stop.error() ?? repeatedErrors(input, steps);
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
