import type { TakenTask } from '../contracts/consumer';
import { every, sleep } from '../util/clock';
import { classifyEntry, type ClassifyOptions } from './intake/classify-entry';
import type { TakenEntry, TaskStore } from './intake/task-store';

/** How long this process may be silent before the task goes back by itself. */
const HOLD_MS = 60_000;
const POLL_MS = 100;

interface Options {
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** The next entry of the list that is a task of ours; what is none goes where the queue would send it. */
export async function takeByHand(
  store: TaskStore,
  sort: ClassifyOptions,
  { waitMs = 0, signal }: Options,
): Promise<TakenTask | undefined> {
  const endsAt = performance.now() + waitMs;
  for (;;) {
    signal?.throwIfAborted();
    const { state, entries } = await store.take({ settled: [], count: 1, holdMs: HOLD_MS, ...sort });
    const [entry] = entries;
    if (entry !== undefined) {
      const taken = await sortOut(store, sort, entry);
      if (taken !== undefined) return taken;
    } else if (state === 'paused' || performance.now() >= endsAt) {
      return undefined;
    } else {
      await sleep(POLL_MS, signal);
    }
  }
}

async function sortOut(store: TaskStore, sort: ClassifyOptions, entry: TakenEntry): Promise<TakenTask | undefined> {
  const sorted = await classifyEntry(entry, sort);
  if (sorted.kind === 'task') {
    const stop = every(HOLD_MS / 3, () => void store.hold(entry.id, HOLD_MS).catch(() => undefined));
    return {
      task: sorted.task,
      done: () => store.drop(entry.id).finally(stop),
      putBack: () => store.putBack(entry.id).finally(stop),
    };
  }
  await (sorted.kind === 'foreign' ? store.forward(entry.id) : store.reject(entry.id, sorted.entry));
  return undefined;
}
