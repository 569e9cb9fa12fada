import type { Redis } from 'ioredis';

import { createRedisConnection } from '../../../runtime/storage/redis/connection';
import { openWaitingClient } from '../../../runtime/storage/redis/waiting-client';
import { startRedis, type TestRedis } from '../../support/servers/redis';
import { withCode } from '../../support/setup/matchers';
import { untilTrue } from '../../support/values/until';
import { runCli } from '../../support/worlds/cli';

const NONE = /it gives no database 1 \(ERR DB index is out of range\)/;
const ofDatabase = ({ url }: TestRedis, db: number): string => Object.assign(new URL(url), { pathname: `/${db}` }).href;
const config = (redis: TestRedis, db: number) => ({ url: ofDatabase(redis, db), rejectUnauthorized: true });

describe('a Redis with one database', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis({ settings: ['--databases', '1'] });
  });
  afterAll(() => redis.close());

  it('refuses the next one, and takes no command for it', async () => {
    const connection = createRedisConnection(config(redis, 1));
    for (let time = 0; time < 2; time++) await expect(connection.use((it) => it.set('key', 1))).rejects.toThrow(NONE);
    await connection.close();
    expect(await redis.client.dbsize()).toBe(0);
  });

  it('is no place for a consumer of another database', async () => {
    const message = expect.stringMatching(NONE) as string;
    await expect(openWaitingClient(config(redis, 1), {})).rejects.toThrow(withCode('REDIS_UNAVAILABLE', { message }));
  });

  it('shows no figures for another database', async () => {
    const { exitCode, stderr } = await runCli(['queue', 'status'], { env: { REDIS_URL: ofDatabase(redis, 1) } });
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(NONE)]);
  });
});

it('a client whose database is refused after a reconnection waits, as its copies do, and takes nothing to another', async () => {
  const redis = await startRedis();
  const client = await openWaitingClient(config(redis, 1), {});
  const copy = client.duplicate();
  await copy.ping();
  await redis.client.call('ACL', 'SETUSER', 'default', '-select');
  const refused = (): Promise<number> => redis.client.acl('LOG').then((log) => (log as unknown[]).length);
  const isClosed = Promise.all([client, copy].map((one) => new Promise((resolve) => one.once('close', resolve))));
  await redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await isClosed;
  const writes = [client, copy].map((one: Redis, index) => one.set(`key ${index}`, 1));
  await untilTrue(async () => (await refused()) > 0);
  await redis.client.call('ACL', 'SETUSER', 'default', '+select');
  expect(await Promise.all(writes)).toEqual(['OK', 'OK']);
  expect(await redis.client.dbsize()).toBe(0);
  await redis.client.select(1);
  expect(await redis.client.dbsize()).toBe(2);
  for (const one of [client, copy]) one.disconnect();
  await redis.close();
});
