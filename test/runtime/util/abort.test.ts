import { startDeadline, untilAborted } from '../../../runtime/util/abort';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it('knows whether it was the time or the parent', () => {
  const parent = new AbortController();
  const timed = startDeadline(100, parent.signal);
  const cancelled = startDeadline(1000, parent.signal);
  expect([timed.cause(), timed.remainingMs()]).toEqual([undefined, 100]);
  jest.advanceTimersByTime(100);
  parent.abort();
  expect([timed.cause(), timed.signal.aborted, timed.remainingMs()]).toEqual(['timeout', true, 0]);
  expect(cancelled.cause()).toBe('cancelled');
  cancelled.dispose();
});

it('is cancelled from the start under a parent that was', () => {
  const deadline = startDeadline(100, AbortSignal.abort());
  expect([deadline.cause(), deadline.signal.aborted]).toEqual(['cancelled', true]);
  deadline.dispose();
});

it('leaves neither timer nor listener behind', () => {
  const parent = new AbortController();
  const added = jest.spyOn(parent.signal, 'addEventListener');
  const removed = jest.spyOn(parent.signal, 'removeEventListener');
  startDeadline(100, parent.signal).dispose();
  expect(jest.getTimerCount()).toBe(0);
  expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
});

it('waits for work until the signal aborts, and no longer', async () => {
  const controller = new AbortController();
  await expect(untilAborted(Promise.resolve(5), controller.signal)).resolves.toBe(5);
  await expect(untilAborted(Promise.reject(new Error('own')), controller.signal)).rejects.toThrow('own');
  const never = untilAborted(new Promise(() => undefined), controller.signal);
  controller.abort(new Error('stop'));
  await expect(never).rejects.toThrow('stop');
  await expect(untilAborted(new Promise(() => undefined), controller.signal)).rejects.toThrow('stop');
});

it('work that fails after the abort bothers nobody', async () => {
  const controller = new AbortController();
  const { promise: work, reject: fail } = Promise.withResolvers<unknown>();
  const waiting = untilAborted(work, controller.signal);
  controller.abort(new Error('stop'));
  await expect(waiting).rejects.toThrow('stop');
  fail(new Error('late'));
  await expect(work).rejects.toThrow('late');
});
