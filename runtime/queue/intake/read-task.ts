import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';

import { parseQueueTask, type QueueTask, queueTaskSchema, tenantOf } from '../../contracts/queue';
import { MAX_TRACE_ID_LENGTH } from '../../contracts/task';
import { RuntimeError } from '../../errors/runtime-error';
import { canonicalJson, isJsonObject, tryParseJson } from '../../util/json';

/** The character in place of bytes that are no text. */
const UNREADABLE = '\ufffd';

/** The type that an entry of the list names, whatever else is wrong with it. */
export function typeOf(value: unknown): string | undefined {
  if (!isJsonObject(value) || typeof value.task_type !== 'string') return undefined;
  // Empty counts as left out.
  return value.task_type || undefined;
}

/** An entry of the list: its text, or what can be read of it, and then the bytes in base64. */
export interface EntryText {
  readonly raw: string;
  readonly bytes?: string;
}

/** Reads the text of an entry, without a byte order mark. */
export function textOf(entry: Buffer): EntryText {
  const raw = new TextDecoder().decode(entry);
  return isUtf8(entry) ? { raw } : { raw, bytes: entry.toString('base64') };
}

/** JSON of the list. Throws INPUT_INVALID. */
export function parseEntry({ raw, bytes }: EntryText): unknown {
  // Not guessed at: two users would become one.
  if (bytes !== undefined) throw new RuntimeError('INPUT_INVALID', { issues: 'the task is not UTF-8' });
  const parsed = tryParseJson(raw);
  if (parsed.ok) return parsed.value;
  // The parser's own words quote the task.
  const isExcess = parsed.reason.startsWith('it has ');
  const reason = parsed.reason.startsWith('nested') ? parsed.reason : 'not JSON';
  throw new RuntimeError('INPUT_INVALID', {
    issues: isExcess ? `the task ${parsed.reason.slice('it '.length)}` : `the task is ${reason}`,
  });
}

/**
 * The task of an entry; one without an id gets one made of `entryId`, the same each time. Throws INPUT_INVALID that names
 * the fields.
 */
export function readListedTask(value: unknown, entryId: string): QueueTask {
  const { task_id: taskId = `list-${entryId}`, trace_id: traceId, ...task } = parseQueueTask(value);
  return { ...task, task_id: taskId, trace_id: traceId ?? taskId.slice(0, MAX_TRACE_ID_LENGTH) };
}

/**
 * The part of an invalid task that it takes to answer it: its ids, `meta` and `callback`. Undefined when no callback
 * can be read, or nobody can tell whose answer it is.
 */
export function readAddressee({ raw, bytes }: EntryText, entryId: string): QueueTask | undefined {
  // Whatever it holds: its length is bounded, and this once it is worth the time.
  const parsed = tryParseJson(raw, Infinity);
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const { task_id, trace_id, task_type, meta, callback } = parsed.value;
  if (!isJsonObject(callback)) return undefined;
  // It would be answered where nobody asked, or as somebody else's.
  const isUnreadable = (part: unknown): boolean => bytes !== undefined && JSON.stringify(part).includes(UNREADABLE);
  const usable = [{ task_id }, { trace_id }, { task_type }].filter(
    (field) => !isUnreadable(field) && queueTaskSchema.safeParse(field).success,
  );
  const task: unknown = Object.assign({ meta, callback }, ...usable);
  if (isUnreadable([task_id, meta, callback])) return undefined;
  return queueTaskSchema.safeParse(task).success ? readListedTask(task, entryId) : undefined;
}

/**
 * The same request under the same id is the same job, however often it is pushed. Without a colon, as BullMQ wants it.
 */
export function jobIdOf(task: QueueTask): string {
  const { task_type: type, config, meta } = task;
  const request = createHash('sha256').update(canonicalJson({ type, config, meta })).digest('hex');
  return createHash('sha256')
    .update(`${tenantOf(task)}\n${task.task_id}\n${request}`)
    .digest('hex');
}
