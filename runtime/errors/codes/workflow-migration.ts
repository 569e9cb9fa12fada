import { caller, callerLater, family, upstream, upstreamLater } from '../code-row';

/** Migrated workflows. */
export const WORKFLOW_MIGRATION_CODES = family('Migrated workflows', {
  WORKFLOW_INVALID: caller(
    'This is not a workflow that can be read: {problem}.',
    'Export the workflow from n8n again, with Download in its menu, and give that file.',
  ),
  WORKFLOW_UNREADABLE: caller(
    'The workflow "{file}" cannot be read: {reason}.',
    'Give a workflow that was exported from n8n as JSON, or a folder that holds some.',
  ),
  OUTPUT_EXISTS: caller(
    'File "{file}" is there already, with other contents.',
    'Choose another place, or add --overwrite.',
  ),
  OUTPUT_FAILED: caller(
    'File "{file}" cannot be written: {reason}.',
    'Correct what the message names, then run it again.',
  ),
  REPORT_INVALID: caller(
    'File "{file}" is no report of migrate-workflow: {reason}.',
    'Give the JSON file that --report wrote.',
  ),
  UNDO_REFUSED: caller(
    'File "{file}" was changed after it was migrated.',
    'Keep the changes elsewhere, then add --overwrite to have the original back.',
  ),
  MIGRATION_ROWS_CLASH: caller(
    'The workflows "{one}" and "{other}" both need the row {row}, with different values.',
    'Rename the agent or the tool in one of them, since rows are named after nodes.',
  ),
  MIGRATION_ROWS_REFUSED: caller(
    'The rows do not fit the database: {reason}. Nothing is written.',
    'Correct --tier-map, or rename the tool in the workflow, then run it again.',
  ),
  MIGRATION_STOPPED: callerLater(
    'Stopped by a signal: {done} of {total} files are written.',
    'Run the same command again: what is written stays as it is.',
  ),
  N8N_UNAUTHORIZED: caller(
    'The n8n at {url} refuses the API key (HTTP {status}).',
    'Make a key in its Settings, n8n API, with the scopes workflow:list, workflow:read and workflow:create.',
  ),
  N8N_WORKFLOW_NOT_FOUND: caller(
    'The n8n at {url} has no workflow "{id}" that the API key may read.',
    'Take the id from the address of the workflow in the editor.',
  ),
  N8N_UNAVAILABLE: upstreamLater(
    'The n8n at {url} cannot be reached or failed: {reason}.',
    'Check the address and that n8n runs, then run it again: no copy is made twice.',
  ),
  N8N_REFUSED: upstream(
    'The n8n at {url} refused the request: {reason}.',
    'Check that the address is that of n8n 2.41 or later, with its public API switched on.',
  ),
});
