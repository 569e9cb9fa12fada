import type { RunEvent } from '../contracts/event';
import type { AgentResult } from '../contracts/result';
import type { RunOptions } from '../contracts/run';

/** What a streamed run tells; the last event has the result. */
export type StreamEvent =
  | Exclude<RunEvent, { readonly type: 'run-end' }>
  | (Extract<RunEvent, { readonly type: 'run-end' }> & { readonly result: AgentResult });

type Run = (options: RunOptions) => Promise<AgentResult>;

/** The events of a run as they come. Throws what the run rejects with; whoever leaves before the end cancels the run. */
export async function* streamRun(run: Run, options: RunOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
  const events: StreamEvent[] = [];
  const left = new AbortController();
  let wake = (): void => undefined;
  const state = { isOver: false };
  const signal = options.signal === undefined ? left.signal : AbortSignal.any([options.signal, left.signal]);
  const onEvent = (event: RunEvent): unknown => {
    // It comes once more, with the result.
    if (event.type !== 'run-end') events.push(event);
    wake();
    return options.onEvent?.(event);
  };
  const ended = run({ ...options, signal, stream: true, onEvent }).finally(() => {
    state.isOver = true;
    wake();
  });
  // It is awaited below, unless nobody waits any more.
  ended.catch(() => undefined);
  try {
    for (;;) {
      const batch = events.splice(0);
      yield* batch;
      if (batch.length > 0) continue;
      if (state.isOver) break;
      await new Promise<void>((resolve) => (wake = resolve));
    }
    const result = await ended;
    yield { type: 'run-end', status: result.status, costUsd: result.cost_usd, result };
  } finally {
    left.abort();
    await ended.catch(() => undefined);
  }
}
