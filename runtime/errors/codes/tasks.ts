import { caller, callerLater, family, upstream, upstreamLater, warning } from '../code-row';

/** Tasks and their answers. */
export const TASKS_CODES = family('Tasks and their answers', {
  INPUT_INVALID: caller('The task is not valid: {issues}.', 'Correct the fields that the message names.'),
  TENANT_ID_INVALID: caller(
    'Tenant ID "{tenantId}" is not a UUID.',
    'Give the id of the tenant row, such as 3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f.',
  ),
  CONFIG_KEY_UNKNOWN: warning(
    caller(
      'The config of the task has unknown keys, which were ignored: {keys}.',
      'Remove them, or correct their names; docs/configuration.md lists the known ones.',
    ),
  ),
  CALLBACK_NOT_DELIVERED: warning(
    caller('The callback of the task was not delivered: {reason}.', 'Read the result from this output.'),
  ),
  TASK_TYPE_UNKNOWN: caller(
    'Unknown task_type: {taskType}',
    'Use one of ai_agent, llm_extraction, llm_generation, http_request, webhook_call, or forward the others to a list.',
  ),
  TASK_REQUEST_REFUSED: caller(
    'The address of the task is refused: {reason}.',
    'Use a public address, or add the host to AGENT_CALLBACK_HOSTS.',
  ),
  TASK_REQUEST_FAILED: upstreamLater(
    'The request of the task failed: {reason}.',
    'Check that the server is running; nothing was changed, or the request may be repeated.',
  ),
  TASK_HTTP_ERROR: upstream(
    'The server answered the request of the task with HTTP {status}: {body}',
    'Read the answer, and correct the task if it names it.',
  ),
  TASK_OUTCOME_UNKNOWN: upstream(
    'The request of task "{taskId}" was sent once, and its outcome is unknown.',
    'Check on the server; to send it again, push the task under a new task_id.',
  ),
  MODEL_OUTPUT_INVALID: upstream(
    'The answer of the model cannot be used: {reason}.',
    'The raw text is in the result; say in the prompt what was wrong, or raise max_tokens.',
  ),
  CALLBACK_KEY_FORBIDDEN: caller(
    'The key in callback.{field} must not be written: {reason}.',
    'Use a key such as elo:results:trace-1, or have its prefix allowed in AGENT_CALLBACK_KEY_PREFIXES.',
  ),
  CALLBACK_KEY_UNUSABLE: caller(
    'The key "{key}" cannot be used: {reason}.',
    'Use a separate key for each purpose, and delete what is stored there.',
  ),
  CALLBACK_HOST_FORBIDDEN: caller(
    'The webhook of the callback is refused: {reason}.',
    'Use an allowed host, or add it to AGENT_CALLBACK_HOSTS or settings.callback_hosts of the tenant.',
  ),
  CALLBACK_FAILED: upstreamLater(
    'The result is stored, but the webhook of the callback failed: {reason}.',
    'Check that the receiver is running; another attempt sends only the webhook.',
  ),
  CALLBACK_REFUSED: caller(
    'The result is stored, but the receiver of the webhook refuses it: {reason}.',
    'Correct notify_webhook, or the receiver; it is not sent again. The result stands under callback.result_key.',
  ),
  WEBHOOK_UNSIGNED: warning(
    caller(
      'The webhook of the callback is not signed, since there is neither a webhook secret nor a vault key.',
      'Set AGENT_WEBHOOK_SECRET, so that the receiver can tell who calls.',
    ),
  ),
  RESULT_NOT_READY: callerLater(
    'There is no result under "{key}" after {waitedSeconds} seconds.',
    'Wait longer, or check that a worker is taking tasks off the list.',
  ),
});
