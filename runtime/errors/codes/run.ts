import { caller, callerLater, family, tenant, upstream, upstreamLater, warning } from '../code-row';

/** How a run ends. */
export const RUN_CODES = family('How a run ends', {
  OUTPUT_FORMAT_INVALID: caller(
    'The output format cannot be used: {reason}.',
    'Give a JSON Schema in Output Schema, or connect an output parser.',
  ),
  MAX_ITERATIONS_REACHED: tenant(
    'The agent used all {maxIterations} iterations without a final answer.',
    'Raise Limit: Iterations, or choose another value for Limit: When Iterations Are Used Up.',
  ),
  TOOL_ERRORS_REPEATED: tenant(
    'Every tool call failed in {count} steps in a row; the last error was {lastCode}.',
    'Check the tool errors in tool_calls, and the servers of the tools.',
  ),
  LOOP_DETECTED: tenant(
    'The agent kept calling "{tool}" with the same arguments and got the same answer.',
    'Say in the prompt what to do with that answer, or raise max_identical_calls.',
  ),
  PLAN_ABORTED: tenant(
    'The supervisor stopped the plan after step {step}: {reason}.',
    'See plan in the result for what was done; nothing was done after that step.',
  ),
  PLANS_USED_UP: tenant(
    'None of {plans} plans led to the goal; of the last one the supervisor said: {reason}.',
    'See plan in the result. Ask for less at once, or choose stronger models in Plan: Planner Tier and Plan: Step Tier.',
  ),
  PLAN_STEP_FAILED: tenant(
    'A step of a plan, a call of "{tool}", failed: {reason}.',
    'The supervisor of the plan decides what follows; see plan in the result.',
  ),
  PLAN_BLOCKED: tenant(
    'The run cannot continue with its plan, since it has no {tools} any more.',
    'Allow it again, with Tools: Choice other than None, and repeat the task; nothing was called. Or begin a new task.',
  ),
  PLAN_UNAVAILABLE: warning(
    tenant(
      'The task was done without a plan, since the run has no {tools}.',
      'Allow it in the rules of tier, tenant, agent and task, with Tools: Choice other than None; or choose the mode direct.',
    ),
  ),
  OUTPUT_INVALID: tenant(
    'The answer does not have the required format, even after a second request: {issues}.',
    'See result.text; make the prompt or the schema easier to follow, or use a more capable model.',
  ),
  RUN_TIMEOUT: callerLater(
    'The run took longer than {timeoutSeconds} seconds.',
    'Raise Limit: Timeout Seconds, or give the agent less to do.',
  ),
  RUN_CANCELLED: caller('The run was cancelled.', 'Nothing to do: it was stopped on request.'),
  ITERATIONS_CLAMPED: warning(
    tenant(
      'The limit of {asked} iterations was lowered to {maxIterations}.',
      'Raise settings.max_iterations of the tenant; the hard ceiling is {ceiling}.',
    ),
  ),
  VARIABLE_UNKNOWN: warning(
    caller(
      'Unknown variables in {where}: {names}. They were left as they are.',
      'Give them in Input: Variables (`variables` of the task), or correct their names. A tool may not have set them yet, or had no such value to set.',
    ),
  ),
  VARIABLE_NOT_STORED: warning(
    tenant(
      'The result of "{tool}" was not kept, so there is no variable "{name}": {reason}.',
      'Let the tool return less, or use fewer and smaller variables.',
    ),
  ),
  TIME_ZONE_UNKNOWN: warning(
    tenant(
      'The time zone "{zone}" of the tenant is not known, so UTC is used.',
      'Set timezone of its settings to a name such as Europe/Berlin.',
    ),
  ),
  FINAL_ANSWER_MISSING: warning(
    tenant(
      'The model gave no final answer when asked for one: the text is the last one it wrote before, if any.',
      'Raise Limit: Iterations, or use a more capable model.',
    ),
  ),
  SESSION_BUSY: callerLater(
    'The session "{session}" was at work for other runs until the time was over.',
    'Repeat the task. Raise Limit: Timeout Seconds where many messages of one session come at once; a tool must not ask an agent in the session of its own run.',
  ),
  SESSION_UNAVAILABLE: caller(
    'The task names a session, and the ledger of this program keeps none.',
    'Give the ledger `sessions`, configure a database, or leave session_id out.',
  ),
  SESSION_UNUSED: warning(
    caller(
      'The session "{session}" was neither read nor written, since a memory is connected.',
      'Disconnect the memory, or leave Session ID empty.',
    ),
  ),
  SESSION_NOT_SUMMARISED: warning(
    upstream(
      'The oldest {turns} turn(s) of the session do not fit any more, and no summary could be made of them: {reason}.',
      'Nothing is lost: the record has them, and the next run tries again. Raise session_window_tokens of the tenant to keep more.',
    ),
  ),
  MESSAGES_REPAIRED: warning(
    caller(
      'Left out of the conversation in config.messages: {what}.',
      'Send texts of user and assistant, and calls of tools with their results. Instructions belong into System Prompt (system_prompt).',
    ),
  ),
  MESSAGES_UNUSED: warning(
    caller(
      'The conversation in config.messages was not used: {instead} has its own.',
      'Leave Input: Messages empty, or disconnect the memory and leave Session ID empty.',
    ),
  ),
  MEMORY_UNAVAILABLE: upstreamLater(
    'The connected memory gave no history: {reason}.',
    'Check the memory, its credential and its session key. The model was not called.',
  ),
  MEMORY_NOT_SAVED: warning(
    upstream(
      'The connected memory did not save this turn: {reason}.',
      'Check the memory and its credential. The answer is returned anyway, but the next turn will not know about it.',
    ),
  ),
});
