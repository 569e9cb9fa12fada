import type { IExecuteFunctions } from 'n8n-workflow';

/** Items that run at the same time. A chat shows one after the other: its pieces do not say which item they are of. */
export function itemsAtOnce(context: IExecuteFunctions): number {
  const { itemsAtOnce: given } = (context.getNode().parameters.options ?? {}) as { readonly itemsAtOnce?: unknown };
  const isMany = typeof given === 'number' && given > 1 && !context.isStreaming();
  return isMany ? Math.floor(given) : 1;
}

/**
 * Runs all items, so many at once; resolves with the results in the order of the items. After a failure none is begun, and those
 * under way are stopped: it rejects with that failure once they have ended.
 */
export async function forItems<T>(
  context: IExecuteFunctions,
  atOnce: number,
  run: (index: number, context: IExecuteFunctions) => Promise<T>,
): Promise<readonly T[]> {
  const count = context.getInputData().length;
  const results: T[] = [];
  const stop = new AbortController();
  const stoppable = atOnce > 1 ? stoppedBy(context, stop.signal) : context;
  const failures: Error[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count && failures.length === 0) {
      const index = next++;
      try {
        results[index] = await run(index, stoppable);
      } catch (error) {
        failures.push(error as Error);
        stop.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, work));
  const [first] = failures;
  if (first !== undefined) throw first;
  return results;
}

function stoppedBy(context: IExecuteFunctions, signal: AbortSignal): IExecuteFunctions {
  const own = context.getExecutionCancelSignal();
  const value = (): AbortSignal => (own === undefined ? signal : AbortSignal.any([own, signal]));
  return Object.create(context, { getExecutionCancelSignal: { value } }) as IExecuteFunctions;
}
