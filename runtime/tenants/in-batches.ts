/**
 * Asks for many keys with one question. While one is under way, those who come share the next, so each is answered by a
 * question that was put after it came; who comes alone does not wait. When a question for several fails, each is asked
 * alone: what is wrong with one must not hurt the others.
 */
export function inBatches<K, V>(
  ask: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
  maxKeys: number,
): (key: K) => Promise<V | undefined> {
  let isAsking = false;
  let waiting = new Map<K, PromiseWithResolvers<V | undefined>>();

  const answer = async (batch: readonly (readonly [K, PromiseWithResolvers<V | undefined>])[]): Promise<void> => {
    try {
      const answers = await ask(batch.map(([key]) => key));
      for (const [key, asked] of batch) asked.resolve(answers.get(key));
    } catch (error) {
      if (batch.length === 1) batch[0]?.[1].reject(error);
      else await Promise.all(batch.map((one) => answer([one])));
    }
  };
  const askAll = async (): Promise<void> => {
    isAsking = true;
    while (waiting.size > 0) {
      const batch = [...waiting].slice(0, maxKeys);
      waiting = new Map([...waiting].slice(maxKeys));
      await answer(batch);
    }
    isAsking = false;
  };
  return (key) => {
    const asked = waiting.get(key) ?? Promise.withResolvers<V | undefined>();
    waiting.set(key, asked);
    if (!isAsking) void askAll();
    return asked.promise;
  };
}
