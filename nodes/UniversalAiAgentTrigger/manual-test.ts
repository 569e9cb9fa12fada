import type { ITriggerResponse } from 'n8n-workflow';

import type { TakenTask } from '../../runtime/worker';
import { toNodeError } from '../shared/errors';
import { type Answers, createAnswers } from './answers';
import { execute } from './execution';
import type { TriggerParts } from './settings';

const WAIT_MS = 24 * 3_600_000;

/**
 * A test in the editor: exactly one task, which is waited for. n8n closes the trigger as soon as the task is emitted, and
 * waits for that before the execution can end, so closing must not wait for the execution.
 */
export function testOneTask(parts: TriggerParts): ITriggerResponse {
  const { context } = parts;
  const stop = new AbortController();
  let isEmitted = false;
  return {
    manualTriggerFunction: async () => {
      // Before a task is taken: it throws what is wrong with the options.
      const answers = openAnswers(parts);
      const taken = await takeFirst(parts, stop.signal).catch(async (error: unknown) => {
        await answers.close();
        throw error;
      });
      if (taken === undefined) return answers.close();
      isEmitted = true;
      void runTaken(parts, taken, answers);
    },
    closeFunction: () => {
      stop.abort();
      // A test that is stopped while it waits has no task; n8n would wait for one for ever.
      if (!isEmitted) context.emit([]);
      return Promise.resolve();
    },
  };
}

function openAnswers(parts: TriggerParts): Answers {
  try {
    return createAnswers(parts);
  } catch (error) {
    throw toNodeError(parts.context.getNode(), error);
  }
}

async function takeFirst(
  { context, library, settings }: TriggerParts,
  signal: AbortSignal,
): Promise<TakenTask | undefined> {
  try {
    const taken = await library.takeOne(settings.consumer, { waitMs: WAIT_MS, signal });
    if (!signal.aborted && taken === undefined) throw new library.RuntimeError('TASK_NOT_TAKEN');
    if (!signal.aborted) return taken;
    await taken?.putBack();
  } catch (error) {
    if (!signal.aborted) throw toNodeError(context.getNode(), error);
  }
  return undefined;
}

/** Never rejects. A task that cannot be acknowledged goes back by itself. */
async function runTaken(parts: TriggerParts, { task, done, putBack }: TakenTask, answers: Answers): Promise<void> {
  const { context } = parts;
  // Never the last try: what is not acknowledged goes back to the list.
  const delivery = { task, attempt: 1, maxAttempts: 2, signal: new AbortController().signal };
  try {
    const isDone = await execute(parts, delivery)
      .catch((error: unknown) => answers.settle(delivery, error))
      .then(
        () => true,
        () => false,
      );
    await (isDone ? done() : putBack());
  } catch (error) {
    context.logger.error(`The task of a manual test goes back by itself: ${(error as Error).message}`);
  } finally {
    await answers.close();
  }
}
