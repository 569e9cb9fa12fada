import { caller, callerLater, family, tenant, upstream, upstreamLater, warning } from '../code-row';

/** How a run ends. */
export const RUN_CODES = family('How a run ends', {
  OUTPUT_FORMAT_INVALID: caller(
    'The output format cannot be used: {reason}.',
    'Give a JSON Schema in Output Schema, or connect an output parser.',
  ),
  MAX_ITERATIONS_REACHED: tenant(
    'The agent used all {maxIterations} iterations without a final answer.',
    'Raise Max Iterations, or set On Max Iterations to return a partial or a final answer.',
  ),
  TOOL_ERRORS_REPEATED: tenant(
    'Every tool call failed in {count} steps in a row; the last error was {lastCode}.',
    "Look at the tool errors in tool_calls, and at the tools' servers.",
  ),
  LOOP_DETECTED: tenant(
    'The agent asked for "{tool}" with the same arguments again and again, and got the same answer.',
    'Make the prompt say what to do with that answer, or raise max_identical_calls.',
  ),
  OUTPUT_INVALID: tenant(
    'The answer does not have the required format, also after it was asked for again: {issues}.',
    'Look at result.text; make the prompt or the schema easier to follow, or use a better model.',
  ),
  RUN_TIMEOUT: callerLater(
    'The run took longer than {timeoutSeconds} seconds.',
    'Raise Timeout Seconds, or give the agent less to do.',
  ),
  RUN_CANCELLED: caller('The run was cancelled.', 'Nothing to do: it was stopped on request.'),
  ITERATIONS_CLAMPED: warning(
    tenant(
      'Max Iterations {asked} was lowered to {maxIterations}.',
      'Raise settings.max_iterations of the tenant; the hard ceiling is {ceiling}.',
    ),
  ),
  FINAL_ANSWER_MISSING: warning(
    tenant(
      'Asked for a final answer, the model gave none: the text is the last one that it wrote before, if any.',
      'Raise Max Iterations, or use a model that answers when it is asked to.',
    ),
  ),
  MEMORY_UNAVAILABLE: upstreamLater(
    'The connected memory gave no history: {reason}.',
    'Check the memory, its credential and its session key. Nothing was asked of the model.',
  ),
  MEMORY_NOT_SAVED: warning(
    upstream(
      'The connected memory did not take this turn: {reason}.',
      'Check the memory and its credential. The answer is given all the same, but the next turn will not know of it.',
    ),
  ),
});
