import type { IDataObject } from 'n8n-workflow';

import type { RuntimeError } from '../../runtime/host';
import type { Item } from './item';

/** The trigger brings the task again, however it acknowledges, and mostly without counting that as a try. */
export function comesAgain({ code, scope }: RuntimeError): boolean {
  // The result is written; only the webhook is left.
  return scope !== 'task' || code === 'CALLBACK_FAILED';
}

/**
 * Whether a failure is the answer to the task. It is not where the task will be tried again, by the trigger that it came
 * from or by Retry on Fail; who tries last then answers.
 */
export function isFinalFailure({ context, library, index }: Item, error: unknown): boolean {
  // n8n's own errors, such as a failing expression, are not mended by trying again.
  if (!library.isRuntimeError(error)) return true;
  // Another attempt answers, or another task under the same id.
  if (error.scope === 'attempt' || error.code === 'TASK_CONFLICT') return false;
  const delivery = context.getInputData()[index]?.json.delivery as IDataObject | undefined;
  if (isBroughtAgain(delivery, error, context.continueOnFail())) return false;
  return context.getNode().retryOnFail !== true || !error.retryable;
}

/**
 * Says in the error of an execution that the queue brought the task again for its webhook, or will do so: who looks at it
 * sees an answered task being run over and over, and not why.
 */
export function tellOfRetries({ context, index }: Item, error: unknown): void {
  const { code, message } = error as Partial<RuntimeError>;
  const delivery = context.getInputData()[index]?.json.delivery as IDataObject | undefined;
  // An execution that goes on despite the failure has done its task, as far as the trigger can see.
  if (context.continueOnFail() || delivery === undefined || message === undefined) return;
  if (delivery.acknowledge === 'immediately') return;
  const [attempt, most] = [Number(delivery.attempt), Number(delivery.max_attempts)];
  const tries = `${attempt} of ${most}`;
  const isLast = attempt >= most;
  if (code === 'CALLBACK_FAILED') {
    (error as Error).message = `${message} ${isLast ? 'That was the last try' : 'Trying again'} (${tries}).`;
  } else if (delivery.last_error === 'CALLBACK_FAILED') {
    (error as Error).message =
      `${message} The task was answered so before; its webhook cannot be reached, and this was try ${tries}.`;
  }
}

/** An execution that goes on despite the failure has no error that the trigger could see; a cancelled one has ended. */
function isBroughtAgain(
  { acknowledge = 'immediately', attempt, max_attempts: maxAttempts }: IDataObject = {},
  error: RuntimeError,
  goesOn: boolean,
): boolean {
  if (acknowledge === 'immediately') return false;
  if (error.code === 'RUN_CANCELLED') return true;
  if (goesOn) return false;
  if (comesAgain(error)) return true;
  return acknowledge === 'executionSucceeds' && error.retryable && Number(attempt) < Number(maxAttempts);
}
