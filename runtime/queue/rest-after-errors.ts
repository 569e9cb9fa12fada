import type { Worker } from 'bullmq';

import { toRuntimeError } from '../errors/to-runtime-error';
import type { Log } from './consumer-contract';

const REST_MS = 1000;

/**
 * Where Redis answers but refuses (no replica left, a full disk, a right taken away), BullMQ asks again at once, without
 * end and sometimes without a turn for anything else in the process. Here it rests after each error, and says one a rest.
 */
export function restAfterErrors(worker: Worker, log: Log): void {
  let rest: NodeJS.Timeout | undefined;
  worker.on('error', (error) => {
    if (rest !== undefined) return;
    log('warn', 'the queue reports', { reason: toRuntimeError(error).message });
    void worker.pause(true);
    rest = setTimeout(() => {
      rest = undefined;
      // One that is closing would be started again.
      if (worker.closing === undefined) void worker.resume();
    }, REST_MS);
    rest.unref();
  });
}
