import { createFairLimit, NOT_DONE } from '../../../runtime/util/fair-limit';

/** Work that ends when it is told to; what began is put down by name. */
function world(limits: { readonly running: number; readonly waiting: number }) {
  const limit = createFairLimit(limits);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const add = (key: string, name: string, signal?: AbortSignal) =>
    limit({ key, signal }, () => {
      begun.push(name);
      const { promise, resolve } = Promise.withResolvers<string>();
      ends.set(name, () => resolve(name));
      return promise;
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { add, begun, end };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('serves the keys in turn, and each in its own order', async () => {
  const { add, begun, end } = world({ running: 1, waiting: 9 });
  const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => add(name.charAt(0), name));
  await settled();
  for (let index = 0; index < all.length; index++) await end(begun[index] ?? '');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
});

it('takes out what waits and is not wanted any more, and leaves what runs', async () => {
  const { add, begun, end } = world({ running: 1, waiting: 9 });
  const ended = new AbortController();
  const [first, second, third] = [add('a', 'a1', ended.signal), add('a', 'a2', ended.signal), add('a', 'a3')];
  await settled();
  ended.abort();
  expect(await second).toBe(NOT_DONE);
  expect(await add('b', 'b1', ended.signal)).toBe(NOT_DONE);
  await end('a1');
  expect(await first).toBe('a1');
  await end('a3');
  expect(await third).toBe('a3');
  expect(begun).toEqual(['a1', 'a3']);
});

it('where no place is left, the key with the most that waits gives up its last, and may bring no more', async () => {
  const { add, begun, end } = world({ running: 1, waiting: 3 });
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2'].map((name) => add(name.charAt(0), name));
  expect(await Promise.all([all[4], all[3], all[6]])).toEqual([NOT_DONE, NOT_DONE, NOT_DONE]);
  for (const name of ['a1', 'a2', 'b1', 'a3']) await end(name);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
});

it('goes on after work that failed', async () => {
  const limit = createFairLimit({ running: 1, waiting: 1 });
  const failing = limit({ key: 'a' }, () => Promise.reject(new Error('no')));
  const next = limit({ key: 'a' }, () => Promise.resolve('done'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('done');
});
