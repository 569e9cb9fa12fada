import { mapConcurrent } from '../../../runtime/util/map-concurrent';

it('keeps the order of the items, whichever ends first', async () => {
  const releases: (() => void)[] = [];
  const running = mapConcurrent(['a', 'b', 'c'], 3, async (item, index) => {
    await new Promise<void>((resolve) => releases.push(resolve));
    return `${item}${index}`;
  });
  while (releases.length < 3) await new Promise((resolve) => setImmediate(resolve));
  for (const release of releases.reverse()) release();
  expect(await running).toEqual(['a0', 'b1', 'c2']);
});

it('starts no more than the limit', async () => {
  let running = 0;
  let most = 0;
  await mapConcurrent(Array.from({ length: 20 }), 4, async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  });
  expect(most).toBe(4);
});

it('does nothing for no items', async () => {
  await expect(mapConcurrent([], 4, () => Promise.reject(new Error('called')))).resolves.toEqual([]);
});
