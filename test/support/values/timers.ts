type Timer =
  NonNullable<Parameters<typeof jest.useFakeTimers>[0]> extends infer Config
    ? Config extends { doNotFake?: readonly (infer Name)[] }
      ? Name
      : never
    : never;

const TIMERS: readonly Timer[] = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
];

/** For `doNotFake`: sockets go on working as long as only what a test moves by hand is faked. */
export function everyTimerBut(...faked: readonly Timer[]): Timer[] {
  return TIMERS.filter((timer) => !faked.includes(timer));
}
