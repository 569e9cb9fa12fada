import { createRedisConnection } from '../../../runtime/storage/redis/connection';
import { createRedisReader } from '../../../runtime/storage/redis/key-reader';
import { freePort, startRedis, type TestRedis } from '../../support/servers/redis';

let redis: TestRedis;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

const open = (url = redis.url) => {
  const connection = createRedisConnection({ url, rejectUnauthorized: true });
  return { ...createRedisReader(connection), close: connection.close };
};

it('reads texts, empty ones too, and null where there is no key', async () => {
  await redis.client.mset('a', 'value ü', 'empty', '');
  const reader = open();
  await expect(Promise.all(['a', 'empty', 'missing'].map(reader.get))).resolves.toEqual(['value ü', '', null]);
  await reader.close();
});

it('reads no more of a value than it gives', async () => {
  await redis.client.set('long', 'ü'.repeat(2_000_000));
  const reader = open();
  expect((await reader.get('long'))?.length).toBe(512 * 1024);
  await reader.close();
});

it('rejects for a key that holds no text', async () => {
  await redis.client.hset('hash', 'a', 1);
  const reader = open();
  await expect(reader.get('hash')).rejects.toThrow('WRONGTYPE');
  await reader.close();
});

it('reads from the database that the URL names', async () => {
  await redis.client.select(1);
  await redis.client.set('in-one', 'x');
  await redis.client.select(0);
  const reader = open(redis.url.replace(/\/0$/, '/1'));
  await expect(reader.get('in-one')).resolves.toBe('x');
  await reader.close();
});

it('says what is wrong with a server that is down, and asks again later', async () => {
  const reader = open(`redis://:CANARY-secret@127.0.0.1:${await freePort()}`);
  for (let time = 1; time <= 2; time++) await expect(reader.get('a')).rejects.toThrow('ECONNREFUSED');
  await reader.close();
});

it('does not show the password that a server refuses', async () => {
  const reader = open(`redis://:CANARY-wrong@127.0.0.1:${redis.port}`);
  const failure: unknown = await reader.get('a').catch((error: unknown) => error);
  expect(String(failure)).toMatch(/NOAUTH|WRONGPASS/);
  expect(String(failure)).not.toContain('CANARY');
  await reader.close();
});

it('closes without ever having connected', async () => {
  await expect(open().close()).resolves.toBeUndefined();
});
