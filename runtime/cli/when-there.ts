import pRetry from 'p-retry';

import { isRuntimeError, type RuntimeError } from '../errors/runtime-error';
import { untilAborted } from '../util/abort';

const EVERY_MS = 1000;

interface Patience {
  readonly waitMs: number;
  /** Ends the waiting: it then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Called once, when the waiting begins. */
  readonly onAway: (error: RuntimeError) => void;
}

/**
 * Does a piece of work; while it fails since a server is away, as one that restarts is, it is tried again each second, for so
 * long. Rejects with the last failure.
 */
export function whenThere<T>(work: () => Promise<T>, { waitMs, signal, onAway }: Patience): Promise<T> {
  let isTold = waitMs === 0;
  // A server that takes a connection and says nothing must not keep an end waiting.
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
