import { scheduleReconnection } from '../../../runtime/mcp/sdk/connect-transport';

afterEach(() => jest.useRealTimers());

it.each([
  [0, 250],
  [500, 500],
  [3000, 3000],
])('a server that asks for a new stream after %i ms gets one after %i', (asked, waited) => {
  jest.useFakeTimers();
  const reconnect = jest.fn();
  scheduleReconnection(reconnect, asked, 0);
  jest.advanceTimersByTime(waited - 1);
  expect(reconnect).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(reconnect).toHaveBeenCalledTimes(1);
});
