import { caller, family, tenant, toModel, upstream, upstreamLater, warning } from '../code-row';

/** Tools. */
export const TOOLS_CODES = family('Tools', {
  TOOL_NOT_FOUND: toModel(
    tenant(
      'There is no tool named "{tool}". Available tools: {available}.',
      'Call one of the available tools, or answer without it.',
    ),
  ),
  TOOL_INVALID_ARGS: toModel(
    tenant('The arguments of "{tool}" are not valid: {issues}.', 'Correct the arguments and call the tool again.'),
  ),
  TOOL_ARGUMENTS_TRUNCATED: toModel(
    tenant(
      'The reply was cut off inside the arguments of "{tool}"; nothing was executed.',
      'Call the tool again with shorter arguments.',
    ),
  ),
  TOOL_CALL_INCOMPLETE: toModel(
    upstream(
      'The reply with the call of "{tool}" may have been cut off; nothing was executed.',
      'Call the tool again.',
    ),
  ),
  TOOL_CALL_LIMIT: toModel(
    tenant(
      'Only {limit} tool calls are executed in one step; "{tool}" was not.',
      'Call the tool again in the next step.',
    ),
  ),
  TOOL_PLAN_INVALID: toModel(
    tenant('Tool "{tool}" did nothing: {issues}.', 'Correct that and call it again, or do what was asked for.'),
  ),
  TOOL_REVIEW_UNREADABLE: toModel(
    tenant(
      'Your verdict on the step cannot be read.',
      'Call {tool} with verdict SUCCESS, RETRY, REPLAN or ABORT, and nothing else.',
    ),
  ),
  TOOL_RUN_LIMIT: toModel(
    tenant(
      'Tool "{tool}" was not called: this run may make {limit} of these calls.',
      'Continue without more calls of this kind.',
    ),
  ),
  TOOL_TOO_DEEP: toModel(
    tenant(
      'No other run was started: {levels} levels of runs work for one another already.',
      'Continue without asking further.',
    ),
  ),
  TOOL_OUTSIDE_TASK: toModel(
    tenant('No other run was started: the call belongs to no task.', 'Call the tool in a run of an agent.'),
  ),
  TOOL_PERMISSION_DENIED: toModel(
    tenant('Tool "{tool}" was not called: {reason}.', 'Continue without it, or use what the rules allow.'),
  ),
  TOOL_LIMIT_REACHED: toModel(
    tenant(
      'Tool "{tool}" was not called: {reason}.',
      'Do not call it again now: the limit applies across all runs of the tenant.',
    ),
  ),
  TOOL_NOT_AUTHORIZED: toModel(
    upstreamLater('Tool "{tool}" was not called: its permission could not be checked.', 'Try the call again later.'),
  ),
  TOOL_APPROVAL_DENIED: toModel(
    tenant('Tool "{tool}" was not called: a person refused it.', 'Continue without it, and say so.'),
  ),
  TOOL_REPEATED: toModel(
    tenant(
      'Tool "{tool}" was not called again: the same call gave this result {count} times.',
      'Use the result; repeating the call once more ends the run.',
    ),
  ),
  TOOL_TIMEOUT: toModel(
    upstreamLater(
      'Tool "{tool}" did not answer within {timeoutMs} ms. Whether it took effect is unknown.',
      'Do not repeat an action that must not happen twice.',
    ),
  ),
  TOOL_UNREACHABLE: toModel(
    upstreamLater(
      'Tool "{tool}" cannot be reached: {reason}.',
      'Try another way, or say that the tool is not available.',
    ),
  ),
  TOOL_OUTCOME_UNKNOWN: toModel(
    upstream(
      'Tool "{tool}" was called, but the run was interrupted before the answer was recorded. Whether it took effect is unknown.',
      'Do not simply call it again: check first whether it took effect, or say that its outcome is unknown.',
    ),
  ),
  TOOL_CONNECTION_LOST: toModel(
    upstreamLater(
      'The connection was lost while tool "{tool}" was called: {reason}. Whether it took effect is unknown.',
      'Do not repeat an action that must not happen twice.',
    ),
  ),
  TOOL_HTTP_ERROR: toModel(
    upstream(
      'Tool "{tool}" answered HTTP {status}: {body}',
      'Read the answer; correct the arguments if it names them.',
    ),
  ),
  TOOL_BUSY: toModel(
    upstreamLater(
      'Tool "{tool}" limits the rate of calls; try again {when}. It answered: {body}',
      'Wait as long as the message says, or continue without the tool.',
    ),
  ),
  TOOL_FAILED: toModel(
    upstream('Tool "{tool}" failed: {reason}', 'Read the reason; correct the arguments if it names them.'),
  ),
  TOOL_CANCELLED: toModel(caller('Tool "{tool}" was cancelled with the run.', 'Nothing to do: the run was stopped.')),
  TOOL_NOT_CALLABLE: caller(
    'Tool "{tool}" cannot be called: {reason}',
    'See "universal-ai-agent tool list" for what the tenant has.',
  ),
  TOOL_ARGUMENT_RESERVED: warning(
    tenant(
      'Tool "{tool}" is not offered: n8n passes its AI Agent no argument of the name "tool".',
      'Rename the argument, or use an AI Agent of version 2.',
    ),
  ),
  TOOL_UNREVIEWED: warning(
    tenant(
      'Tool "{tool}" is not offered: its rules ask for a person\'s approval, and nobody is asked here.',
      'Give the task to the Universal AI Agent node. Where the agent of n8n calls the tool itself, put a Human Review node between Tenant Tools and it.',
    ),
  ),
  TOOL_SKIPPED: warning(
    tenant(
      'Tool "{tool}" is not offered: {reason}.',
      "Provide the credential or key that the reason names, or correct the tool's row or the tenant's custom_config.",
    ),
  ),
  TOOL_SOURCE_FAILED: upstreamLater(
    'The source "{source}" of tools failed: {reason}.',
    'Correct the source in plugins.toolSources, and repeat the task. No model was called since.',
  ),
  CONNECTED_TOOL_UNUSABLE: warning(
    caller(
      'The connected tool "{tool}" cannot be used: {reason}.',
      'Connect another tool. If a person must approve its calls, connect the tool itself and set its decision to ask in the option Tools: Permissions.',
    ),
  ),
  SKILL_NOT_FOUND: toModel(
    caller('There is no skill "{skill}".', 'Call it with the name of one of these skills: {available}.'),
  ),
  SKILL_FILE_UNREADABLE: toModel(
    caller('The file "{path}" of the skill "{skill}" cannot be read: {reason}.', 'Continue without it.'),
  ),
  SKILL_UNREADABLE: toModel(
    tenant(
      'The skill "{skill}" cannot be read: {reason}.',
      'Continue without it. For the operator: Skill: Validate, or `skill validate`, reports its issues.',
    ),
  ),
  TOOL_NOT_LOADED: warning(
    caller(
      'Tool "{tool}" is in the allow-list, but the tenant has no such tool for this tier.',
      'Correct the name, or enable the tool for the tenant.',
    ),
  ),
  TOOL_OUTPUT_NOT_JSON: warning(
    upstream('The tool answered with text that is not JSON.', 'The text is passed on unchanged.'),
  ),
  WORKFLOW_ANSWERS_EARLY: warning(
    tenant(
      'The workflow was started, but its result does not come back: its Webhook node responds immediately.',
      'Set Respond of its Webhook node to "When Last Node Finishes" or to "Using Respond to Webhook Node".',
    ),
  ),
  TOOL_OUTPUT_TRUNCATED: warning(
    upstream("The tool's answer was cut at {limitBytes} bytes.", 'Ask for less, for example for fewer rows.'),
  ),
});
