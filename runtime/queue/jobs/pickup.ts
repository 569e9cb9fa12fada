import { DelayedError, type Job, WaitingError } from 'bullmq';

import { type QueueTask, tenantOf } from '../../contracts/queue';
import type { RuntimeError } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import { type EntryText, parseEntry, readAddressee, readListedTask } from '../intake/read-task';
import type { JobRef } from './dead-letters';

/** An entry of the list; its text is empty once the task is done, so that finished jobs hold no tasks. */
export interface JobData extends EntryText {
  /** The id that it had there. */
  readonly id: string;
}

/** A job that a consumer has taken up, once. */
export interface Pickup {
  readonly job: Job<JobData>;
  readonly token: string;
  readonly ref: JobRef;
  /** When it is `invalid`, what can be read of it, if anything: enough to answer it. */
  readonly task?: QueueTask;
  readonly invalid?: RuntimeError;
  /** Counts from 1; 0 when the task is invalid. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Pickups before this one that did not count as attempts. */
  readonly deferrals: number;
}

export type TaskPickup = Pickup & { readonly task: QueueTask };

export function readPickup(job: Job<JobData>, token: string): Pickup {
  const { id, ...text } = job.data;
  const attempt = job.attemptsMade + 1;
  const pickup = {
    job,
    token,
    ref: { entryId: id, jobId: job.id ?? '' },
    maxAttempts: job.opts.attempts ?? 1,
    deferrals: Math.max(0, job.attemptsStarted - attempt),
  };
  try {
    return { ...pickup, attempt, task: readListedTask(parseEntry(text), id) };
  } catch (error) {
    return { ...pickup, attempt: 0, task: readAddressee(text, id), invalid: toRuntimeError(error) };
  }
}

/** Returns the job to the queue without counting an attempt. */
export async function giveBack({ job, token }: Pickup): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}

export async function defer({ job, token }: Pickup, delayMs: number): Promise<never> {
  await job.moveToDelayed(Date.now() + delayMs, token);
  throw new DelayedError();
}

const SHOWN_LENGTH = 100;

/** What a log is told of a pickup. */
export function factsOf({ task, attempt }: Pickup): Record<string, string | number> {
  if (task === undefined) return { attempt };
  const shown = (text: string): string => text.slice(0, SHOWN_LENGTH);
  const facts = { task_id: task.task_id, tenant_id: tenantOf(task), task_type: task.task_type };
  return { ...Object.fromEntries(Object.entries(facts).map(([name, text]) => [name, shown(text)])), attempt };
}
