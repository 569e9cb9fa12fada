import { caller, callerLater, family, internal, ofAttempt, ofTenant, upstreamLater, warning } from '../code-row';

/** Who runs a task. */
export const LEDGER_CODES = family('Who runs a task', {
  TASK_CONFLICT: caller(
    'Task "{taskId}" was already used for another request.',
    'Give each request its own task_id; repeat an id only with the same request.',
  ),
  TASK_RUNNING: ofAttempt(
    callerLater('Task "{taskId}" is still running elsewhere.', 'Wait and ask again; the stored result will come back.'),
  ),
  RUN_TAKEN_OVER: ofAttempt(
    internal('Another attempt took over task "{taskId}".', 'Nothing to do: the other attempt answers.'),
  ),
  RUN_UNKNOWN: internal(
    'The ledger does not know run "{runId}".',
    'It was forgotten after 30 days, or the database was restored from a time before it: book its usage by hand.',
  ),
  TENANT_RATE_LIMITED: ofTenant(
    callerLater(
      'The tenant may begin {runs} runs a minute, and they are used up; there is room again in {seconds} seconds.',
      'Try again then. Tasks of a queue wait by themselves. settings.runs_per_minute of the tenant is the limit.',
    ),
  ),
  APPROVAL_UNKNOWN: caller(
    'No run "{runId}" of this tenant waits for an approval.',
    'Give the run_id of the result whose status was awaiting_input; each can be decided on once.',
  ),
  STORED_UNREADABLE: internal(
    'What is stored of this run has version {version}, and this one reads {known}.',
    'Let the version that wrote it finish the run, or give the request again under a new task_id.',
  ),
  LEDGER_WRITE_DELAYED: warning(
    upstreamLater(
      'The usage of this run will be written to the ledger later: {reason}. Not written yet: {unwritten}.',
      'Restore the database. What is kept in Redis is written then, by this process or another one.',
    ),
  ),
  LEDGER_WRITE_FAILED: warning(
    upstreamLater(
      'The usage of this run could not be written to the ledger: {reason}. Not written: {unwritten}.',
      'Restore the database, then book the usage that the message names by hand.',
    ),
  ),
});
