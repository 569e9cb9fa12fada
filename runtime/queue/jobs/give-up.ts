import { UnrecoverableError } from 'bullmq';

import type { ConsumerParts } from '../../contracts/consumer';
import type { RuntimeError } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import { sleep } from '../../util/clock';
import { deadLetterOf, errorOfEntry } from './dead-letter';
import type { DeadLetters } from './dead-letters';
import { factsOf, giveBack, type JobData, type Pickup } from './pickup';
import { tellingDelayMs } from './retry-policy';

export interface GiveUpParts extends Pick<ConsumerParts, 'onDead' | 'log'> {
  readonly dying: DeadLetters;
  /** Aborted when tasks under way have to go back to the queue. */
  readonly signal: AbortSignal;
}

function bytesOf({ raw, bytes }: JobData): Buffer | string {
  return bytes === undefined ? raw : Buffer.from(bytes, 'base64');
}

/**
 * The death of a task: first it is on record, so that no later pickup does what somebody was told has failed; then it is told;
 * then the job ends. Always rejects with what makes BullMQ do so.
 */
export async function giveUp(parts: GiveUpParts, pickup: Pickup, error: RuntimeError): Promise<never> {
  const { job, ref, task, attempt: attempts } = pickup;
  await parts.dying.deadLetter(ref, deadLetterOf({ raw: bytesOf(job.data), task, error, attempts }));
  return endDead(parts, pickup, error);
}

/** The same for a task that an earlier pickup has given up without coming to the end, as `entry` tells. */
export function giveUpAgain(parts: GiveUpParts, pickup: Pickup, entry: string): Promise<never> {
  return endDead(parts, pickup, errorOfEntry(entry));
}

async function endDead(parts: GiveUpParts, pickup: Pickup, error: RuntimeError): Promise<never> {
  // The callback of a task whose id stands for another request belongs to that one.
  if (error.code !== 'TASK_CONFLICT' && !(await tellOfDeath(parts, pickup, error))) return giveBack(pickup);
  throw new UnrecoverableError(error.code);
}

/** False when it could not be told before tasks had to go back. */
async function tellOfDeath(parts: GiveUpParts, pickup: Pickup, error: RuntimeError): Promise<boolean> {
  const dead = { raw: pickup.job.data.raw, task: pickup.task, error, attempts: pickup.attempt };
  for (let times = 0; ; times++) {
    const failure = await parts.onDead(dead).then(() => undefined, toRuntimeError);
    if (failure === undefined) return true;
    const delayMs = tellingDelayMs(failure, times);
    const facts = { ...factsOf(pickup), code: failure.code };
    if (delayMs === undefined) {
      parts.log('error', 'the failure could not be delivered', facts);
      return true;
    }
    parts.log('warn', 'the failure could not be delivered; trying again', facts);
    await sleep(delayMs, parts.signal).catch(() => undefined);
    if (parts.signal.aborted) return false;
  }
}
