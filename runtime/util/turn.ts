import { setImmediate } from 'node:timers/promises';

import { monotonicMs } from './clock';

/** So long all pieces of work together may hold the event loop. */
const TURN_MS = 10;

/** When the first piece of this turn of the event loop began; undefined before it. */
let startedAt: number | undefined;

/**
 * Lets others have their turn, for work in many pieces, to be awaited before each of them, when the work of everybody has held
 * the event loop for long enough. Undefined while there is time, which costs nothing.
 *
 * @example
 * for (const row of rows) {
 *   await turn();
 *   build(row);
 * }
 */
export function turn(): Promise<void> | undefined {
  return isOver() ? nextTurn() : undefined;
}

function isOver(): boolean {
  if (startedAt !== undefined) return monotonicMs() - startedAt >= TURN_MS;
  startedAt = monotonicMs();
  void setImmediate().then(() => {
    startedAt = undefined;
  });
  return false;
}

/** Many may wait for the same turn, and the first of them may use it up. */
async function nextTurn(): Promise<void> {
  do await setImmediate();
  while (isOver());
}
