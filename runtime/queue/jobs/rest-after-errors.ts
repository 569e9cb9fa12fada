import type { Worker } from 'bullmq';

import type { Log } from '../../contracts/event';
import { toRuntimeError } from '../../errors/to-runtime-error';
import { after } from '../../util/clock';

const REST_MS = 1000;

/**
 * Where Redis answers but refuses (no replica left, a full disk, a right taken away), BullMQ asks again at once, without
 * end and sometimes without a turn for anything else in the process. Here it rests after each error, and says one a rest.
 * Returns the stop function, for a worker that is to take no more: it would be started again.
 */
export function restAfterErrors(worker: Worker, log: Log): () => void {
  let endRest: (() => void) | undefined;
  let isStopped = false;
  worker.on('error', (error) => {
    if (isStopped || endRest !== undefined) return;
    log('warn', 'the queue reports', { reason: toRuntimeError(error).message });
    void worker.pause(true);
    endRest = after(REST_MS, () => {
      endRest = undefined;
      void worker.resume();
    });
  });
  return () => {
    isStopped = true;
    endRest?.();
  };
}
