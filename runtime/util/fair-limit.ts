/** Says for whom a piece of work is done. */
export interface Share {
  /** Those who wait are served in turn by this. */
  readonly key: string;
  /** Work that waits is not begun once this is aborted. */
  readonly signal?: AbortSignal;
}

/** The work was not done: nobody wants it any more, or there was no place to wait for it. */
export const NOT_DONE = Symbol('not done');

type Limited = <T>(share: Share, work: () => Promise<T>) => Promise<T | typeof NOT_DONE>;

/**
 * So much work at a time, so much more may wait. However much one key brings, every other has its turn after one piece of
 * it; and where no place is left to wait in, the key with the most gives up its last one.
 */
export function createFairLimit(max: { readonly running: number; readonly waiting: number }): Limited {
  const line = createLine(max.waiting);
  let running = 0;
  const startNext = (): void => {
    if (running >= max.running) return;
    const next = line.next();
    if (next === undefined) return;
    running++;
    next(true);
  };
  return async (share, work) => {
    if (share.signal?.aborted === true) return NOT_DONE;
    const turn = line.wait(share, running < max.running);
    startNext();
    if (!(await turn)) return NOT_DONE;
    try {
      return await work();
    } finally {
      running--;
      startNext();
    }
  };
}

/** Called with whether it is the caller's turn. */
type Call = (isTurn: boolean) => void;

interface Line {
  /** Resolves when it is called; to false where it has to leave. `isFree`: nobody has to wait now. */
  readonly wait: (share: Share, isFree: boolean) => Promise<boolean>;
  /** Takes out who is next. */
  readonly next: () => Call | undefined;
}

function createLine(places: number): Line {
  /** Those that wait, in the order of their turns; no list is empty. */
  const waiting = new Map<string, readonly Call[]>();
  const leave = (key: string, call: Call): void => {
    const left = (waiting.get(key) ?? []).filter((other) => other !== call);
    if (left.length > 0) waiting.set(key, left);
    else waiting.delete(key);
  };
  return {
    wait: async ({ key, signal }, isFree) => {
      if (!isFree && !makePlace(waiting, key, places)) return false;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const call: Call = (isTurn) => {
        leave(key, call);
        resolve(isTurn);
      };
      const onAbort = (): void => call(false);
      signal?.addEventListener('abort', onAbort);
      waiting.set(key, [...(waiting.get(key) ?? []), call]);
      return promise.finally(() => signal?.removeEventListener('abort', onAbort));
    },
    next: () => {
      const [first] = waiting;
      if (first === undefined) return undefined;
      const [key, calls] = first;
      waiting.delete(key);
      // Behind all others.
      waiting.set(key, calls);
      return calls[0];
    },
  };
}

/** False where nobody has more that waits than this key would have. */
function makePlace(waiting: ReadonlyMap<string, readonly Call[]>, key: string, places: number): boolean {
  const all = [...waiting.values()];
  if (all.reduce((sum, calls) => sum + calls.length, 0) < places) return true;
  const longest = all.reduce((most, calls) => (calls.length > most.length ? calls : most), []);
  if (longest.length <= (waiting.get(key)?.length ?? 0) + 1) return false;
  longest.at(-1)?.(false);
  return true;
}
