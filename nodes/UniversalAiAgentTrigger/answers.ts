import type { DeadTask, QueueDelivery, RuntimeError } from '../../runtime/worker';
import { comesAgain } from '../shared/delivery';
import { readEgress } from '../shared/egress';
import type { TriggerParts } from './settings';

/** What becomes of tasks whose execution did not answer them. */
export interface Answers {
  /** Resolves when the task is done with although its execution failed; else rejects with the same error. */
  readonly settle: (delivery: QueueDelivery, error: unknown) => Promise<void>;
  /** Writes the failure to where the task wants its answer, unless one was written. */
  readonly deliver: (dead: Pick<DeadTask, 'task' | 'error'>) => Promise<void>;
  readonly close: () => Promise<void>;
}

export function createAnswers({ context, library, settings }: TriggerParts): Answers {
  const { redis, list, failedList, forwardList } = settings.consumer;
  const failures = library.createFailureDelivery({
    redis,
    queue: { list, failedList, forwardList },
    callbacks: settings.callbacks,
    egress: readEgress(context),
  });
  const deliver: Answers['deliver'] = async ({ task, error }) => {
    // What could not be read as a task names no place for an answer.
    if (task !== undefined) await failures.deliver(task, error);
  };
  return {
    settle: async ({ task, signal }, error) => {
      const isOver = !signal.aborted && library.isRuntimeError(error) && hasFinished(error);
      if (settings.acknowledge !== 'executionFinishes' || !isOver) throw error;
      await deliver({ task, error });
    },
    deliver,
    close: failures.close,
  };
}

/** An execution that was lost has not finished, and one that something else kept from its work may as well not have begun. */
function hasFinished(error: RuntimeError): boolean {
  return error.code !== 'EXECUTION_LOST' && !comesAgain(error);
}
