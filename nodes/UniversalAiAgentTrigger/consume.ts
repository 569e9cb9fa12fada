import { setTimeout as sleep } from 'node:timers/promises';

import type { ITriggerResponse } from 'n8n-workflow';

import { logOf } from '../shared/log';
import { createAnswers } from './answers';
import { execute } from './execution';
import type { TriggerParts } from './settings';

/** n8n gives all of its triggers together 30 seconds when it is stopped. */
const CLOSE_WAIT_MS = 10_000;

/** Takes tasks off the list until n8n closes the trigger. Rejects with a RuntimeError when Redis is not fit for it. */
export async function consume(parts: TriggerParts): Promise<ITriggerResponse> {
  const { context, library, settings } = parts;
  const answers = createAnswers(parts);
  const consumer = await library.startConsumer(settings.consumer, {
    handle: (delivery) => execute(parts, delivery).catch((error: unknown) => answers.settle(delivery, error)),
    onDead: answers.deliver,
    log: logOf(context),
  });
  return {
    // Executions go on after a trigger is closed. Their tasks are waited for a moment here, longer ones in the background;
    // when the process ends meanwhile, the queue hands them to the next consumer.
    closeFunction: async () => {
      const closed = consumer.close({ graceMs: settings.timeoutMs }).then(answers.close);
      await Promise.race([closed, sleep(CLOSE_WAIT_MS, undefined, { ref: false })]);
    },
  };
}
