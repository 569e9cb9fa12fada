import { once } from 'node:events';

import { openWaitingClient } from '../../../runtime/storage/redis/waiting-client';
import { startRedis, type TestRedis } from '../../support/servers/redis';

let redis: TestRedis;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

it('leaves no timer behind that would keep a process, though a command was under way', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const client = await openWaitingClient({ url: redis.url, rejectUnauthorized: true }, {});
  const waiting = client.blmove('from', 'to', 'RIGHT', 'LEFT', 10).catch(() => 'ended');
  const ended = once(client, 'end');
  client.disconnect();
  await ended;
  expect(await waiting).toBe('ended');
  expect(timers()).toBeLessThanOrEqual(before);
});
