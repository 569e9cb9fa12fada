import { setImmediate } from 'node:timers/promises';

import { monotonicMs } from './clock';

/** So long all pieces of work together may hold the event loop. */
const TURN_MS = 10;

/** When this turn began, or one long ago: whoever comes then waits for the next, which takes microseconds. */
let startedAt = -Infinity;
let isNextDue = false;

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
  return monotonicMs() - startedAt >= TURN_MS;
}

/** Many may wait for the same turn, and the first of them may use it up. So each wakes up by itself, after the one before it. */
async function nextTurn(): Promise<void> {
  do {
    if (!isNextDue) void beginTurn();
    await setImmediate();
  } while (isOver());
}

async function beginTurn(): Promise<void> {
  isNextDue = true;
  await setImmediate();
  isNextDue = false;
  startedAt = monotonicMs();
}
