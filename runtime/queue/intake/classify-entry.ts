import type { QueueTask } from '../../contracts/queue';
import { RuntimeError } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import { deadLetterOf } from '../jobs/dead-letter';
import { peekTaskType } from './peek-task-type';
import { type EntryText, parseEntry, readAddressee, readListedTask, textOf, typeOf } from './read-task';
import type { TakenEntry, TaskStore } from './task-store';

type SortedEntry =
  | { readonly kind: 'task'; readonly task: QueueTask; readonly text: EntryText }
  /** Somebody else's: it goes to the forward list. */
  | { readonly kind: 'foreign'; readonly taskType: string }
  | {
      readonly kind: 'dead';
      readonly error: RuntimeError;
      readonly entry: string;
      /** Where its failure can be told: what can be read of it, and all that stood on the list. */
      readonly answerable?: { readonly task: QueueTask; readonly text: EntryText };
    };

export interface ClassifyOptions {
  /**
   * Whether a type is somebody else's. Without a forward list no task is foreign: unknown types are the handler's to
   * answer.
   */
  readonly isForeign: (taskType: string) => boolean;
  readonly maxTaskBytes: number;
  readonly read: TaskStore['read'];
}

/** Even to find out whose it is, nothing larger is looked at. */
const MAX_READ_BYTES = 64 * 1024 * 1024;

/** What an entry of the list is. Rejects only when Redis does. */
export async function classifyEntry(entry: TakenEntry, options: ClassifyOptions): Promise<SortedEntry> {
  if (entry.size > options.maxTaskBytes) return sortLarge(entry, options);
  const text = textOf(entry.raw);
  try {
    const value = parseEntry(text);
    const taskType = typeOf(value);
    if (taskType !== undefined && options.isForeign(taskType)) return { kind: 'foreign', taskType };
    return { kind: 'task', task: readListedTask(value, entry.id), text };
  } catch (error) {
    const taskType = text.bytes === undefined ? undefined : await peekTaskType(entry.raw);
    if (taskType !== undefined && options.isForeign(taskType)) return { kind: 'foreign', taskType };
    const task = readAddressee(text, entry.id);
    return { ...dead(entry, toRuntimeError(error)), ...(task === undefined ? {} : { answerable: { task, text } }) };
  }
}

/** The limit is for our own tasks: one of somebody else's has to get through whatever its size. */
async function sortLarge(entry: TakenEntry, { isForeign, maxTaskBytes, read }: ClassifyOptions): Promise<SortedEntry> {
  const whole = entry.size <= MAX_READ_BYTES ? await read(entry.id) : undefined;
  // Not parsed: its objects could take many times its size.
  const taskType = whole && (await peekTaskType(whole));
  if (taskType !== undefined && isForeign(taskType)) return { kind: 'foreign', taskType };
  return dead(entry, new RuntimeError('TASK_TOO_LARGE', { size: entry.size, limit: maxTaskBytes }));
}

function dead({ raw, size }: TakenEntry, error: RuntimeError): Extract<SortedEntry, { readonly kind: 'dead' }> {
  return { kind: 'dead', error, entry: deadLetterOf({ raw, isCut: size > raw.length, error, attempts: 0 }) };
}
