import { setImmediate } from 'node:timers/promises';

import { monotonicMs } from './clock';

/** So long one piece of work may hold the event loop. */
const TURN_MS = 10;

/** For work in many small pieces: a function to be awaited between them, which lets others have their turn when it is time. */
export function createTurns(): () => Promise<void> | undefined {
  let since = monotonicMs();
  return () => {
    if (monotonicMs() - since < TURN_MS) return undefined;
    return setImmediate().then(() => {
      since = monotonicMs();
    });
  };
}
