import type { IDataObject, INodeExecutionData, IRun } from 'n8n-workflow';

import type { QueueDelivery, RuntimeError } from '../../runtime/worker';
import type { TriggerParts } from './settings';

/** What the item of a task says of its delivery, so that the node knows whether a failure is final. */
interface DeliveryOfItem {
  /** Counts from 1. */
  readonly attempt: number;
  readonly max_attempts: number;
  readonly acknowledge: string;
  /** The code that the try before this one failed with. */
  readonly last_error?: string;
}

/**
 * Starts an execution for one task and waits for its end. Resolves when the task is done with; rejects with a RuntimeError
 * when the execution failed, or with the reason of the delivery's signal.
 */
export async function execute(parts: TriggerParts, delivery: QueueDelivery): Promise<void> {
  const { context, settings } = parts;
  const output = [[toItem(parts, delivery)]];
  if (settings.acknowledge === 'immediately') {
    context.emit(output);
    return;
  }
  const done = context.helpers.createDeferredPromise<IRun>();
  context.emit(output, undefined, done);
  const run = await untilEnded(parts, done.promise, delivery.signal);
  const failure = failureOf(parts, run);
  if (failure !== undefined) throw failure;
}

/** The task as it came, and which try this is. */
function toItem({ settings }: TriggerParts, given: QueueDelivery): INodeExecutionData {
  const { task, attempt, maxAttempts, lastError } = given;
  const delivery: DeliveryOfItem = {
    attempt,
    max_attempts: maxAttempts,
    acknowledge: settings.acknowledge,
    ...(lastError === undefined ? {} : { last_error: lastError }),
  };
  return { json: { ...(task as unknown as IDataObject), delivery: { ...delivery } } };
}

/** n8n rejects for executions that were cancelled, could not be started, or died with their worker. */
function untilEnded({ library, settings }: TriggerParts, done: Promise<IRun>, stop: AbortSignal): Promise<IRun> {
  const lost = (reason: string): RuntimeError => new library.RuntimeError('EXECUTION_LOST', { reason });
  const timeout = AbortSignal.timeout(settings.timeoutMs);
  return new Promise((resolve, reject) => {
    const onStop = (): void => reject(stop.reason as Error);
    const onTimeout = (): void => reject(lost(`it has not ended within ${settings.timeoutMs / 60_000} minutes`));
    stop.addEventListener('abort', onStop);
    timeout.addEventListener('abort', onTimeout);
    if (stop.aborted) onStop();
    done
      .then(resolve, (error: unknown) => reject(lost((error as Error).message)))
      .finally(() => {
        stop.removeEventListener('abort', onStop);
        timeout.removeEventListener('abort', onTimeout);
      });
  });
}

/** `waiting` is no failure: n8n keeps such an execution in its database and goes on with it by itself. */
function failureOf({ library }: TriggerParts, { status, data }: IRun): RuntimeError | undefined {
  const { error } = data.resultData;
  if (status === 'canceled' || status === 'crashed') {
    return new library.RuntimeError('EXECUTION_LOST', { reason: `it was ${status}` });
  }
  if (status !== 'error' && error === undefined) return undefined;
  const reason = (error?.message ?? status).replace(/\.$/, '');
  return originalError(library, error) ?? new library.RuntimeError('EXECUTION_FAILED', { reason });
}

/** The error of our own node is known by the code at the end of its description, and then says whether to try again. */
function originalError(
  library: TriggerParts['library'],
  error: IRun['data']['resultData']['error'],
): RuntimeError | undefined {
  const code = /\(([A-Z][A-Z_]+)\)$/.exec(error?.description ?? '')?.[1];
  if (code === undefined || !Object.hasOwn(library.ERROR_CODES, code)) return undefined;
  const original = new library.RuntimeError(code as RuntimeError['code']);
  // Its sentence with the facts put in.
  original.message = error?.message ?? original.message;
  return original;
}
