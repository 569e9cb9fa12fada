/** Maps with at most `limit` calls in flight; results are in the order of the items. Rejects with the first failure. */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  limit: number,
  action: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const take = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      results[index] = await action(items[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, take));
  return results;
}
