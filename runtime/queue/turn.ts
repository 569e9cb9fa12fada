import { DelayedError, type Job, WaitingError } from 'bullmq';

import { type QueueTask, tenantOf } from '../contracts/queue';
import type { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import type { JobRef } from './dying-jobs';
import { parseEntry, readAddressee, readListedTask } from './read-task';

export interface JobData {
  /** What stood on the list; empty once the task is done, so that finished jobs hold no tasks. */
  readonly raw: string;
  /** The id that it had there. */
  readonly id: string;
}

/** One take-up of a job. */
export interface Turn {
  readonly job: Job<JobData>;
  readonly token: string;
  readonly ref: JobRef;
  /** When it is `invalid`, what can be read of it, if anything: enough to answer it. */
  readonly task?: QueueTask;
  readonly invalid?: RuntimeError;
  /** From 1 on; 0 when it is invalid. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Take-ups before this one that were no tries. */
  readonly deferrals: number;
}

export type TaskTurn = Turn & { readonly task: QueueTask };

export function readTurn(job: Job<JobData>, token: string): Turn {
  const { raw, id } = job.data;
  const attempt = job.attemptsMade + 1;
  const turn = {
    job,
    token,
    ref: { entryId: id, jobId: job.id ?? '' },
    maxAttempts: job.opts.attempts ?? 1,
    deferrals: Math.max(0, job.attemptsStarted - attempt),
  };
  try {
    return { ...turn, attempt, task: readListedTask(parseEntry(raw), id) };
  } catch (error) {
    return { ...turn, attempt: 0, task: readAddressee(raw, id), invalid: toRuntimeError(error) };
  }
}

/** To the next consumer, and this was no try. */
export async function giveBack({ job, token }: Turn): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}

export async function defer({ job, token }: Turn, delayMs: number): Promise<never> {
  await job.moveToDelayed(Date.now() + delayMs, token);
  throw new DelayedError();
}

const SHOWN_LENGTH = 100;

/** What a log is told of a turn. */
export function factsOf({ task, attempt }: Turn): Record<string, string | number> {
  if (task === undefined) return { attempt };
  const shown = (text: string): string => text.slice(0, SHOWN_LENGTH);
  const facts = { task_id: task.task_id, tenant_id: tenantOf(task), task_type: task.task_type };
  return { ...Object.fromEntries(Object.entries(facts).map(([name, text]) => [name, shown(text)])), attempt };
}
