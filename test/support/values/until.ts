const LONGEST_MS = 60_000;

/** Waits for the event loop, turn by turn, until `check` holds. Gives up in the end, so that a failed test ends too. */
export async function until(check: () => boolean): Promise<void> {
  const endsAt = performance.now() + LONGEST_MS;
  while (!check()) {
    if (performance.now() > endsAt) throw new Error(`this never came true: ${check.toString()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Asks again and again until the answer is true. Gives up in the end, so that a failed test ends too. */
export async function untilTrue(check: () => Promise<boolean>, longestMs = LONGEST_MS): Promise<void> {
  const endsAt = performance.now() + longestMs;
  while (!(await check())) {
    if (performance.now() > endsAt) throw new Error(`this never came true: ${check.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
