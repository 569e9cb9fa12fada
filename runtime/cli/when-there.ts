import pRetry from 'p-retry';

import { isRuntimeError, type RuntimeError } from '../errors/runtime-error';
import { untilAborted } from '../util/abort';

const EVERY_MS = 1000;

interface Patience {
  readonly waitMs: number;
  /** Stops the wait, which then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Called once, when the wait begins. */
  readonly onAway: (error: RuntimeError) => void;
}

/**
 * Runs `work`, and retries it every second for up to `waitMs` while a server cannot be reached, for example during its restart.
 * Rejects with the last failure.
 */
export function whenThere<T>(work: () => Promise<T>, { waitMs, signal, onAway }: Patience): Promise<T> {
  let isTold = waitMs === 0;
  // A server that accepts a connection and never answers must not delay an abort.
  const done = pRetry(work, {
    ...{ retries: Infinity, maxRetryTime: waitMs, minTimeout: EVERY_MS, factor: 1, signal },
    shouldRetry: ({ error }) => isAway(error),
    onFailedAttempt: ({ error }) => {
      if (isTold || !isAway(error)) return;
      isTold = true;
      onAway(error);
    },
  });
  done.catch(() => undefined);
  return untilAborted(done, signal);
}

function isAway(error: unknown): error is RuntimeError {
  return isRuntimeError(error) && error.scope === 'installation' && error.retryable;
}
