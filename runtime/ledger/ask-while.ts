import { sleep } from '../util/clock';

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1000;

/** Asks again as long as the answer is one to wait for; gives the last answer when the signal aborts. */
export async function askWhile<T>(
  ask: () => Promise<T>,
  isToWaitFor: (answer: T) => boolean,
  signal: AbortSignal,
): Promise<T> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    const answer = await ask();
    if (!isToWaitFor(answer)) return answer;
    const isOver = await sleep(waitMs, signal).then(
      () => false,
      () => true,
    );
    if (isOver) return answer;
  }
}
