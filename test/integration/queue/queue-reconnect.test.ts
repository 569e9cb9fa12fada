import { startRedis, type TestRedis } from '../../support/servers/redis';
import { startTcpProxy, type TcpProxy } from '../../support/servers/tcp-proxy';
import { untilTrue } from '../../support/values/until';
import { aTask, type TestQueue, testQueue } from '../../support/worlds/queue';

let redis: TestRedis;
let proxy: TcpProxy;
let queue: TestQueue;
beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(async () => {
  proxy = await startTcpProxy(redis.url);
  queue = testQueue(redis, { redis: { url: proxy.url } });
});
afterEach(async () => {
  await queue.close();
  await proxy.close();
});
afterAll(() => redis.close());

it('takes tasks although the connection that waits for them was lost in its handshake', async () => {
  const handled: string[] = [];
  const lost = proxy.breakAt('setname');
  await queue.consume(({ task }) => {
    handled.push(task.task_id);
    return Promise.resolve();
  });
  await lost;
  await proxy.refused();
  proxy.up();
  await queue.push(aTask(1));
  await untilTrue(() => Promise.resolve(handled.length === 1));
});
