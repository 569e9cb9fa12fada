import type { ConsumerSession } from '../../../runtime/queue/consumer-session';
import { type Stall, watchConsumer } from '../../../runtime/queue/watch-consumer';

/** What BullMQ's worker waits at most before it looks for tasks again. */
const DRAIN_DELAY_MS = 5000;
const OVERDUE_MS = DRAIN_DELAY_MS + 5000;
const STEP_MS = 100;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A consumer with room for tasks, and a watch over it. */
function world(onRenew: () => void = () => undefined) {
  const state = { fetched: 0, queued: 0, status: 'ready' };
  const overdueAt: number[] = [];
  let now = 0;
  const session = {
    clients: { commands: state, blocking: state },
    running: () => 0,
    fetched: () => state.fetched,
    asked: () => 0,
  } as unknown as ConsumerSession;
  const watch = watchConsumer({
    session: () => session,
    concurrency: 1,
    readTakeable: () => Promise.resolve({ listed: 0, queued: state.queued, paused: false }),
    onStalled: ({ isOverdue }: Stall) => {
      if (isOverdue) {
        overdueAt.push(now);
        watch.onRenewed();
        onRenew();
      }
      return Promise.resolve();
    },
  });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      now += STEP_MS;
      await jest.advanceTimersByTimeAsync(STEP_MS);
    }
  };
  return { state, overdueAt, watch, pass };
}

it.each([0, 100, 900, 1500, 1900])(
  'a consumer that fetches nothing is made anew ten to eleven seconds after a task came, %i ms after the start',
  async (startMs) => {
    const { state, overdueAt, watch, pass } = world();
    await pass(startMs);
    state.queued = 1;
    await pass(OVERDUE_MS + 1000);
    watch.stop();
    expect(overdueAt).toHaveLength(1);
    expect((overdueAt[0] ?? 0) - startMs).toBeGreaterThanOrEqual(OVERDUE_MS);
  },
);

it('one that fetches as late as it may is left alone', async () => {
  const { state, overdueAt, watch, pass } = world();
  state.queued = 1;
  for (let no = 0; no < 10; no++) {
    await pass(DRAIN_DELAY_MS);
    state.fetched++;
  }
  expect([watch.isStalled(), overdueAt]).toEqual([false, []]);
  watch.stop();
});

it('new connections have as long, and count as stalled until something is fetched', async () => {
  const stalled: boolean[] = [];
  const { state, overdueAt, watch, pass } = world(() => stalled.push(watch.isStalled()));
  state.queued = 1;
  await pass(3 * OVERDUE_MS + 3000);
  expect(overdueAt.map((at, index) => at - (overdueAt[index - 1] ?? 0))).toEqual([11_000, 11_000, 11_000]);
  expect(stalled).toEqual([true, true, true]);
  state.fetched++;
  await pass(1000);
  expect(watch.isStalled()).toBe(false);
  watch.stop();
});
