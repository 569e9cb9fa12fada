import type { IDataObject } from 'n8n-workflow';

import type { RuntimeError } from '../../runtime';
import type { Item } from './item';

type ErrorCode = RuntimeError['code'];

/** Another attempt of the task answers it, or another task under the same id does. */
const ANSWERED_ELSEWHERE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'TASK_RUNNING',
  'RUN_TAKEN_OVER',
  'TASK_CONFLICT',
]);

/** No fault of the task: the trigger brings it again, however it acknowledges, and mostly without counting that as a try. */
const COMES_AGAIN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'TASK_RUNNING',
  'RUN_TAKEN_OVER',
  'DB_UNREACHABLE',
  'DB_AUTH_FAILED',
  'DB_SCHEMA_MISSING',
  'DB_PERMISSION_DENIED',
  'REDIS_UNAVAILABLE',
  // The result is written; only the webhook is left.
  'CALLBACK_FAILED',
]);

export function comesAgain(code: ErrorCode): boolean {
  return COMES_AGAIN.has(code);
}

/**
 * Whether a failure is the answer to the task. It is not where the task will be tried again, by the trigger that it came
 * from or by Retry on Fail; who tries last then answers.
 */
export function isFinalFailure({ context, door, index }: Item, error: unknown): boolean {
  // n8n's own errors, such as a failing expression, are not mended by trying again.
  if (!door.isRuntimeError(error)) return true;
  if (ANSWERED_ELSEWHERE.has(error.code)) return false;
  const delivery = context.getInputData()[index]?.json.delivery as IDataObject | undefined;
  if (isBroughtAgain(delivery, error, context.continueOnFail())) return false;
  return context.getNode().retryOnFail !== true || !error.retryable;
}

/** An execution that goes on despite the failure has no error that the trigger could see; a cancelled one has ended. */
function isBroughtAgain(
  { acknowledge = 'immediately', attempt, max_attempts: maxAttempts }: IDataObject = {},
  { code, retryable }: RuntimeError,
  goesOn: boolean,
): boolean {
  if (acknowledge === 'immediately') return false;
  if (code === 'RUN_CANCELLED') return true;
  if (goesOn) return false;
  if (comesAgain(code)) return true;
  return acknowledge === 'executionSucceeds' && retryable && Number(attempt) < Number(maxAttempts);
}
