import pLimit from 'p-limit';

/** Maps with at most `limit` calls in flight; results are in the order of the items. Rejects with the first failure. */
export function mapConcurrent<T, R>(
  items: readonly T[],
  limit: number,
  action: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  return pLimit(limit).map(items, action);
}
