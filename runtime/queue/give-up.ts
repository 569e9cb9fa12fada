import { UnrecoverableError } from 'bullmq';

import type { ConsumerParts } from '../contracts/consumer';
import type { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { sleep } from '../util/clock';
import { deadEntry, errorOfEntry } from './dead-entry';
import type { DyingJobs } from './dying-jobs';
import { tellingDelayMs } from './judge-failure';
import { factsOf, giveBack, type Turn } from './turn';

export interface GiveUpParts extends Pick<ConsumerParts, 'onDead' | 'log'> {
  readonly dying: DyingJobs;
  /** Aborted when tasks under way have to go back to the queue. */
  readonly signal: AbortSignal;
}

/**
 * The death of a task: first it is on record, so that no later take-up does what somebody was told has failed; then it is told;
 * then the job ends. Always rejects with what makes BullMQ do so.
 */
export async function giveUp(parts: GiveUpParts, turn: Turn, error: RuntimeError): Promise<never> {
  const { job, ref, task, attempt: attempts } = turn;
  await parts.dying.bury(ref, deadEntry({ raw: job.data.raw, task, error, attempts }));
  return endDead(parts, turn, error);
}

/** The same for a task that an earlier take-up has given up without coming to the end, as `entry` tells. */
export function giveUpAgain(parts: GiveUpParts, turn: Turn, entry: string): Promise<never> {
  return endDead(parts, turn, errorOfEntry(entry));
}

async function endDead(parts: GiveUpParts, turn: Turn, error: RuntimeError): Promise<never> {
  // The callback of a task whose id stands for another request belongs to that one.
  if (error.code !== 'TASK_CONFLICT' && !(await tellOfDeath(parts, turn, error))) return giveBack(turn);
  throw new UnrecoverableError(error.code);
}

/** False when it could not be told before tasks had to go back. */
async function tellOfDeath(parts: GiveUpParts, turn: Turn, error: RuntimeError): Promise<boolean> {
  const dead = { raw: turn.job.data.raw, task: turn.task, error, attempts: turn.attempt };
  for (let times = 0; ; times++) {
    const failure = await parts.onDead(dead).then(() => undefined, toRuntimeError);
    if (failure === undefined) return true;
    const delayMs = tellingDelayMs(failure, times);
    const facts = { ...factsOf(turn), code: failure.code };
    if (delayMs === undefined) {
      parts.log('error', 'the failure could not be delivered', facts);
      return true;
    }
    parts.log('warn', 'the failure could not be delivered; trying again', facts);
    await sleep(delayMs, parts.signal).catch(() => undefined);
    if (parts.signal.aborted) return false;
  }
}
