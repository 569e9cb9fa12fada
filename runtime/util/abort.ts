/** Why a deadline's signal was aborted. */
type AbortCause = 'cancelled' | 'timeout';

export interface Deadline {
  readonly signal: AbortSignal;
  /** Undefined as long as the signal is not aborted. */
  readonly cause: () => AbortCause | undefined;
  /** Milliseconds left; 0 when over. */
  readonly remainingMs: () => number;
  /** Restarts the time-out, until `maxMs` since the start are over. */
  readonly extend: (maxMs: number) => void;
  /** Removes timer and listener. Must be called, or the parent signal keeps the listener. */
  readonly dispose: () => void;
}

/** A signal that aborts when `parent` does or after `timeoutMs`, and that knows which it was. */
export function startDeadline(timeoutMs: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  const startedAt = performance.now();
  let endsAt = startedAt + timeoutMs;
  let cause: AbortCause | undefined;
  const abort = (why: AbortCause): void => {
    if (cause !== undefined) return;
    cause = why;
    controller.abort(new DOMException(why, why === 'timeout' ? 'TimeoutError' : 'AbortError'));
  };
  const onParent = (): void => abort('cancelled');
  const onTime = (): void => abort('timeout');
  let timer = setTimeout(onTime, timeoutMs);
  if (parent?.aborted === true) onParent();
  else parent?.addEventListener('abort', onParent, { once: true });
  return {
    signal: controller.signal,
    cause: () => cause,
    remainingMs: () => Math.max(0, endsAt - performance.now()),
    extend: (maxMs) => {
      if (cause !== undefined) return;
      endsAt = Math.min(performance.now() + timeoutMs, startedAt + maxMs);
      clearTimeout(timer);
      timer = setTimeout(onTime, Math.max(0, endsAt - performance.now()));
    },
    dispose: () => {
      clearTimeout(timer);
      parent?.removeEventListener('abort', onParent);
    },
  };
}

/** Settles with `work`, or rejects with the signal's reason when it is aborted first, whatever `work` does about that. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Resolves with the result of `work`, or with undefined when it rejects or takes longer than `ms`. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), ms)));
  try {
    return await Promise.race([work.catch(() => undefined), over]);
  } finally {
    clearTimeout(timer);
  }
}
