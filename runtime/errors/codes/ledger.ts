import {
  caller,
  callerLater,
  family,
  internal,
  ofAttempt,
  ofTenant,
  tenant,
  upstreamLater,
  warning,
} from '../code-row';

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
    internal('Another attempt took over task "{taskId}".', 'Nothing to do: the other attempt will answer.'),
  ),
  RUN_UNKNOWN: internal(
    'The ledger does not know run "{runId}".',
    'It was deleted after 30 days, or the database was restored from an earlier backup: book its usage by hand.',
  ),
  TENANT_RATE_LIMITED: ofTenant(
    callerLater(
      'The tenant may start {runs} runs a minute and has used them up; the next can start in {seconds} seconds.',
      'Try again then; queued tasks wait by themselves. The limit is settings.runs_per_minute of the tenant.',
    ),
  ),
  APPROVAL_UNKNOWN: caller(
    'No run "{runId}" of this tenant waits for an approval.',
    'Give the run_id of the result whose status was awaiting_input; each can be decided once.',
  ),
  APPROVAL_INCOMPLETE: caller(
    'Run "{runId}" cannot continue here: it started with {missing}.',
    'Send the approval to the node that asked, in its option Tools: Approval, or to a runtime with the same configuration. Nothing was done or spent.',
  ),
  APPROVAL_CALL_BLOCKED: tenant(
    'The run waits within a call of "{tool}", which cannot be continued: {reason}.',
    'Undo the change, such as a new rule or an inactive agent, and send the decision again; nothing was called. Or begin a new task.',
  ),
  APPROVAL_CONTRADICTED: caller(
    'The pending call of run "{runId}" was already {decided} by {by} at {at}.',
    'The first decision is final. Repeat it to get the result, or send a new task.',
  ),
  STORED_UNREADABLE: internal(
    'The stored state of this run has version {version}; this build reads version {known}.',
    'Let the version that wrote it finish the run, or send the request again under a new task_id.',
  ),
  LEDGER_WRITE_DELAYED: warning(
    upstreamLater(
      'The usage of this run will be written to the ledger later: {reason}. Not written yet: {unwritten}.',
      'Restore the database: what is kept in Redis is then written by this process or another one.',
    ),
  ),
  LEDGER_WRITE_FAILED: warning(
    upstreamLater(
      'The usage of this run could not be written to the ledger: {reason}. Not written: {unwritten}.',
      'Mend the database or the table that the message names. What `usage unknown` lists with a cost counts towards limits already; book by hand what is missing on the bill.',
    ),
  ),
});
